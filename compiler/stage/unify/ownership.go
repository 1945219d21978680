package unify

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// ownership reads the ownership of a release, whose path is at. What is wrong
// with it, beyond what CUE says, is added to the faults.
func (e *evaluation) ownership(release cue.Value, at string, faults *diag.List) []fleet.Ownership {
	var out []fleet.Ownership
	for _, f := range fieldsOf(release, "ownership") {
		p := e.reads(release, f, at, "ownership")
		o := fleet.Ownership{Name: f.name, Pos: p.place(p.v), Target: p.target(), Fields: p.fieldPaths()}
		o.Optional, _ = lookup(p.v, "optional").Bool()
		switch has := present(p.v, "take", "leave"); {
		case len(has) != 1:
			p.wrong(p.v, "", "exactly one of take and leave says who has the fields", "write take: true when the release has them, and leave: true when others may")
		default:
			o.Leave = has[0] == "leave"
		}
		out = append(out, o)
		*faults = append(*faults, p.faults...)
	}
	return out
}

// fieldPaths reads a list of paths of fields.
func (p *patchReader) fieldPaths() []fleet.FieldPath {
	list := lookup(p.v, "fields")
	it, err := list.List()
	if err != nil {
		return nil // which is at fault
	}
	var out []fleet.FieldPath
	for i := 0; it.Next(); i++ {
		text, err := it.Value().String()
		if err != nil || text == "" {
			continue // which is at fault
		}
		path, ok := fleet.ParseSteps(text)
		if !ok {
			p.wrong(it.Value(), ".fields."+strconv.Itoa(i), strconv.Quote(text)+" is no path of a field",
				`write "spec.replicas" or "spec.template.spec.containers[name=app].image", with keys that have dots in quotes`)
			continue
		}
		out = append(out, fleet.FieldPath{Path: path, Pos: p.place(it.Value())})
	}
	if len(out) == 0 && len(p.faults) == 0 {
		p.wrong(list, ".fields", "is empty: it is about no field", `name some, as in fields: ["spec.replicas"]`)
	}
	return out
}

// replace reads which kinds of a release, whose path is at, may be made anew.
func (e *evaluation) replace(release cue.Value, at string, faults *diag.List) []fleet.Replace {
	it, err := lookup(release, "replace").List()
	if err != nil {
		return nil // there are none, or they are at fault
	}
	var out []fleet.Replace
	for i := 0; it.Next(); i++ {
		kind, err := it.Value().String()
		if err != nil {
			continue // which is at fault
		}
		r := fleet.Replace{Kind: kind, Pos: e.fieldPos(it.Value())}
		if fleet.IsProtected(schema.ParseGroupKind(kind)) || kind == "CustomResourceDefinition" {
			name, _, _ := strings.Cut(kind, ".")
			faults.Add(&diag.Diag{
				At: []diag.Pos{r.Pos}, Path: at + ".replace." + strconv.Itoa(i),
				Msg: "a " + name + " is never made anew: what hangs on it would be lost", Hint: "remove this line",
			})
			continue
		}
		out = append(out, r)
	}
	return out
}
