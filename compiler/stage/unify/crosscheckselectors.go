package unify

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// lacksEnvironment reports whether a cluster has no environment.
func lacksEnvironment(clusters []*fleet.Cluster) bool {
	return slices.ContainsFunc(clusters, func(c *fleet.Cluster) bool { return c.Environment == "" })
}

// checkSelectors reports the texts of selectors that match no cluster. IDs are names of
// directories. For environments and labels, it evaluates clusters outside of the run until one
// matches.
func (f *fleetCheck) checkSelectors() {
	f.checkTexts("ids", func(t fleet.ClusterChoice) bool {
		if _, err := path.Match(t.Text, ""); err != nil {
			return true // a fault already
		}
		return slices.ContainsFunc(f.IDs, func(id string) bool { return t.MatchesID(&fleet.Cluster{ID: id}) })
	})
	f.checkTexts("environments", func(t fleet.ClusterChoice) bool {
		return f.findCluster(t, t.MatchesEnvironment) || f.unsure || !f.complete()
	})
	f.checkTexts("labels", func(t fleet.ClusterChoice) bool {
		return f.findCluster(t, t.MatchesLabel) || !f.complete()
	})
}

// checkTexts reports the texts in a field of the selectors for which matches returns false.
func (f *fleetCheck) checkTexts(field string, matches func(fleet.ClusterChoice) bool) {
	for _, c := range f.Selected {
		for i := range c.Selectors {
			s := &c.Selectors[i]
			for _, t := range selectorFields(s)[field] {
				key := matchKey(field, t)
				found, ok := f.matched[key]
				if !ok {
					found = matches(t)
					f.matched[key] = found
				}
				if !found {
					d := f.unmatched(field, t)
					d.Clusters, d.Path = []string{c.ID}, s.Path(field)
					f.faults.Add(d)
				}
			}
		}
	}
}

// selectorFields returns the texts of a selector by field.
func selectorFields(s *fleet.ClusterSelector) map[string][]fleet.ClusterChoice {
	return map[string][]fleet.ClusterChoice{"ids": s.IDs, "environments": s.Environments, "labels": s.Labels}
}

// matchKey returns the key of a text in the matched texts.
func matchKey(field string, t fleet.ClusterChoice) fleet.ClusterChoice {
	return fleet.ClusterChoice{Key: t.Key, Text: t.Text, Pos: diag.Pos{File: field}}
}

// unmatched returns the fault of a text in a field of a selector that matches no cluster,
// without its path.
func (f *fleetCheck) unmatched(field string, t fleet.ClusterChoice) *diag.Diag {
	d := &diag.Diag{Code: diag.CodeEmptySelection, At: []diag.Pos{t.Pos}}
	if field == "ids" {
		d.Msg = "no cluster of the fleet matches " + strconv.Quote(t.Text)
		d.Hint, d.Fixes = fleet.ClusterHint(t.Text, f.IDs)
		return d
	}
	var all, keys, texts []string
	for _, other := range f.known() {
		all = append(all, other.Environment)
		for key, text := range other.Labels {
			keys = append(keys, key)
			if key == t.Key {
				texts = append(texts, text)
			}
		}
	}
	word, among := t.Text, texts
	switch {
	case field == "environments":
		d.Msg, among = "no cluster of the fleet has the environment "+strconv.Quote(t.Text), all
	case len(texts) == 0:
		d.Msg, word, among = "no cluster of the fleet has the label "+strconv.Quote(t.Key), t.Key, keys
	default:
		d.Msg = fmt.Sprintf("no cluster of the fleet has the label %q with the value %q", t.Key, t.Text)
	}
	d.Hint, d.Fixes = hintOf(word, among), diag.Respell(word, among)
	return d
}

// findCluster reports whether a cluster of the fleet matches a text. It evaluates clusters
// outside of the run until one does, first those whose layers have the text.
func (f *fleetCheck) findCluster(t fleet.ClusterChoice, matches func(*fleet.Cluster) bool) bool {
	word := t.Text
	if word == "*" {
		word = t.Key
	}
	for !slices.ContainsFunc(f.known(), matches) {
		rest := slices.DeleteFunc(slices.Clone(f.IDs), func(id string) bool { return f.tried[id] })
		if likely := f.Mentioning(rest, word, t.Pos.File); len(likely) > 0 {
			rest = likely
		}
		if len(rest) == 0 {
			return false
		}
		f.evaluateSome(rest)
	}
	return true
}

// evaluateSome evaluates some clusters of each directory. Each call evaluates twice as many
// as the call before.
func (f *fleetCheck) evaluateSome(ids []string) {
	f.batch = max(1, 2*f.batch)
	ids = firstOfDirectories(f.batch, ids)
	for _, id := range ids {
		f.tried[id] = true
	}
	all, atFault := f.Evaluate(ids)
	f.others = append(f.others, all...)
	f.unsure = f.unsure || lacksEnvironment(atFault)
}

// firstOfDirectories returns the first n IDs of each directory of clusters. The clusters
// of a directory mostly have the same environment and labels.
func firstOfDirectories(n int, ids []string) []string {
	var out []string
	seen := map[string]int{}
	for _, id := range ids {
		if dir := path.Dir(id); seen[dir] < n {
			seen[dir]++
			out = append(out, id)
		}
	}
	return out
}

// checkChosen reports selectors that select none of the clusters with the release, although
// each of their texts matches a cluster.
func (f *fleetCheck) checkChosen() {
	type selector struct {
		path string
		pos  diag.Pos
	}
	chosen, having := map[selector]bool{}, map[selector][]string{}
	for _, c := range f.known() {
		for i := range c.Selectors {
			s := &c.Selectors[i]
			key := selector{s.Path(), s.Pos}
			having[key] = append(having[key], c.ID)
			chosen[key] = chosen[key] || s.Selects(c) || f.isAtFault(s)
		}
	}
	for key, clusters := range having {
		if !chosen[key] {
			what := "release"
			if strings.HasPrefix(key.path, "images.") {
				what = "policy"
			}
			f.faults.Add(&diag.Diag{
				Code: diag.CodeEmptySelection,
				At:   []diag.Pos{key.pos}, Clusters: slices.Sorted(slices.Values(clusters)), Path: key.path,
				Msg:  "no cluster gets this " + what + ": the selector selects none of the clusters whose layers have it",
				Hint: "correct the selector, or remove the " + what,
			})
		}
	}
}

// checkRules reports release patterns that match no release in any cluster, and removals of
// dependencies that no release has.
func (f *fleetCheck) checkRules() {
	checks := map[string][]fleet.RuleCheck{}
	for _, c := range f.Selected {
		checks[c.ID] = c.Checks
	}
	f.faults.Add(CheckRuleMatches(f.IDs, checks))
}

// isAtFault reports whether a text of the selector matches no cluster.
func (f *fleetCheck) isAtFault(s *fleet.ClusterSelector) bool {
	for field, texts := range selectorFields(s) {
		for _, t := range texts {
			if found, ok := f.matched[matchKey(field, t)]; ok && !found {
				return true
			}
		}
	}
	return false
}

// hintOf returns a hint with the texts of the fleet that are similar to a misspelt one.
func hintOf(text string, among []string) string {
	among = slices.DeleteFunc(slices.Clone(among), func(s string) bool { return s == "" })
	if among = diag.Distinct(among); len(among) == 0 {
		return "correct it, or remove it: no cluster of the fleet has any"
	}
	return diag.OneOf(text, among)
}
