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

// Clusters are the clusters that are checked against each other.
type Clusters struct {
	IDs       []string         // of all clusters of the fleet, sorted
	Selected  []*fleet.Cluster // those of the run, also those with faults
	AtFault   []*fleet.Cluster // those with faults
	Evaluated []string         // IDs of clusters that were evaluated, or could not be
	Valid     bool             // whether no cluster has a fault

	// OtherShards are clusters that other runs check. They have the fields of [Identity].
	OtherShards []*fleet.Cluster

	// Evaluate evaluates more clusters. all has those that can be evaluated, atFault those
	// of them that have faults.
	Evaluate func(ids []string) (all, atFault []*fleet.Cluster)

	// Mentioning returns those of the clusters that have a word in a file of their layers,
	// except in one file.
	Mentioning func(ids []string, word, except string) []string
}

// CheckClusters returns the faults that can only be found by comparing clusters.
func CheckClusters(in Clusters) error {
	f := &fleetCheck{
		Clusters: in, tried: map[string]bool{}, unsure: lacksEnvironment(in.AtFault), matched: map[fleet.ClusterChoice]bool{},
	}
	for _, id := range in.Evaluated {
		f.tried[id] = true
	}
	for _, known := range f.known() {
		f.tried[known.ID] = true
	}
	return f.run()
}

// fleetCheck compares clusters with the whole fleet.
type fleetCheck struct {
	Clusters
	others  []*fleet.Cluster             // more clusters that are evaluated
	batch   int                          // clusters of each directory that were evaluated last
	tried   map[string]bool              // IDs of clusters that were evaluated, or could not be
	unsure  bool                         // whether the environment of a cluster cannot be read
	matched map[fleet.ClusterChoice]bool // whether a cluster matches, by field and text
	faults  diag.List
}

func (f *fleetCheck) run() error {
	whole := f.complete()
	f.checkSelectors()
	if f.Valid {
		f.checkDefaults()
		f.checkRules()
	}
	if whole && f.Valid {
		f.checkChosen()
	}
	f.checkRollout(whole)
	among := f.Selected
	if whole {
		among = f.known()
	}
	among = slices.Concat(among, f.OtherShards)
	for _, i := range identities {
		f.addOwn(i.check(among))
	}
	return f.faults.Err()
}

// addOwn adds the faults that concern a cluster of the run.
func (f *fleetCheck) addOwn(err error) {
	own := fleet.IDs(f.known())
	for _, d := range diag.All(err) {
		if slices.ContainsFunc(d.Clusters, func(id string) bool { return slices.Contains(own, id) }) {
			f.faults.Add(d)
		}
	}
}

// known returns all evaluated clusters.
func (f *fleetCheck) known() []*fleet.Cluster { return slices.Concat(f.Selected, f.others) }

// complete reports whether all clusters of the fleet are evaluated.
func (f *fleetCheck) complete() bool { return hasAll(f.known(), f.IDs) }

// hasAll reports whether clusters have all IDs.
func hasAll(clusters []*fleet.Cluster, ids []string) bool {
	known := map[string]bool{}
	for _, c := range clusters {
		known[c.ID] = true
	}
	return !slices.ContainsFunc(ids, func(id string) bool { return !known[id] })
}

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
