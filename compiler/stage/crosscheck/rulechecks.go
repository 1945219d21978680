package crosscheck

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckRules returns the faults of rules that hold in none of the clusters that have them.
// said is what the clusters say, by ID; all are the IDs of the fleet. Rules of a layer
// with a cluster that is not in said are left to a run over all of its clusters.
func CheckRules(all []string, said map[string][]fleet.RuleCheck) error {
	// A rule that a layer writes once for several releases need only hold for one.
	type part struct {
		field string // the last of the path
		pos   diag.Pos
	}
	nearest, clusters := map[part]fleet.RuleCheck{}, map[part][]string{}
	for _, id := range slices.Sorted(maps.Keys(said)) {
		for _, check := range said[id] {
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
		known := func(id string) bool { _, ok := said[id]; return ok }
		if check.Holds || slices.ContainsFunc(clustersWith(all, p.pos.File), func(id string) bool { return !known(id) }) {
			continue
		}
		faults.Add(&diag.Diag{At: []diag.Pos{p.pos}, Path: check.Path, Msg: check.Msg, Hint: check.Hint, Clusters: clusters[p]})
	}
	return faults.Err()
}

// clustersWith returns the clusters that may have a layer with a file: all when it is of
// no layer.
func clustersWith(ids []string, file string) []string {
	layer, _ := strings.CutPrefix(path.Dir(file)+"/", "environments/")
	below := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id+"/", layer) })
	if len(below) == 0 {
		return ids
	}
	return below
}
