package edit

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// newFaults returns the faults in after that are not in before, each with the clusters that
// did not have it.
func newFaults(before, after error) diag.List {
	old := map[string]map[string]bool{} // clusters by the text of the fault
	for _, d := range diag.All(before) {
		if old[d.Error()] == nil {
			old[d.Error()] = map[string]bool{}
		}
		for _, c := range d.Clusters {
			old[d.Error()][c] = true
		}
	}
	var out diag.List
	for _, d := range diag.All(after) {
		clusters, ok := old[d.Error()]
		left := *d
		left.Clusters = slices.DeleteFunc(slices.Clone(d.Clusters), func(c string) bool { return clusters[c] })
		if !ok || len(left.Clusters) > 0 {
			out = append(out, &left)
		}
	}
	return out
}

// movedCluster is a cluster with a release that gets another version of its chart.
type movedCluster struct {
	before, after *fleet.Cluster
	charts        [][2]fleet.ChartRef // before and after
}

// inBoth returns the clusters that are in two states of a fleet, in the order of the first.
func inBoth(before, after *fleet.Fleet) []movedCluster {
	next := map[string]*fleet.Cluster{}
	for _, c := range after.Clusters {
		next[c.ID] = c
	}
	var out []movedCluster
	for _, c := range before.Clusters {
		if next[c.ID] != nil {
			out = append(out, movedCluster{before: c, after: next[c.ID]})
		}
	}
	return out
}

// moved returns the clusters that get another version.
func (p *pinning) moved(before, after *fleet.Fleet) []movedCluster {
	var out []movedCluster
	for _, m := range inBoth(before, after) {
		for _, r := range p.uses(m.before) {
			if next := m.after.Release(r.Name); next != nil && next.Chart != r.Chart {
				m.charts = append(m.charts, [2]fleet.ChartRef{r.Chart, next.Chart})
			}
		}
		if len(m.charts) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// moves groups the clusters by the old and new version.
func (p *pinning) moves(ctx context.Context, moved []movedCluster, old, next *compiler.Fleet) (out []Move) {
	index := map[[2]fleet.ChartRef]int{}
	var releases [][]*fleet.Release // of each move
	for _, m := range moved {
		for _, pair := range m.charts {
			i, ok := index[pair]
			if !ok {
				i = len(out)
				index[pair] = i
				out = append(out, p.move(ctx, pair, old, next))
				releases = append(releases, nil)
			}
			if clusters := &out[i].Clusters; !slices.Contains(*clusters, m.before.ID) {
				*clusters = append(*clusters, m.before.ID)
			}
			for _, r := range m.before.Releases {
				if r.Chart == pair[0] {
					releases[i] = append(releases[i], r)
				}
			}
		}
	}
	for i := range out {
		out[i].Concern = concern(out[i].Values, releases[i])
	}
	slices.SortStableFunc(out, func(a, b Move) int { return cmp.Compare(a.From.String(), b.From.String()) })
	for _, m := range out {
		slices.Sort(m.Clusters)
	}
	return out
}

// move compares the values of two versions.
func (p *pinning) move(ctx context.Context, pair [2]fleet.ChartRef, old, next *compiler.Fleet) Move {
	m := Move{From: pair[0], To: pair[1], OldVersion: pair[0].Version, NewVersion: pair[1].Version, Values: []values.Change{}}
	for _, pin := range p.pkg.Pins {
		if pin.Ref == m.From {
			m.OldVersion = pin.Version
		}
	}
	for _, r := range p.versions {
		if r.Ref == m.To {
			m.NewVersion = r.Version
		}
	}
	before, ok := old.Charts[m.From]
	after, ok2 := next.Charts[m.To]
	if ok && ok2 {
		m.Values = append(m.Values, values.Compare(before.Types, after.Types)...)
		return m
	}
	unknown := m.To
	if !ok {
		unknown = m.From
	}
	if _, err := p.source.Chart(ctx, unknown); err != nil {
		m.Unknown = err.Error()
	}
	return m
}

// concern returns the changes of values that matter for releases: values that one sets and that
// are removed, no longer read or of another type, and new defaults of values that one does not
// set.
func concern(changes []values.Change, releases []*fleet.Release) []values.Change {
	var out []values.Change
	for _, c := range changes {
		if c.Kind == values.Added || c.BothEmpty() {
			continue
		}
		sets := c.Kind != values.Defaulted
		if slices.ContainsFunc(releases, func(r *fleet.Release) bool { return isSet(r, c.Path) == sets }) {
			out = append(out, c)
		}
	}
	return out
}

// isSet reports whether a release sets a value of its chart.
func isSet(r *fleet.Release, path string) bool {
	keys, ok := fleet.ParseField(path)
	if !ok || len(keys) == 0 || r.Values == nil {
		return false
	}
	_, depth := r.Values.Lookup(keys[1:]...)
	return depth == len(keys)-1
}

// A State is a loaded fleet.
type State struct {
	*compiler.Fleet
	All    *fleet.Fleet // with the clusters that have faults
	Faults error
}

// A Comparison is the differences between two states of a fleet.
type Comparison struct {
	Rendered diff.Result    // changes of the objects of the clusters
	Faults   error          // new ones
	Findings []diff.Finding // for reviewers
}

// compareStates renders clusters of two states of a fleet, compares their objects and makes
// findings for reviewers. Clusters that cannot be rendered in both are not compared. Faults
// also has those that check finds in the objects of a cluster; check may be nil.
func compareStates(ctx context.Context, before, after State, clusters []movedCluster, check func(m movedCluster, before, after []fleet.Object) error) Comparison {
	type comparison struct {
		changes, ignored []diff.Change
		findings         []diff.Finding
		compared         bool
		faults           diag.List
	}
	var comparer query.Rehearser
	compared := par.Map(ctx, after.Parallel, len(clusters), func(ctx context.Context, i int) (comparison, error) {
		m := clusters[i]
		old, next := sideOf(before.Fleet, m.before), sideOf(after.Fleet, m.after)
		if !before.CanRender(m.before) || !after.CanRender(m.after) {
			return comparison{findings: comparer.Cluster(old, next)}, nil
		}
		var errBefore, errAfter error
		old.Objects, old.Hooks, errBefore = before.CheckedObjects(ctx, m.before)
		next.Objects, next.Hooks, errAfter = after.CheckedObjects(ctx, m.after)
		out := comparison{faults: newFaults(diag.In(m.before.ID, errBefore), diag.In(m.after.ID, errAfter)), findings: comparer.Cluster(old, next)}
		if old.Objects != nil && next.Objects != nil {
			out.compared = true
			out.changes, out.ignored = diff.ObjectsIgnoring(old.Objects, next.Objects, nil, m.after.IgnoreRules())
			if check != nil {
				out.faults.Add(check(m, old.Objects, next.Objects))
			}
		}
		return out, nil
	})
	var groups diff.Grouper
	var missing []string
	var findings []diff.Finding
	faults := newFaults(before.Faults, after.Faults)
	i := 0
	for c, err := range compared {
		faults.Add(err)
		faults.Add(c.faults.Err())
		if id := clusters[i].before.ID; c.compared {
			groups.Add(id, c.changes)
			groups.AddIgnored(id, c.ignored)
		} else {
			missing = append(missing, id)
		}
		findings = append(findings, c.findings...)
		i++
	}
	out := Comparison{Rendered: groups.Result(), Faults: faults.Err()}
	slices.Sort(missing)
	out.Rendered.NotCompared = missing
	out.Findings = diff.GroupFindings(append(query.NewFaultFindings(out.Faults), findings...))
	return out
}

// sideOf returns a state of a cluster without its objects.
func sideOf(f *compiler.Fleet, c *fleet.Cluster) query.RehearsalSide {
	return query.RehearsalSide{Cluster: c, CRDs: f.KnownCRDs[c.ID], Charts: f.Charts}
}
