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

// each calls visit for each text in a field of the selectors that matches no cluster. The
// field is ids, environments or labels.
func (f *fleetCheck) each(field string, matches func(fleet.ClusterChoice) bool, visit func(c *fleet.Cluster, s *fleet.ClusterSelector, t fleet.ClusterChoice)) {
	for _, c := range f.Selected {
		for i := range c.Selectors {
			s := &c.Selectors[i]
			texts := map[string][]fleet.ClusterChoice{"ids": s.IDs, "environments": s.Environments, "labels": s.Labels}[field]
			for _, t := range texts {
				key := fleet.ClusterChoice{Key: t.Key, Text: t.Text, Pos: diag.Pos{File: field}}
				found, ok := f.matched[key]
				if !ok {
					found = matches(t)
					f.matched[key] = found
				}
				if !found {
					visit(c, s, t)
				}
			}
		}
	}
}

// fault reports a text of a selector.
func (f *fleetCheck) fault(field string, m selectorFault, c *fleet.Cluster, s *fleet.ClusterSelector, t fleet.ClusterChoice) {
	f.faults.Add(&diag.Diag{
		Code: diag.CodeEmptySelection,
		At:   []diag.Pos{t.Pos}, Clusters: []string{c.ID}, Path: s.Path(field), Msg: m.msg, Hint: m.hint, Fixes: m.fixes,
	})
}

// checkIDs reports patterns that match no cluster of the fleet. It evaluates no clusters,
// because IDs are names of directories.
func (f *fleetCheck) checkIDs() {
	matches := func(t fleet.ClusterChoice) bool {
		if _, err := path.Match(t.Text, ""); err != nil {
			return true // a fault already
		}
		return slices.ContainsFunc(f.IDs, func(id string) bool { return t.MatchesID(&fleet.Cluster{ID: id}) })
	}
	f.each("ids", matches, func(c *fleet.Cluster, s *fleet.ClusterSelector, t fleet.ClusterChoice) {
		m := f.unmatched("ids", t)
		f.fault("ids", m, c, s, t)
	})
}

// selectorFault is the message, the hint and the fixes for a text that matches no cluster.
type selectorFault struct {
	msg, hint string
	fixes     []diag.Fix
}

// unmatched returns the fault of a text in a field of a selector that
// matches no cluster.
func (f *fleetCheck) unmatched(field string, t fleet.ClusterChoice) selectorFault {
	if field == "ids" {
		hint, fixes := fleet.ClusterHint(t.Text, f.IDs)
		return selectorFault{"no cluster of the fleet matches " + strconv.Quote(t.Text), hint, fixes}
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
	switch {
	case field == "environments":
		return selectorFault{"no cluster of the fleet has the environment " + strconv.Quote(t.Text), hintOf(t.Text, all), diag.Respell(t.Text, all)}
	case len(texts) == 0:
		return selectorFault{"no cluster of the fleet has the label " + strconv.Quote(t.Key), hintOf(t.Key, keys), diag.Respell(t.Key, keys)}
	}
	return selectorFault{fmt.Sprintf("no cluster of the fleet has the label %q with the value %q", t.Key, t.Text), hintOf(t.Text, texts), diag.Respell(t.Text, texts)}
}

// checkEnvironments reports environments that no cluster of the fleet has. It evaluates
// clusters outside of the run until one has the environment.
func (f *fleetCheck) checkEnvironments() {
	matches := func(t fleet.ClusterChoice) bool {
		return f.findCluster(t, t.MatchesEnvironment) || f.unsure || !f.complete()
	}
	f.each("environments", matches, func(c *fleet.Cluster, s *fleet.ClusterSelector, t fleet.ClusterChoice) {
		m := f.unmatched("environments", t)
		f.fault("environments", m, c, s, t)
	})
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

// checkLabels reports labels that no cluster of the fleet has. It evaluates clusters
// outside of the run until one has the label.
func (f *fleetCheck) checkLabels() {
	matches := func(t fleet.ClusterChoice) bool {
		return f.findCluster(t, t.MatchesLabel) || !f.complete()
	}
	f.each("labels", matches, func(c *fleet.Cluster, s *fleet.ClusterSelector, t fleet.ClusterChoice) {
		m := f.unmatched("labels", t)
		f.fault("labels", m, c, s, t)
	})
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
	for field, texts := range map[string][]fleet.ClusterChoice{"ids": s.IDs, "environments": s.Environments, "labels": s.Labels} {
		for _, t := range texts {
			if found, ok := f.matched[fleet.ClusterChoice{Key: t.Key, Text: t.Text, Pos: diag.Pos{File: field}}]; ok && !found {
				return true
			}
		}
	}
	return false
}

// hintOf returns a hint with the texts of the fleet that are similar to a misspelt one.
func hintOf(text string, among []string) string {
	among = slices.DeleteFunc(slices.Clone(among), func(s string) bool { return s == "" })
	slices.Sort(among)
	if among = slices.Compact(among); len(among) == 0 {
		return "correct it, or remove it: no cluster of the fleet has any"
	}
	return diag.OneOf(text, among)
}
