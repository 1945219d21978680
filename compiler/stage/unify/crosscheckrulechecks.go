package unify

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckRuleMatches returns the faults of rules that hold in no cluster. checks has the checks of
// each cluster by ID, all has the IDs of the fleet. Rules of a layer are only checked if
// checks has all clusters of the layer.
func CheckRuleMatches(all []string, checks map[string][]fleet.RuleCheck) error {
	// A rule that a layer writes for several releases must hold for one of them.
	type part struct {
		field string // the last of the path
		pos   diag.Pos
	}
	nearest, clusters := map[part]fleet.RuleCheck{}, map[part][]string{}
	for _, id := range slices.Sorted(maps.Keys(checks)) {
		for _, check := range checks[id] {
			p := part{check.Path[strings.LastIndex(check.Path, ".")+1:], check.Pos}
			best, ok := nearest[p]
			if !ok || !best.Holds && (check.Holds || check.Near > best.Near) {
				nearest[p] = check
			}
			if !slices.Contains(clusters[p], id) {
				clusters[p] = append(clusters[p], id)
			}
		}
	}
	parts := slices.SortedFunc(maps.Keys(nearest), func(a, b part) int {
		return cmp.Or(a.pos.Compare(b.pos), cmp.Compare(nearest[a].Path, nearest[b].Path))
	})
	var faults diag.List
	for _, p := range parts {
		check := nearest[p]
		known := func(id string) bool { _, ok := checks[id]; return ok }
		if check.Holds || slices.ContainsFunc(clustersWith(all, p.pos.File), func(id string) bool { return !known(id) }) {
			continue
		}
		faults.Add(&diag.Diag{Code: diag.CodeUnusedRule, At: []diag.Pos{p.pos}, Path: check.Path, Msg: check.Msg, Hint: check.Hint, Fixes: check.Fixes, Clusters: clusters[p]})
	}
	return faults.Err()
}

// clustersWith returns the clusters whose layers may include a file, and all clusters if the
// file is not in a layer.
func clustersWith(ids []string, file string) []string {
	layer, _ := strings.CutPrefix(path.Dir(file)+"/", "environments/")
	below := clustersBelow(ids, strings.TrimSuffix(layer, "/"))
	if len(below) == 0 {
		return ids
	}
	return below
}

// clustersBelow returns the clusters in a directory below environments, and all clusters for
// an empty directory.
func clustersBelow(ids []string, dir string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return dir != "" && !fleet.IsWithin(id, dir)
	})
}
