package unify

import (
	"fmt"
	"path"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// updates reads the field updates, and adds checks of its patterns for charts to the
// cluster. It returns nil when there is none, or when CUE reports faults of it.
func (e *evaluation) updates(v cue.Value, c *fleet.Cluster, faults *diag.List) *fleet.Updates {
	field, ok := e.rootField(v, "updates", "updates, which are", "them", faults)
	if !ok {
		return nil
	}
	u := &fleet.Updates{ByEnvironment: textOf(field, "by") == "environment", Pos: e.fieldPos(field)}
	u.Patches, _ = lookup(field, "patches").Bool()
	if n, err := lookup(field, "maxBranches").Int64(); err == nil {
		u.MaxBranches = int(n)
	}
	u.Groups = e.updateSelectors(field, "groups", faults)
	u.Ignore = e.updateSelectors(field, "ignore", faults)
	var names []string
	for _, r := range c.Releases {
		if r.Chart != (fleet.ChartRef{}) {
			names = append(names, r.Chart.ChartName())
		}
	}
	names = diag.Distinct(names)
	for _, p := range u.Patterns(fleet.UpdateCharts) {
		c.Checks = append(c.Checks, p.Check(names, fleet.MatchChart, "the fleet has no chart that matches "))
	}
	return u
}

// updateSelectors reads the selectors in a field of updates.
func (e *evaluation) updateSelectors(v cue.Value, field string, faults *diag.List) []fleet.UpdateSelector {
	var out []fleet.UpdateSelector
	for _, f := range fieldsOf(v, field) {
		at := "updates." + field + "." + cue.Str(f.name).String()
		s := fleet.UpdateSelector{Name: f.name, Reason: textOf(f.v, "reason"), Until: textOf(f.v, "until"), Pos: e.posIn(v, f.v)}
		s.Charts = e.updatePatterns(f.v, "charts", at, faults)
		s.Images = e.updatePatterns(f.v, "images", at, faults)
		if len(s.Charts)+len(s.Images) == 0 {
			faults.Add(&diag.Diag{Code: diag.CodeUpdateRule, At: []diag.Pos{s.Pos}, Path: at, Msg: "selects no chart and no image", Hint: "add charts or images to it, or remove it"})
		}
		if s.Until != "" && !isDate(s.Until) {
			faults.Add(&diag.Diag{
				Code: diag.CodeUpdateRule,
				At:   []diag.Pos{e.fieldPos(lookup(f.v, "until"))}, Path: at + ".until", Msg: fmt.Sprintf("%q is not a valid date", s.Until), Hint: "write it as in 2026-12-31",
			})
		}
		out = append(out, s)
	}
	return out
}

// updatePatterns reads the patterns of a selector.
func (e *evaluation) updatePatterns(v cue.Value, field, at string, faults *diag.List) []fleet.UpdatePattern {
	var out []fleet.UpdatePattern
	for i, item := range items(lookup(v, field)) {
		text, _ := item.String()
		p := fleet.UpdatePattern{Text: text, Path: fmt.Sprintf("%s.%s.%d", at, field, i), Pos: e.fieldPos(item)}
		if _, err := path.Match(text, ""); err != nil {
			faults.Add(&diag.Diag{
				Code: diag.CodeUpdateRule, At: []diag.Pos{p.Pos}, Path: p.Path,
				Msg:  "invalid pattern " + diag.Visible(text, diag.MaxText),
				Hint: `write it as in "redis" or "prometheus-*"`,
			})
			continue
		}
		out = append(out, p)
	}
	return out
}
