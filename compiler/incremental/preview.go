package incremental

import (
	"context"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// The limits of a sample.
const (
	minPreviewed = 24 // clusters to evaluate from which a preview is worth its time
	maxSample    = 12 // clusters of a sample
	maxAtFault   = 6  // clusters of a sample that had faults
)

// preview evaluates a sample of the clusters that a change of files concerns, and reports
// its faults. It also reports earlier faults of other clusters in other files.
func (s *Session) preview(ctx context.Context, c *compiler.Compiler, loaded *load.Fleet, changed []string) {
	if s.Preview == nil || c.ReuseFrom == nil || !c.SameCharts {
		return
	}
	part := *loaded
	if part.Clusters = s.sample(loaded.Clusters); part.Clusters == nil {
		return
	}
	evaluation := c.Unify(ctx, &part, nil)
	if evaluation.Fleet == nil || usesNewChart(evaluation.All(), c.ReuseFrom) {
		return
	}
	_, err := c.LoadEvaluated(ctx, evaluation)
	if ctx.Err() != nil {
		return
	}
	var faults diag.List
	faults.Add(err)
	for _, d := range s.faults {
		others := *d
		others.Clusters = slices.DeleteFunc(slices.Clone(d.Clusters), func(id string) bool {
			return slices.ContainsFunc(part.Clusters, func(in load.Cluster) bool { return in.ID == id })
		})
		inChanged := slices.ContainsFunc(d.Places(), func(p diag.Pos) bool { return slices.Contains(changed, p.File) })
		if !inChanged && (len(others.Clusters) > 0 || len(d.Clusters) == 0) {
			faults.Add(&others)
		}
	}
	s.Preview(faults.Err())
}

// usesNewChart reports whether a release has a chart that an earlier fleet does not have.
// Finding it may take longer than evaluating the clusters.
func usesNewChart(f *fleet.Fleet, earlier *compiler.Fleet) bool {
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			if _, ok := earlier.Charts[r.Chart]; !ok && r.Chart != (fleet.ChartRef{}) {
				return true
			}
		}
	}
	return false
}

// sample returns clusters that stand for all that are to be evaluated: some of those that had
// faults, and one of each directory. It returns nil if all are evaluated soon.
func (s *Session) sample(clusters []load.Cluster) []load.Cluster {
	var out []load.Cluster
	atFault := map[string]bool{}
	for _, d := range s.faults {
		for _, id := range d.Clusters {
			atFault[id] = true
		}
	}
	todo := diag.Filter(clusters, func(in load.Cluster) bool { return in.Instance != nil && !s.evaluated(in.ID) })
	if len(todo) < minPreviewed {
		return nil
	}
	dirs := map[string]bool{}
	for _, in := range todo {
		if atFault[in.ID] && len(out) < maxAtFault {
			out, dirs[path.Dir(in.ID)] = append(out, in), true
		}
	}
	for _, in := range todo {
		if dir := path.Dir(in.ID); !dirs[dir] && len(out) < maxSample {
			out, dirs[dir] = append(out, in), true
		}
	}
	return out
}
