package incremental

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// ClusterChange says why the bundle of a cluster may differ from the old one.
type ClusterChange string

// The reasons.
const (
	Changed ClusterChange = "changed" // its inputs differ
	Added   ClusterChange = "added"   // it is new
	Removed ClusterChange = "removed" // it no longer exists
	Unknown ClusterChange = "unknown" // its old inputs cannot be determined
)

// AffectedCluster is a cluster whose bundle may differ from the old one. Its JSON field
// names are stable.
type AffectedCluster struct {
	ID     string        `json:"cluster"`
	Change ClusterChange `json:"change,omitempty"`

	// Files are the inputs that differ, sorted; never nil. When files of its layers
	// differ, only these are listed: other inputs are not compared. For Added and Removed,
	// files that another selected cluster has in the other state are not listed. It is empty
	// for Unknown.
	Files []string `json:"files"`
}

// ChangeReport divides the clusters of two states of a fleet into affected and unchanged
// ones.
type ChangeReport struct {
	Affected  []AffectedCluster // sorted by ID
	Unchanged []*fleet.Cluster  // evaluated, without charts
	OldFaults error             // the faults of the old state, nil when there are none
}

// Affected compares the inputs of clusters with their inputs in an old state of the
// fleet, which before compiles. The patterns select clusters in either state. Clusters
// with different inputs are affected; the bundles of all others are unchanged, see
// [Inputs].
//
// If files of its layers differ, a cluster is affected and is not evaluated. If not, it has
// the same releases in both states, so it is evaluated once and the files of its releases
// are compared.
//
// Clusters with faults in the old state are Unknown; a fault that names no cluster makes
// all of them Unknown. The error has the faults found in the new state.
func Affected(ctx context.Context, c *compiler.Compiler, before *compiler.Compiler, patterns ...string) (report ChangeReport, err error) {
	ids, err := c.ClusterIDs()
	if err != nil {
		return report, err
	}
	oldIDs, oldErr := before.ClusterIDs()
	selected, err := load.Select(load.UnionIDs(ids, oldIDs), patterns)
	if err != nil {
		return report, err
	}
	now, err := readLayersOf(c, selected, ids)
	defer now.close()
	if err != nil {
		return report, err
	}
	old := &layerInputs{}
	if oldErr == nil {
		old, oldErr = readLayersOf(before, selected, oldIDs)
		defer old.close()
	}
	same := c.Unify(ctx, now.sameLayers(old), nil)
	if same.Faults != nil {
		return report, same.Faults
	}
	err = now.addSources(ctx, same.Clusters)
	var faults diag.List // of the old state
	faults.Add(oldErr)
	faults.Add(old.addSources(ctx, same.Clusters))
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return report, err
	}
	report = ChangeReport{Affected: affectedClusters(selected, now.inputs, old.inputs, faults), OldFaults: faults.Err()}
	for _, cluster := range same.Clusters {
		if !slices.ContainsFunc(report.Affected, func(a AffectedCluster) bool { return a.ID == cluster.ID }) {
			report.Unchanged = append(report.Unchanged, cluster)
		}
	}
	return report, nil
}

// readLayersOf reads the layers of the selected clusters that are in all.
func readLayersOf(c *compiler.Compiler, selected, all []string) (*layerInputs, error) {
	ids := load.CommonIDs(selected, all)
	if len(ids) == 0 && len(all) > 0 {
		return &layerInputs{fleet: &load.Fleet{}}, nil
	}
	return readLayers(c, load.PatternsOf(ids, all))
}

// sameLayers returns the fleet with only the clusters whose layers are equal in the
// other fleet.
func (l *layerInputs) sameLayers(other *layerInputs) *load.Fleet {
	f := *l.fleet
	f.Clusters = slices.DeleteFunc(slices.Clone(f.Clusters), func(c load.Cluster) bool {
		old := other.inputs[c.ID]
		return old == nil || !maps.Equal(l.inputs[c.ID], old)
	})
	return &f
}

// affectedClusters returns the selected clusters whose inputs differ, or whose old inputs
// are unknown because of faults.
func affectedClusters(selected []string, now, old map[string]Inputs, oldFaults diag.List) []AffectedCluster {
	unknown := map[string]bool{}
	all := false
	for _, d := range oldFaults {
		all = all || len(d.Clusters) == 0
		for _, id := range d.Clusters {
			unknown[id] = true
		}
	}
	var clusters []AffectedCluster
	for _, id := range selected {
		a := AffectedCluster{ID: id, Change: Changed, Files: append([]string{}, now[id].changedFiles(old[id])...)}
		switch {
		case now[id] == nil:
			a.Change, a.Files = Removed, old[id].filesNotIn(now)
		case all || unknown[id]:
			a.Change, a.Files = Unknown, []string{}
		case old[id] == nil:
			a.Change, a.Files = Added, now[id].filesNotIn(old)
		case len(a.Files) == 0:
			continue
		}
		clusters = append(clusters, a)
	}
	return clusters
}

// changedFiles returns the files that differ between the two, sorted.
func (in Inputs) changedFiles(other Inputs) []string {
	all := Inputs{}
	maps.Copy(all, in)
	maps.Copy(all, other)
	maps.DeleteFunc(all, func(name, _ string) bool { return in[name] == other[name] })
	return all.names()
}

// filesNotIn returns the files that no cluster of the other state has with the same content,
// sorted.
func (in Inputs) filesNotIn(other map[string]Inputs) []string {
	return slices.DeleteFunc(append([]string{}, in.names()...), func(name string) bool {
		for _, inputs := range other {
			if inputs[name] == in[name] {
				return true
			}
		}
		return false
	})
}

// AffectedSince is [Affected] with the fleet of a git commit as the old state. ref is any
// revision that git understands. It fails if the commit does not contain the fleet.
func AffectedSince(ctx context.Context, c *compiler.Compiler, ref string, patterns ...string) (report ChangeReport, err error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return report, err
	}
	changed, err := git.Changed(ctx, root, ref)
	if err != nil {
		return report, err
	}
	if len(changed) == 0 {
		ids, err := load.ClusterIDs(root)
		if err == nil {
			_, err = load.Select(ids, patterns) // fails for a pattern that selects nothing
		}
		return report, err
	}
	dir, done, err := git.Checkout(ctx, root, ref)
	defer done()
	if err != nil {
		return report, err
	}
	before := &compiler.Compiler{Dir: dir, Jobs: c.Jobs, Cache: c.Cache, Offline: c.Offline, Date: c.Date}
	report, err = Affected(ctx, c, before, patterns...)
	report.OldFaults = git.RevisionFaults(dir, diag.Visible(ref, diag.MaxText), report.OldFaults)
	return report, err
}
