package unify

import (
	"cmp"
	"time"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// health reads the health field of a cluster or release at the path. It adds
// faults that CUE does not report.
func (e *evaluation) health(owner cue.Value, path string, faults *diag.List) []fleet.HealthRule {
	all := fieldsOf(owner, "health")
	if len(all) == 0 {
		return nil
	}
	parts := diag.Conjuncts(lookup(owner, "health"))
	var out []fleet.HealthRule
	for _, f := range all {
		r := fleet.HealthRule{Name: f.name, Match: selectorOf(f.v)}
		var own bool
		if r.Pos, own = e.rulePos(parts, f.name); !r.Pos.IsValid() {
			r.Pos = e.fieldPos(owner) // the rule is in a package
		}
		at := path + "." + cue.MakePath(cue.Str(f.name)).String()
		if lookup(f.v, "match").Exists() {
			checkMatch(f.v, func(code diag.Code, v cue.Value, below, msg, hint string) {
				faults.Add(&diag.Diag{Code: code, At: []diag.Pos{e.layerPos(r.Pos, v)}, Path: at + below, Msg: msg, Hint: hint})
			})
			r.Texts = e.matchTexts(f.v, at)
		} else {
			r.Match.Kinds = []string{f.name}
			if own {
				r.Texts = []fleet.MatchText{{Path: at, Field: "kinds", Text: f.name, Pos: r.Pos}}
			}
		}
		if wait, err := lookup(f.v, "wait").Bool(); err == nil {
			r.Wait = &wait
		}
		// The schema reports invalid durations.
		r.Timeout, _ = time.ParseDuration(textOf(f.v, "timeout"))
		for field, into := range map[string]*[]fleet.HealthTest{"ready": &r.Ready, "progressing": &r.Progressing, "failed": &r.Failed} {
			*into = e.healthTests(lookup(f.v, field), r.Pos, own)
		}
		out = append(out, r)
	}
	return out
}

// healthTests reads the tests of a rule at pos. If own is set, the layers
// write the rule and each test has its own position.
func (e *evaluation) healthTests(list cue.Value, pos diag.Pos, own bool) []fleet.HealthTest {
	var out []fleet.HealthTest
	for _, item := range items(list) {
		t := fleet.HealthTest{Pos: pos}
		if item.Decode(&t) != nil {
			continue // the schema reports it
		}
		if t.Type != "" {
			t.Status = cmp.Or(t.Status, "True")
		}
		if own {
			t.Pos = e.layerPos(pos, item)
		}
		out = append(out, t)
	}
	return out
}

// rulePos returns the position where the layers write a rule (own is true), or
// where they import it from a package. parts are the conjuncts of health.
func (e *evaluation) rulePos(parts []cue.Value, name string) (pos diag.Pos, own bool) {
	for _, p := range parts {
		asks := labelPos(p)
		v := p.LookupPath(cue.MakePath(cue.Str(name)))
		if e.layerOf(asks) == "" || !v.Exists() {
			continue
		}
		if at := labelPos(v); e.layerOf(at) != "" {
			return diag.CUEPos(e.root, at), true
		}
		if !pos.IsValid() {
			pos = diag.CUEPos(e.root, asks)
		}
	}
	return pos, false
}

// layerPos returns the position where a layer writes a value, or otherwise if
// no layer does.
func (e *evaluation) layerPos(otherwise diag.Pos, v cue.Value) diag.Pos {
	if p := e.fieldPos(v); e.layerOfFile(p.File) != "" {
		return p
	}
	return otherwise
}

// posIn returns the position where a layer writes the field v of owner. If no layer
// does, it returns the position of owner, which takes long to find for a large value.
func (e *evaluation) posIn(owner, v cue.Value) diag.Pos {
	if p := e.fieldPos(v); e.layerOfFile(p.File) != "" {
		return p
	}
	return e.fieldPos(owner)
}
