package query

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// DiffRequest selects the clusters to compare, and the state to compare with: an exported
// tree or, if Commit is not empty, the fleet of a commit.
type DiffRequest struct {
	Clusters []string // patterns, see [fleet.MatchCluster], for clusters in either state; empty for all
	Release  string   // the release to compare; empty for all
	Tree     string   // directory of an exported tree
	Commit   string   // git revision of the repository that contains the fleet
	Key      []byte   // of the hashes that replace values of Secrets, see [diff.Objects]
	Rehearse bool     // whether to make findings for reviewers, see [Rehearser]

	// DryRun adds findings of running clusters, see [DryRuns]; nil for none.
	DryRun *DryRunAccess

	// Each is called after each cluster with the number of clusters; it may be nil.
	Each func(of int)
}

// Diff compares the current clusters of a fleet with an old state: an exported tree, or
// the files of a commit, compiled with the charts that they pin. Random fields with keep
// have the values of the tree, or equal values in both states of a commit.
//
// With a commit, Diff compiles only affected clusters, see [incremental.Affected].
//
// If the current fleet has faults, Diff returns only them. If the old state of a cluster
// has faults, the error is returned beside the result, which lists the clusters that
// were not compared. In faults of a commit, file names begin with the commit.
func Diff(ctx context.Context, c *compiler.Compiler, req DiffRequest) (*diff.Result, error) {
	root, module, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	now, err := load.ClusterIDs(root)
	if err != nil {
		return nil, err
	}
	var old oldState
	if req.Commit != "" {
		old, err = openCommit(ctx, c, root, req.Commit)
	} else {
		old, err = openTree(&export.Tree{Dir: req.Tree, Fleet: module})
	}
	if err != nil {
		return nil, err
	}
	defer old.close()
	return diffStates(ctx, c, req, now, old)
}

// diffStates compares the current clusters, whose IDs are given, with an old state.
func diffStates(ctx context.Context, c *compiler.Compiler, req DiffRequest, now []string, old oldState) (*diff.Result, error) {
	selected, err := load.Select(load.UnionIDs(now, old.ids()), req.Clusters)
	if err != nil {
		return nil, err
	}
	affected, err := old.affected(ctx, c, selected)
	if err != nil {
		return nil, err
	}
	d := &differ{DiffRequest: req, compiler: c, old: old, selected: selected, affected: affected, before: load.CommonIDs(affected, old.ids())}
	if d.now, err = loadOf(ctx, c, load.CommonIDs(affected, now), now); err != nil {
		return nil, err
	}
	if err := old.load(ctx, d.before, d.now); err != nil {
		return nil, err
	}
	return d.compare(ctx)
}

// loadOf loads the clusters with the given IDs. all has the IDs of the whole fleet.
func loadOf(ctx context.Context, c *compiler.Compiler, ids, all []string) (*compiler.Fleet, error) {
	if len(ids) == 0 && len(all) > 0 {
		return &compiler.Fleet{Fleet: &fleet.Fleet{}, Parallel: c.Parallel()}, nil
	}
	return c.Load(ctx, load.PatternsOf(ids, all)...)
}

// oldState is an old state of a fleet.
type oldState interface {
	// ids returns the IDs of all clusters, sorted.
	ids() []string
	// affected returns the selected clusters that may differ between the states, sorted. It
	// includes all clusters that are in one state only.
	affected(ctx context.Context, now *compiler.Compiler, selected []string) ([]string, error)
	// load prepares clusters for objects. It may set the values for random fields in now, the
	// current fleet.
	load(ctx context.Context, ids []string, now *compiler.Fleet) error
	// current returns the objects of a cluster of the current fleet in the form to compare
	// with the old state, and the separate hooks.
	current(ctx context.Context, now *compiler.Fleet, c *fleet.Cluster) (objs, hooks []fleet.Object, err error)
	// state returns the old state of a cluster. now has its current objects, none if the
	// cluster was removed.
	state(ctx context.Context, cluster string, now []fleet.Object) (RehearsalSide, error)
	close()
}

// differ compares the clusters of two states of a fleet. All lists of IDs are sorted.
type differ struct {
	DiffRequest
	compiler *compiler.Compiler
	old      oldState
	now      *compiler.Fleet // the affected clusters in the current state
	selected []string        // clusters in either state
	affected []string        // selected clusters that are compared
	before   []string        // affected clusters in the old state
	comparer Rehearser
}

// clusterDiff is the changes in one cluster.
type clusterDiff struct {
	changes  []diff.Change
	ignored  []diff.Change
	findings []diff.Finding
	objects  int // in both states
	releases map[string]bool
	oldErr   error // why the old state of the cluster cannot be compared
}

// cluster compares one cluster. inOld is whether the old state has it, now is nil if the
// current state does not.
func (d *differ) cluster(ctx context.Context, id string, inOld bool, now *fleet.Cluster) (clusterDiff, error) {
	var out clusterDiff
	var before, after RehearsalSide
	if now != nil {
		var err error
		after = RehearsalSide{Cluster: now, CRDs: d.now.KnownCRDs[id], Charts: d.now.Charts}
		if after.Objects, after.Hooks, err = d.old.current(ctx, d.now, now); err != nil {
			return out, err
		}
	}
	if inOld {
		var err error
		if before, err = d.old.state(ctx, id, after.Objects); err != nil {
			out.oldErr = err
			return out, ctx.Err()
		}
	}
	out.releases = map[string]bool{}
	for _, o := range slices.Concat(before.Objects, after.Objects) {
		out.releases[o.Release.Name] = true
		if d.Release == "" || o.Release.Name == d.Release {
			out.objects++
		}
	}
	if inOld && now != nil {
		other := func(c diff.Change) bool {
			return d.Release != "" && c.Release != d.Release && c.FromRelease != d.Release
		}
		out.changes, out.ignored = diff.ObjectsIgnoring(before.Objects, after.Objects, d.Key, now.IgnoreRules())
		out.changes, out.ignored = slices.DeleteFunc(out.changes, other), slices.DeleteFunc(out.ignored, other)
		if d.Rehearse {
			out.findings = slices.DeleteFunc(d.comparer.Cluster(before, after), func(f diff.Finding) bool {
				return d.Release != "" && f.Release != d.Release
			})
		}
	}
	return out, nil
}

// compare compares the clusters in parallel. It holds the objects of at most Parallel
// clusters in memory.
func (d *differ) compare(ctx context.Context) (*diff.Result, error) {
	after := map[string]*fleet.Cluster{}
	releases := map[string]bool{}
	for _, cl := range d.now.Clusters {
		after[cl.ID] = cl
		addReleases(releases, cl)
	}
	compared := par.Map(ctx, d.now.Parallel, len(d.selected), func(ctx context.Context, i int) (clusterDiff, error) {
		id := d.selected[i]
		if !load.HasID(d.affected, id) {
			return clusterDiff{}, nil
		}
		out, err := d.cluster(ctx, id, load.HasID(d.before, id), after[id])
		return out, diag.In(id, err)
	})
	var groups diff.Grouper
	var findings []diff.Finding
	changed := ChangedReleases{}
	var created, deleted []diff.WholeCluster
	var missing []string
	var faults, oldFaults diag.List
	i := 0
	for one, err := range compared {
		id := d.selected[i]
		i++
		faults.Add(err)
		maps.Copy(releases, one.releases)
		whole := diff.WholeCluster{Cluster: id, Objects: one.objects}
		inOld, inNow := load.HasID(d.before, id), after[id] != nil
		switch {
		case one.oldErr != nil:
			missing = append(missing, id)
			oldFaults.Add(diag.In(id, one.oldErr))
		case inOld == inNow: // both false if it is not affected
			groups.Add(id, one.changes)
			groups.AddIgnored(id, one.ignored)
			findings = append(findings, one.findings...)
			changed.Add(id, one.changes)
		case d.Release != "" && one.objects == 0:
		case inOld:
			deleted = append(deleted, whole)
		default:
			created = append(created, whole)
		}
		if d.Each != nil {
			d.Each(len(d.selected))
		}
	}
	if err := cmp.Or(ctx.Err(), faults.Err()); err != nil {
		return nil, err
	}
	if err := d.checkRelease(ctx, releases); err != nil && len(missing) == 0 {
		return nil, err
	}
	result := groups.Result()
	result.Created, result.Deleted, result.NotCompared = created, deleted, missing
	return &result, cmp.Or(d.addFindings(ctx, &result, findings, changed), oldFaults.Err())
}

// addFindings adds the findings and, with DryRun, those of running clusters to the result.
func (d *differ) addFindings(ctx context.Context, result *diff.Result, found []diff.Finding, changed ChangedReleases) (err error) {
	result.Rehearsed, result.Findings = d.Rehearse, diff.GroupFindings(found)
	if d.DryRun != nil {
		result.Findings, err = DryRuns(ctx, d.now, changed, *d.DryRun, result.Findings)
	}
	return err
}

// checkRelease returns a fault if no selected cluster has the requested release. releases
// are those of the compared clusters; it evaluates the other clusters.
func (d *differ) checkRelease(ctx context.Context, releases map[string]bool) error {
	if d.Release == "" || releases[d.Release] {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(d.selected), func(id string) bool { return load.HasID(d.affected, id) })
	if len(others) > 0 {
		e := d.compiler.Evaluate(ctx, others)
		if e.Fleet == nil {
			return e.Faults
		}
		for _, cl := range e.All().Clusters {
			addReleases(releases, cl)
		}
	}
	if releases[d.Release] {
		return nil
	}
	return &diag.Diag{Code: diag.CodeNoMatch, Msg: "no cluster has a release " + d.Release, Hint: fleet.ReleaseHint(d.Release, slices.Sorted(maps.Keys(releases)))}
}

// addReleases adds the names of a cluster's releases.
func addReleases(names map[string]bool, c *fleet.Cluster) {
	for _, r := range c.Releases {
		names[r.Name] = true
	}
}
