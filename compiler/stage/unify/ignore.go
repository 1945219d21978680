package unify

import (
	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// ignoreRules reads diff.ignore or drift.ignore of the owner, which is a cluster or
// the release of. It adds faults that CUE does not report.
func (e *evaluation) ignoreRules(set fleet.RuleSet, owner cue.Value, of *fleet.Release, faults *diag.List) []fleet.IgnoreRule {
	var out []fleet.IgnoreRule
	field := string(set) + ".ignore"
	for _, f := range fieldsOf(owner, field) {
		r := fleet.IgnoreRule{Of: set, Name: f.name, Reason: textOf(f.v, "reason"), Match: selectorOf(f.v), Until: textOf(f.v, "until")}
		if of != nil {
			r.Release = of.Name
		}
		p := &patchReader{evaluation: e, release: owner, v: f.v, field: field, path: r.Path(), code: diag.CodeTextForm}
		r.Pos, r.Fields, r.Texts = p.place(p.v), p.fieldPaths(), e.matchTexts(f.v, p.path)
		checkMatch(f.v, p.wrongAs)
		checkUntil(f.v, p.wrongAs)
		*faults = append(*faults, p.faults...)
		out = append(out, r)
	}
	return out
}
