package lsp

import (
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// changedRule returns the position of a text in a rule that matches the release under only
// one of its names, or an invalid position. An expression may compute such a text.
func (r *renamer) changedRule(before, after *compiler.Fleet) diag.Pos {
	for i, b := range before.Clusters {
		old, texts := r.ruleTexts(b, r.before, r.after), r.ruleTexts(after.Clusters[i], "", "")
		for j, t := range old {
			if j >= len(texts) || (fleet.PathPattern{t.Text}).Matches(r.before) != (fleet.PathPattern{texts[j].Text}).Matches(r.after) {
				return t.Pos
			}
		}
	}
	return diag.Pos{}
}

// ruleTexts returns the patterns of releases in the rules of a cluster. Rules of releases are
// in the order of their names, with one replaced.
func (r *renamer) ruleTexts(c *fleet.Cluster, before, after string) (out []fleet.MatchText) {
	if r.kind != namedRelease {
		return nil
	}
	for _, p := range c.Policies {
		out = append(out, p.Texts...)
		for _, w := range p.Waivers {
			out = append(out, w.Texts...)
		}
	}
	add := func(health []fleet.HealthRule, ignore []fleet.IgnoreRule) {
		for _, h := range health {
			out = append(out, h.Texts...)
		}
		for _, i := range ignore {
			out = append(out, i.Texts...)
		}
	}
	add(c.Health, slices.Concat(c.Ignore, c.DriftIgnore))
	as := func(release *fleet.Release) string {
		if release.Name == before {
			return after
		}
		return release.Name
	}
	for _, release := range slices.SortedStableFunc(slices.Values(c.Releases), func(a, b *fleet.Release) int { return strings.Compare(as(a), as(b)) }) {
		add(release.Health, slices.Concat(release.Ignore, release.DriftIgnore))
	}
	return slices.DeleteFunc(out, func(t fleet.MatchText) bool { return t.Field != "releases" })
}
