package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Rollout is the order in which the clusters of a fleet get a change.
type Rollout struct {
	Waves   []Wave
	Freezes []Freeze
	Pos     diag.Pos
}

// A Wave is one step of a rollout.
type Wave struct {
	Name        string
	Clusters    ClusterSelector // of the wave; not used if Others is set
	Others      bool            // the wave has all clusters that no other wave selects
	Parallel    int             // clusters at a time; 0 for no limit
	Share       int             // clusters at a time, in percent; 0 for no limit
	MaxFailures int             // clusters that may fail
	Soak        time.Duration   // how long clusters must be healthy before the next wave
	Verify      []Action        // checks before the next wave, sorted by name
	Approve     string          // whom to ask for the approval; empty when none is needed
	Pos         diag.Pos
}

// A Freeze is a period in which clusters get no changes.
type Freeze struct {
	From, To string // first and last day, as in 2026-12-31
	Reason   string
	Except   *ClusterSelector // clusters that are not frozen; nil for none
	Pos      diag.Pos
}

// AtATime returns how many of n clusters are applied to at a time.
func (w *Wave) AtATime(n int) int {
	switch {
	case w.Parallel > 0:
		return w.Parallel
	case w.Share > 0:
		return max(1, (n*w.Share+99)/100)
	}
	return max(1, n)
}

// WavesOf returns the indexes of the waves that have the cluster.
func (r *Rollout) WavesOf(c *Cluster) []int {
	var out []int
	for i := range r.Waves {
		if w := &r.Waves[i]; !w.Others && w.Clusters.Selects(c) || w.Others && len(out) == 0 {
			out = append(out, i)
		}
	}
	return out
}

// Clusters returns the clusters of each wave, sorted by ID.
func (r *Rollout) Clusters(all []*Cluster) [][]*Cluster {
	out := make([][]*Cluster, len(r.Waves))
	for _, c := range all {
		for _, i := range r.WavesOf(c) {
			out[i] = append(out[i], c)
		}
	}
	for _, clusters := range out {
		slices.SortFunc(clusters, func(a, b *Cluster) int { return cmp.Compare(a.ID, b.ID) })
	}
	return out
}

// WaveNames returns the names of the waves in their order.
func (r *Rollout) WaveNames() []string {
	return diag.Each(r.Waves, func(w Wave) string { return w.Name })
}

// FrozenBy returns the freeze that holds for the cluster on a day, as in 2026-12-31; nil
// when there is none.
func (r *Rollout) FrozenBy(c *Cluster, day string) *Freeze {
	for i := range r.Freezes {
		if f := &r.Freezes[i]; f.From <= day && day <= f.To && (f.Except == nil || !f.Except.Selects(c)) {
			return f
		}
	}
	return nil
}
