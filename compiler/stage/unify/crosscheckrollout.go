package unify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// checkRollout checks that each cluster is in one wave of the rollout. If the run has all
// clusters of the fleet, it also reports selectors that match no cluster.
func (f *fleetCheck) checkRollout(whole bool) {
	// The rollout and the labels of a cluster with faults may be missing.
	clusters := slices.DeleteFunc(slices.Clone(f.known()), func(c *fleet.Cluster) bool {
		return slices.ContainsFunc(f.AtFault, func(other *fleet.Cluster) bool { return other.ID == c.ID })
	})
	slices.SortFunc(clusters, func(a, b *fleet.Cluster) int { return cmp.Compare(a.ID, b.ID) })
	r, ok := f.sameRollout(clusters)
	if !ok || r == nil {
		return
	}
	valid := true
	for i := range r.Waves {
		if w := &r.Waves[i]; !w.Others {
			valid = f.checkWaveTexts(w.Clusters, fmt.Sprintf("rollout.waves.%d.clusters", i), whole) && valid
		}
	}
	for i, freeze := range r.Freezes {
		if freeze.Except != nil {
			f.checkWaveTexts(*freeze.Except, fmt.Sprintf("rollout.freezes.%d.except", i), whole)
		}
	}
	if valid {
		f.checkWaves(r, clusters, whole)
	}
}

// sameRollout returns the rollout of the clusters. It reports clusters that have different
// ones, and then returns false.
func (f *fleetCheck) sameRollout(clusters []*fleet.Cluster) (*fleet.Rollout, bool) {
	var texts []string
	for _, c := range clusters {
		text, _ := json.Marshal(c.Rollout) // some are decoded from JSON, with other types of numbers
		texts = append(texts, string(text))
	}
	for i, c := range clusters {
		first := clusters[0]
		if texts[i] == texts[0] {
			continue
		}
		var at []diag.Pos
		for _, r := range []*fleet.Rollout{first.Rollout, c.Rollout} {
			if r != nil && !slices.Contains(at, r.Pos) {
				at = append(at, r.Pos)
			}
		}
		f.faults.Add(&diag.Diag{
			Code: diag.CodeNotRootLayer,
			At:   at, Path: "rollout", Clusters: []string{first.ID, c.ID},
			Msg:  fmt.Sprintf("clusters %s and %s have different rollouts", first.ID, c.ID),
			Hint: "write the rollout without references to fields of the cluster, and without conditions",
		})
		return nil, false
	}
	if len(clusters) == 0 {
		return nil, false
	}
	return clusters[0].Rollout, true
}

// checkWaveTexts reports the texts of a selector at a path that match no cluster, and
// whether there are none. It needs all clusters of the fleet, except for IDs.
func (f *fleetCheck) checkWaveTexts(s fleet.ClusterSelector, at string, whole bool) bool {
	valid := true
	check := func(field string, texts []fleet.ClusterChoice, clusters []*fleet.Cluster, matches func(fleet.ClusterChoice, *fleet.Cluster) bool) {
		for _, t := range texts {
			if slices.ContainsFunc(clusters, func(c *fleet.Cluster) bool { return matches(t, c) }) {
				continue
			}
			valid = false
			d := f.unmatched(field, t)
			d.Path = at + "." + field
			f.faults.Add(d)
		}
	}
	all := diag.Each(f.IDs, func(id string) *fleet.Cluster { return &fleet.Cluster{ID: id} })
	check("ids", s.IDs, all, fleet.ClusterChoice.MatchesID)
	if whole {
		if !f.unsure {
			check("environments", s.Environments, f.known(), fleet.ClusterChoice.MatchesEnvironment)
		}
		check("labels", s.Labels, f.known(), fleet.ClusterChoice.MatchesLabel)
	}
	return valid
}

// checkWaves reports clusters in no wave or in several, and waves without a cluster.
func (f *fleetCheck) checkWaves(r *fleet.Rollout, clusters []*fleet.Cluster, whole bool) {
	type pair struct{ a, b int }
	var none []*fleet.Cluster
	both := map[pair][]*fleet.Cluster{}
	used := map[int]bool{}
	for _, c := range clusters {
		waves := r.WavesOf(c)
		for _, i := range waves {
			used[i] = true
		}
		switch {
		case len(waves) == 0:
			none = append(none, c)
		case len(waves) > 1:
			both[pair{waves[0], waves[1]}] = append(both[pair{waves[0], waves[1]}], c)
		}
	}
	if len(none) > 0 {
		f.faults.Add(&diag.Diag{
			Code: diag.CodeWaveMembers,
			At:   []diag.Pos{r.Pos, none[0].Pos}, Path: "rollout.waves", Clusters: fleet.IDs(none),
			Msg:  "no wave selects " + clusterNames(none),
			Hint: `add it to a wave, or end the waves with one for all other clusters: {name: "rest", others: true}`,
		})
	}
	for p, clusters := range both {
		a, b := r.Waves[p.a], r.Waves[p.b]
		f.faults.Add(&diag.Diag{
			Code: diag.CodeWaveMembers,
			At:   []diag.Pos{a.Pos, b.Pos}, Path: "rollout.waves", Clusters: fleet.IDs(clusters),
			Msg: fmt.Sprintf("waves %s and %s both select %s", a.Name, b.Name, clusterNames(clusters)), Hint: "select each cluster in one wave",
		})
	}
	for i, w := range r.Waves {
		if whole && f.Valid && !used[i] && !w.Others {
			f.faults.Add(&diag.Diag{
				Code: diag.CodeEmptySelection,
				At:   []diag.Pos{w.Pos}, Path: fmt.Sprintf("rollout.waves.%d.clusters", i), Msg: "wave " + w.Name + " selects no cluster",
				Hint: "correct the selector, or remove the wave",
			})
		}
	}
}

// clusterNames names one cluster, or one and how many more.
func clusterNames(clusters []*fleet.Cluster) string {
	switch n := len(clusters) - 1; n {
	case 0:
		return "cluster " + clusters[0].ID
	case 1:
		return "clusters " + clusters[0].ID + " and " + clusters[1].ID
	default:
		return fmt.Sprintf("cluster %s and %d more", clusters[0].ID, n)
	}
}
