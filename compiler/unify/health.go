package unify

import (
	"cmp"
	"time"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/cuediag"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// health reads the health field of a cluster or a release, which is at the
// path. What is wrong with it, beyond what CUE says, is added to the faults.
func (e *evaluation) health(owner cue.Value, path string, faults *diag.List) []fleet.HealthRule {
	var out []fleet.HealthRule
	for _, f := range fieldsOf(owner, "health") {
		within := []cue.Value{f.v, owner.LookupPath(cue.ParsePath("health")), owner}
		r := fleet.HealthRule{Name: f.name, Match: selectorOf(f.v), Pos: e.written(within...)}
		if !f.v.LookupPath(cue.ParsePath("match")).Exists() {
			r.Match.Kinds = []string{f.name}
		}
		at := path + "." + cue.MakePath(cue.Str(f.name)).String()
		e.checkMatch(f.v, at, func(v cue.Value, field, msg, hint string) {
			faults.Add(&diag.Diag{At: []diag.Pos{e.written(append([]cue.Value{v}, within...)...)}, Path: at + field, Msg: msg, Hint: hint})
		})
		if wait, err := f.v.LookupPath(cue.ParsePath("wait")).Bool(); err == nil {
			r.Wait = &wait
		}
		// What is no duration is at fault by the schema.
		r.Timeout, _ = time.ParseDuration(textOf(f.v, "timeout"))
		for field, into := range map[string]*[]fleet.HealthTest{"ready": &r.Ready, "progressing": &r.Progressing, "failed": &r.Failed} {
			*into = e.healthTests(f.v.LookupPath(cue.ParsePath(field)), within)
		}
		out = append(out, r)
	}
	return out
}

// healthTests reads a list of tests, which is within the values that follow.
func (e *evaluation) healthTests(list cue.Value, within []cue.Value) []fleet.HealthTest {
	it, err := list.List()
	if err != nil {
		return nil // there are none, or they are at fault
	}
	var out []fleet.HealthTest
	for it.Next() {
		var raw struct {
			Type       string   `json:"type"`
			Status     string   `json:"status"`
			Reasons    []string `json:"reasons"`
			Expression string   `json:"expression"`
		}
		if it.Value().Decode(&raw) != nil {
			continue // which is at fault
		}
		if raw.Type != "" {
			raw.Status = cmp.Or(raw.Status, "True")
		}
		at := e.written(append([]cue.Value{it.Value(), list}, within...)...)
		out = append(out, fleet.HealthTest{Type: raw.Type, Status: raw.Status, Reasons: raw.Reasons, Expression: raw.Expression, Pos: at})
	}
	return out
}

// written returns where a layer writes the first of some values, each of which
// is within the next, that is not written elsewhere: in a package of rules.
func (e *evaluation) written(within ...cue.Value) diag.Pos {
	for _, v := range within {
		for _, c := range cuediag.Conjuncts(v) {
			if e.layerOf(labelPos(c)) != "" {
				return e.fieldPos(v)
			}
		}
	}
	return e.fieldPos(within[0])
}
