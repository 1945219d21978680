package edit

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// newFaults returns those after which there were not before, each with the
// clusters that did not have it.
func newFaults(before, after error) diag.List {
	had := map[string]map[string]bool{}
	for _, d := range diag.All(before) {
		if had[d.Error()] == nil {
			had[d.Error()] = map[string]bool{}
		}
		for _, c := range d.Clusters {
			had[d.Error()][c] = true
		}
	}
	var out diag.List
	for _, d := range diag.All(after) {
		clusters, known := had[d.Error()]
		left := *d
		left.Clusters = slices.DeleteFunc(slices.Clone(d.Clusters), func(c string) bool { return clusters[c] })
		if !known || len(left.Clusters) > 0 {
			out = append(out, &left)
		}
	}
	return out
}

// A movedCluster is a cluster of which a release gets another version.
type movedCluster struct {
	was, is *fleet.Cluster
	charts  [][2]fleet.ChartRef // before and after
}

// moved returns the clusters that the pinning gives another version.
func (p *pinning) moved(before, after *fleet.Fleet) []movedCluster {
	next := map[string]*fleet.Cluster{}
	for _, c := range after.Clusters {
		next[c.ID] = c
	}
	var out []movedCluster
	for _, was := range before.Clusters {
		is := next[was.ID]
		if is == nil {
			continue
		}
		m := movedCluster{was: was, is: is}
		for _, r := range p.uses(was) {
			i := slices.IndexFunc(is.Releases, func(s *fleet.Release) bool { return s.Name == r.Name })
			if i >= 0 && is.Releases[i].Chart != r.Chart {
				m.charts = append(m.charts, [2]fleet.ChartRef{r.Chart, is.Releases[i].Chart})
			}
		}
		if len(m.charts) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// moves groups the clusters by the versions between which they go.
func (u *ChartUpdate) moves(ctx context.Context, p *pinning, moved []movedCluster, old, next *compiler.Fleet) {
	index := map[[2]fleet.ChartRef]int{}
	for _, m := range moved {
		for _, pair := range m.charts {
			i, ok := index[pair]
			if !ok {
				i = len(u.Moves)
				index[pair] = i
				u.Moves = append(u.Moves, p.move(ctx, pair, old, next))
			}
			if clusters := &u.Moves[i].Clusters; !slices.Contains(*clusters, m.was.ID) {
				*clusters = append(*clusters, m.was.ID)
			}
		}
	}
	slices.SortStableFunc(u.Moves, func(a, b Move) int { return cmp.Compare(a.From.String(), b.From.String()) })
	for _, m := range u.Moves {
		slices.Sort(m.Clusters)
	}
}

// move compares the values of two versions.
func (p *pinning) move(ctx context.Context, pair [2]fleet.ChartRef, old, next *compiler.Fleet) Move {
	m := Move{From: pair[0], To: pair[1], Was: pair[0].Version, Is: pair[1].Version}
	for _, pin := range p.pkg.Pins {
		if pin.Ref == m.From {
			m.Was = pin.Version
		}
	}
	for _, r := range p.versions {
		if r.Ref == m.To {
			m.Is = r.Version
		}
	}
	was, ok := old.Charts[m.From]
	is, ok2 := next.Charts[m.To]
	switch {
	case ok && ok2:
		m.Values = values.Compare(was.Types, is.Types)
	case !ok:
		_, m.Unknown = p.source.Chart(ctx, m.From)
	default:
		_, m.Unknown = p.source.Chart(ctx, m.To)
	}
	return m
}

// rendered renders the clusters before and after and compares their objects.
// Those that cannot be rendered before are left out. The error holds the faults
// that only the objects after have.
func rendered(ctx context.Context, moved []movedCluster, old, next *compiler.Fleet) (diff.Result, error) {
	type comparison struct {
		changes []diff.Change
		ignored []diff.Change
		Faults  diag.List
	}
	var groups diff.Grouper
	var faults diag.List
	compared := ordered.Map(ctx, next.Parallel, len(moved), func(ctx context.Context, i int) (comparison, error) {
		m := moved[i]
		if !old.CanRender(m.was) || !next.CanRender(m.is) {
			return comparison{}, nil
		}
		before, _, errBefore := old.CheckedObjects(ctx, m.was)
		after, _, errAfter := next.CheckedObjects(ctx, m.is)
		out := comparison{Faults: newFaults(errBefore, diag.In(m.is.ID, errAfter))}
		if before != nil && after != nil {
			out.changes, out.ignored = diff.ObjectsIgnoring(before, after, nil, m.is.IgnoreRules())
		}
		return out, nil
	})
	i := 0
	for c, err := range compared {
		faults.Add(err)
		faults.Add(c.Faults.Err())
		groups.Add(moved[i].was.ID, c.changes)
		groups.AddIgnored(moved[i].was.ID, c.ignored)
		i++
	}
	return groups.Result(), faults.Err()
}
