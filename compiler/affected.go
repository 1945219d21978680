package compiler

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/load"
	"github.com/fleetc/fleetc/compiler/revision"
)

// A ClusterChange says why the bundle of a cluster can be another one.
type ClusterChange string

// The reasons.
const (
	Changed ClusterChange = "changed" // its inputs differ
	Added   ClusterChange = "added"   // it was not there before
	Removed ClusterChange = "removed" // it is no longer there
	Unknown ClusterChange = "unknown" // what it was made of before cannot be told
)

// An AffectedCluster is a cluster whose bundle can be another than before.
type AffectedCluster struct {
	ID     string
	Change ClusterChange
	Files  []string // those of its inputs that differ, sorted; none when it is unknown
}

// Affected compares the inputs of clusters with those in an earlier state of
// the fleet, which before compiles, and returns the clusters that the patterns
// select in either and whose inputs are not the same, sorted by ID. The bundles
// of all others are what they were, see [Inputs].
//
// untold has the faults of the earlier state, nil when there are none: the
// clusters that they concern, all when they concern none, are Unknown. The error
// has those of this state.
func (c *Compiler) Affected(ctx context.Context, before *Compiler, patterns ...string) (clusters []AffectedCluster, untold, err error) {
	now, err := c.Inputs(ctx)
	if err != nil {
		return nil, nil, err
	}
	old, untold := before.Inputs(ctx)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	clusters, err = differing(now, old, diag.All(untold), patterns)
	return clusters, untold, err
}

// differing returns those of the selected clusters whose inputs were others, or
// are not known because of faults.
func differing(now, old map[string]Inputs, untold diag.List, patterns []string) ([]AffectedCluster, error) {
	unknown := map[string]bool{}
	all := false
	for _, d := range untold {
		all = all || len(d.Clusters) == 0
		for _, id := range d.Clusters {
			unknown[id] = true
		}
	}
	ids := map[string]bool{}
	for _, in := range []map[string]Inputs{now, old} {
		for id := range in {
			ids[id] = true
		}
	}
	maps.Copy(ids, unknown)
	selected, err := load.Select(slices.Sorted(maps.Keys(ids)), patterns)
	if err != nil {
		return nil, err
	}
	var clusters []AffectedCluster
	for _, id := range selected {
		a := AffectedCluster{ID: id, Change: Changed, Files: now[id].differing(old[id])}
		switch {
		case now[id] == nil:
			a.Change = Removed
		case all || unknown[id]:
			a.Change, a.Files = Unknown, nil
		case old[id] == nil:
			a.Change = Added
		case len(a.Files) == 0:
			continue
		}
		clusters = append(clusters, a)
	}
	return clusters, nil
}

// differing returns the files that are not the same in both, sorted.
func (in Inputs) differing(other Inputs) []string {
	files := map[string]bool{}
	for _, pair := range [][2]Inputs{{in, other}, {other, in}} {
		for name, digest := range pair[0] {
			if pair[1][name] != digest {
				files[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(files))
}

// AffectedSince is [Compiler.Affected] with the fleet as it is in a commit of
// its git repository, which ref names in any way that git knows. The error is
// also that of a commit without the fleet.
func (c *Compiler) AffectedSince(ctx context.Context, ref string, patterns ...string) (clusters []AffectedCluster, untold, err error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, nil, err
	}
	dir, done, err := revision.Checkout(ctx, root, ref)
	defer done()
	if err != nil {
		return nil, nil, err
	}
	before := &Compiler{Dir: dir, Jobs: c.Jobs, Cache: c.Cache, Offline: c.Offline, Date: c.Date}
	return c.Affected(ctx, before, patterns...)
}
