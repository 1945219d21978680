package unify

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// ownership reads the ownership of a release at the path. It adds faults that
// CUE does not report.
func (e *evaluation) ownership(release cue.Value, at string, faults *diag.List) []fleet.Ownership {
	var out []fleet.Ownership
	for _, f := range fieldsOf(release, "ownership") {
		p := e.newPatchReader(release, f, at, "ownership", diag.CodeOwnership)
		o := fleet.Ownership{Name: f.name, Pos: p.place(p.v), Target: p.target(), Fields: p.fieldPaths()}
		if o.Optional, _ = lookup(p.v, "optional").Bool(); !o.Optional {
			o.Texts = p.selectorTexts(lookup(p.v, "target"), p.path+".target")
		}
		switch set := present(p.v, "take", "leave"); {
		case len(set) != 1:
			p.wrong(p.v, "", "exactly one of take and leave is required", "write take: true to own the fields, or leave: true to leave them to others")
		default:
			o.Leave = set[0] == "leave"
		}
		out = append(out, o)
		*faults = append(*faults, p.faults...)
	}
	return out
}

// fieldPaths reads a list of field paths.
func (p *patchReader) fieldPaths() []fleet.FieldPath {
	list := lookup(p.v, "fields")
	if _, err := list.List(); err != nil {
		return nil // absent, or the schema reports it
	}
	var out []fleet.FieldPath
	for i, item := range items(list) {
		text, err := item.String()
		if err != nil || text == "" {
			continue // the schema reports it
		}
		path, ok := fleet.ParseSteps(text)
		if !ok {
			p.wrong(item, ".fields."+strconv.Itoa(i), strconv.Quote(text)+" is not a valid field path",
				`write "spec.replicas" or "spec.template.spec.containers[name=app].image", with keys that have dots in quotes`)
			continue
		}
		out = append(out, fleet.FieldPath{Path: path, Pos: p.place(item)})
	}
	if len(out) == 0 && len(p.faults) == 0 {
		p.wrong(list, ".fields", "is empty", `name some, as in fields: ["spec.replicas"]`)
	}
	return out
}

// replace reads the kinds of a release at the path that may be recreated.
func (e *evaluation) replace(release cue.Value, at string, faults *diag.List) []fleet.Replace {
	var out []fleet.Replace
	for i, item := range items(lookup(release, "replace")) {
		kind, err := item.String()
		if err != nil {
			continue // the schema reports it
		}
		r := fleet.Replace{Kind: kind, Pos: e.fieldPos(item)}
		if fleet.IsProtected(schema.ParseGroupKind(kind)) || kind == "CustomResourceDefinition" {
			name, _, _ := strings.Cut(kind, ".")
			faults.Add(&diag.Diag{
				Code: diag.CodeOwnership,
				At:   []diag.Pos{r.Pos}, Path: at + ".replace." + strconv.Itoa(i),
				Msg: "a " + name + " cannot be recreated: the objects or data in it would be lost", Hint: "remove this line",
			})
			continue
		}
		out = append(out, r)
	}
	return out
}
