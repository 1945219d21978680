package unify

import (
	"cmp"
	"time"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// health reads the health field of a cluster or a release, which is at the
// path. What is wrong with it, beyond what CUE says, is added to the faults.
func (e *evaluation) health(owner cue.Value, path string, faults *diag.List) []fleet.HealthRule {
	all := fieldsOf(owner, "health")
	if len(all) == 0 {
		return nil
	}
	parts := cuediag.Conjuncts(lookup(owner, "health"))
	var out []fleet.HealthRule
	for _, f := range all {
		r := fleet.HealthRule{Name: f.name, Match: selectorOf(f.v)}
		var own bool
		if r.Pos, own = e.rulePos(parts, f.name); !r.Pos.IsValid() {
			r.Pos = e.fieldPos(owner) // which is of a package itself
		}
		at := path + "." + cue.MakePath(cue.Str(f.name)).String()
		if lookup(f.v, "match").Exists() {
			e.checkMatch(f.v, at, func(v cue.Value, below, msg, hint string) {
				faults.Add(&diag.Diag{At: []diag.Pos{e.written(r.Pos, v)}, Path: at + below, Msg: msg, Hint: hint})
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
		// What is no duration is at fault by the schema.
		r.Timeout, _ = time.ParseDuration(textOf(f.v, "timeout"))
		for field, into := range map[string]*[]fleet.HealthTest{"ready": &r.Ready, "progressing": &r.Progressing, "failed": &r.Failed} {
			*into = e.healthTests(lookup(f.v, field), r.Pos, own)
		}
		out = append(out, r)
	}
	return out
}

// healthTests reads a list of tests of a rule, which is at pos; they may be in
// places of their own when layers write the rule.
func (e *evaluation) healthTests(list cue.Value, pos diag.Pos, own bool) []fleet.HealthTest {
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
		at := pos
		if own {
			at = e.written(pos, it.Value())
		}
		out = append(out, fleet.HealthTest{Type: raw.Type, Status: raw.Status, Reasons: raw.Reasons, Expression: raw.Expression, Pos: at})
	}
	return out
}

// rulePos returns where the layers write a rule, or ask for it when it is of a
// package; own says which. parts are what the layers say of health.
func (e *evaluation) rulePos(parts []cue.Value, name string) (pos diag.Pos, own bool) {
	for _, p := range parts {
		asks := labelPos(p)
		v := p.LookupPath(cue.MakePath(cue.Str(name)))
		if e.layerOf(asks) == "" || !v.Exists() {
			continue
		}
		if at := labelPos(v); e.layerOf(at) != "" {
			return cuediag.Pos(e.root, at), true
		}
		if !pos.IsValid() {
			pos = cuediag.Pos(e.root, asks)
		}
	}
	return pos, false
}

// written returns where the layers write a value, and otherwise when none does.
func (e *evaluation) written(otherwise diag.Pos, v cue.Value) diag.Pos {
	if p := e.fieldPos(v); e.layerOfFile(p.File) != "" {
		return p
	}
	return otherwise
}
