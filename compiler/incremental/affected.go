package incremental

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/revision"
	"github.com/fleetc/fleetc/compiler/stage/load"
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

	// Files are those of its inputs that differ, sorted: those of its layers
	// alone when some of these do, since more is then not looked for. There are
	// none when it is unknown.
	Files []string
}

// A ChangeReport is the clusters of two states of a fleet, by what changed between
// them.
type ChangeReport struct {
	Affected  []AffectedCluster // sorted by ID
	Unchanged []*fleet.Cluster  // evaluated; no charts are looked at
	Untold    error             // the faults of the earlier state, nil when there are none
}

// Affected compares the inputs of clusters with those in an earlier state of
// the fleet, which before compiles, of the clusters that the patterns select in
// either. Those whose inputs are not the same are affected. The bundles
// of all others are what they were, see [Inputs].
//
// A cluster of which files of the layers differ is affected, whatever these say:
// it is not evaluated. One whose layers are the same is, once for both states,
// since it has the same releases in both; what these are read from is compared.
//
// The clusters that the faults of the earlier state concern, all when they concern
// none, are Unknown. The error has the faults of this state, as far as it was looked
// at.
func Affected(ctx context.Context, c *compiler.Compiler, before *compiler.Compiler, patterns ...string) (report ChangeReport, err error) {
	ids, err := c.ClusterIDs()
	if err != nil {
		return report, err
	}
	oldIDs, untold := before.ClusterIDs()
	selected, err := load.Select(load.UnionIDs(ids, oldIDs), patterns)
	if err != nil {
		return report, err
	}
	now, err := readLayersOf(c, selected, ids)
	defer now.close()
	if err != nil {
		return report, err
	}
	old := &layered{}
	if untold == nil {
		old, untold = readLayersOf(before, selected, oldIDs)
		defer old.close()
	}
	same := c.Unify(ctx, now.sameLayers(old), nil)
	if same.Faults != nil {
		return report, same.Faults
	}
	err = now.addSources(ctx, same.Clusters)
	var faults diag.List // of the earlier state
	faults.Add(untold)
	faults.Add(old.addSources(ctx, same.Clusters))
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return report, err
	}
	report = ChangeReport{Affected: differing(selected, now.inputs, old.inputs, faults), Untold: faults.Err()}
	for _, cluster := range same.Clusters {
		if !slices.ContainsFunc(report.Affected, func(a AffectedCluster) bool { return a.ID == cluster.ID }) {
			report.Unchanged = append(report.Unchanged, cluster)
		}
	}
	return report, nil
}

// readLayersOf reads the layers of those of the selected clusters that are among
// all.
func readLayersOf(c *compiler.Compiler, selected, all []string) (*layered, error) {
	ids := load.CommonIDs(selected, all)
	if len(ids) == 0 && len(all) > 0 {
		return &layered{fleet: &load.Fleet{}}, nil
	}
	return readLayers(c, load.PatternsOf(ids, all))
}

// sameLayers returns the fleet with those of its clusters whose layers are the same
// in the other one.
func (l *layered) sameLayers(other *layered) *load.Fleet {
	f := *l.fleet
	f.Clusters = slices.DeleteFunc(slices.Clone(f.Clusters), func(c load.Cluster) bool {
		was := other.inputs[c.ID]
		return was == nil || !maps.Equal(l.inputs[c.ID], was)
	})
	return &f
}

// differing returns those of the selected clusters whose inputs were others, or
// are not known because of faults.
func differing(selected []string, now, old map[string]Inputs, untold diag.List) []AffectedCluster {
	unknown := map[string]bool{}
	all := false
	for _, d := range untold {
		all = all || len(d.Clusters) == 0
		for _, id := range d.Clusters {
			unknown[id] = true
		}
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
	return clusters
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
func AffectedSince(ctx context.Context, c *compiler.Compiler, ref string, patterns ...string) (report ChangeReport, err error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return report, err
	}
	changed, err := revision.Changed(ctx, root, ref)
	if err != nil {
		return report, err
	}
	if len(changed) == 0 {
		ids, err := load.ClusterIDs(root)
		if err == nil {
			_, err = load.Select(ids, patterns) // for the fault of one that selects nothing
		}
		return report, err
	}
	dir, done, err := revision.Checkout(ctx, root, ref)
	defer done()
	if err != nil {
		return report, err
	}
	before := &compiler.Compiler{Dir: dir, Jobs: c.Jobs, Cache: c.Cache, Offline: c.Offline, Date: c.Date}
	report, err = Affected(ctx, c, before, patterns...)
	report.Untold = revision.Faults(dir, diag.Visible(ref, diag.MaxText), report.Untold)
	return report, err
}
