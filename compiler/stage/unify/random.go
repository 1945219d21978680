package unify

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// random reads the random field of a release.
func (e *evaluation) random(v cue.Value, release string, faults *diag.List) []fleet.RandomField {
	var out []fleet.RandomField
	for _, f := range fieldsIn(v) {
		at := f.v
		wrong := func(msg, hint string) {
			faults.Add(&diag.Diag{Code: diag.CodeRandomRule, At: []diag.Pos{e.fieldPos(at)}, Path: release + ".random." + cue.Str(f.name).String(), Msg: msg, Hint: hint})
		}
		object, text, _ := strings.Cut(f.name, " ")
		fields, ok := fleet.ParseField(text)
		if !ok {
			wrong(strconv.Quote(text)+" is not a valid field path", `write "Secret/name data.password", with keys that have dots in quotes`)
			continue
		}
		r := fleet.RandomField{Object: object, Field: fields, Pos: e.fieldPos(at)}
		switch set := present(at, "keep", "drop", "value"); {
		case len(set) != 1:
			wrong("exactly one of keep, drop and value is required", "write keep: true")
			continue
		case set[0] == "value":
			r.Action = fleet.SetRandom
			if t := e.reader().tree(lookup(at, "value")); t != nil {
				r.Value = t.Value()
			}
		case set[0] == "drop":
			r.Action = fleet.DropRandom
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b fleet.RandomField) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), slices.Compare(a.Field, b.Field))
	})
	return out
}
