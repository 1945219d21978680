package query

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// A DiffRequest says what of a fleet is compared, and with what: with an
// exported tree or, when Commit is not empty, with the fleet of a commit.
type DiffRequest struct {
	Clusters []string // patterns, see [fleet.MatchCluster], of clusters before or after; all when there are none
	Release  string   // whose objects are compared, those of all when empty
	Tree     string   // directory of an exported tree
	Commit   string   // of the git repository around the fleet, as git names it
	Key      []byte   // of the hashes that stand for values of Secrets, see [diff.Objects]

	// Each is called after each cluster with how many there are; nil for no call.
	Each func(of int)
}

// Diff compares the clusters of a fleet, as the files are now, with what they
// were: in an exported tree, or compiled from the files of a commit and the
// charts that these pin. Fields that a release keeps have the values that they
// had in the tree; with a commit, they are the same on both sides.
//
// With a commit, clusters that are not affected, see [Compiler.Affected], have
// no differences, and are compiled on neither side.
//
// When anything is wrong with the fleet as it is now, there is no result but its
// faults. What is wrong with what it was does not keep the other clusters from
// being compared: the error is then beside the result, which names those that
// are not. Faults of a commit have its name in front of their files.
func Diff(ctx context.Context, c *compiler.Compiler, req DiffRequest) (*diff.Result, error) {
	root, module, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	now, err := load.ClusterIDs(root)
	if err != nil {
		return nil, err
	}
	var was earlier
	if req.Commit != "" {
		was, err = openCommit(ctx, c, root, req.Commit)
	} else {
		was, err = openTree(&export.Tree{Dir: req.Tree, Fleet: module})
	}
	if err != nil {
		return nil, err
	}
	defer was.close()
	return diffStates(ctx, c, req, now, was)
}

// diff compares the clusters that there are now, of the given IDs, with what
// they were.
func diffStates(ctx context.Context, c *compiler.Compiler, req DiffRequest, now []string, was earlier) (*diff.Result, error) {
	selected, err := load.Select(load.UnionIDs(now, was.ids()), req.Clusters)
	if err != nil {
		return nil, err
	}
	affected, err := was.affected(ctx, c, selected)
	if err != nil {
		return nil, err
	}
	d := &differ{DiffRequest: req, compiler: c, was: was, selected: selected, affected: affected, before: load.CommonIDs(affected, was.ids())}
	if d.now, err = loadOf(ctx, c, load.CommonIDs(affected, now), now); err != nil {
		return nil, err
	}
	if err := was.load(ctx, d.before, d.now); err != nil {
		return nil, err
	}
	return d.compare(ctx)
}

// loadOf loads those of all clusters that have the given IDs.
func loadOf(ctx context.Context, c *compiler.Compiler, ids, all []string) (*compiler.Fleet, error) {
	if len(ids) == 0 && len(all) > 0 {
		return &compiler.Fleet{Fleet: &fleet.Fleet{}, Parallel: c.Parallel()}, nil
	}
	return c.Load(ctx, load.PatternsOf(ids, all)...)
}

// An earlier is what a fleet was.
type earlier interface {
	// ids returns the IDs of all clusters, sorted.
	ids() []string
	// affected returns those of the selected clusters of either side that can
	// differ from those that the compiler compiles, sorted: at least all that are
	// on one side only.
	affected(ctx context.Context, now *compiler.Compiler, selected []string) ([]string, error)
	// load readies some clusters for objects; now is the fleet as it is, which may
	// be told what to keep.
	load(ctx context.Context, ids []string, now *compiler.Fleet) error
	// objects returns the objects of a cluster. Those that it has now are given,
	// none when it is gone.
	objects(ctx context.Context, cluster string, now []fleet.Object) ([]fleet.Object, error)
	close()
}

// A differ compares the clusters of a fleet. All lists of IDs are sorted.
type differ struct {
	DiffRequest
	compiler *compiler.Compiler
	was      earlier
	now      *compiler.Fleet // the affected clusters that are there now
	selected []string        // of either side
	affected []string        // those of them that are compared
	before   []string        // those of them that were there before
}

// A difference is what changes in one cluster.
type difference struct {
	changes  []diff.Change
	ignored  []diff.Change
	objects  int // of both sides
	releases map[string]bool
	unknown  error // why the cluster as it was cannot be compared
}

// cluster compares one cluster, which was there before, or is there now, or both.
func (d *differ) cluster(ctx context.Context, id string, was bool, now *fleet.Cluster) (difference, error) {
	var out difference
	var before, after []fleet.Object
	if now != nil {
		var err error
		if after, _, err = d.now.CheckedObjects(ctx, now); err != nil {
			return out, err
		}
	}
	if was {
		var err error
		if before, err = d.was.objects(ctx, id, after); err != nil {
			out.unknown = err
			return out, ctx.Err()
		}
	}
	out.releases = map[string]bool{}
	for _, o := range slices.Concat(before, after) {
		out.releases[o.Release.Name] = true
		if d.Release == "" || o.Release.Name == d.Release {
			out.objects++
		}
	}
	if was && now != nil {
		other := func(c diff.Change) bool {
			return d.Release != "" && c.Release != d.Release && c.FromRelease != d.Release
		}
		out.changes, out.ignored = diff.ObjectsIgnoring(before, after, d.Key, now.IgnoreRules())
		out.changes, out.ignored = slices.DeleteFunc(out.changes, other), slices.DeleteFunc(out.ignored, other)
	}
	return out, nil
}

// compare compares cluster by cluster, so that one of each side is in memory for
// each that is worked on at a time.
func (d *differ) compare(ctx context.Context) (*diff.Result, error) {
	after := map[string]*fleet.Cluster{}
	releases := map[string]bool{}
	for _, cl := range d.now.Clusters {
		after[cl.ID] = cl
		addReleases(releases, cl)
	}
	compared := ordered.Map(ctx, d.now.Parallel, len(d.selected), func(ctx context.Context, i int) (difference, error) {
		id := d.selected[i]
		if !load.HasID(d.affected, id) {
			return difference{}, nil
		}
		out, err := d.cluster(ctx, id, load.HasID(d.before, id), after[id])
		return out, diag.In(id, err)
	})
	var groups diff.Grouper
	var created, deleted []diff.WholeCluster
	var missing []string
	var faults, unknown diag.List
	i := 0
	for one, err := range compared {
		id := d.selected[i]
		i++
		faults.Add(err)
		maps.Copy(releases, one.releases)
		whole := diff.WholeCluster{Cluster: id, Objects: one.objects}
		was, is := load.HasID(d.before, id), after[id] != nil
		switch {
		case one.unknown != nil:
			missing = append(missing, id)
			unknown.Add(diag.In(id, one.unknown))
		case was == is: // neither, when it is not affected
			groups.Add(id, one.changes)
			groups.AddIgnored(id, one.ignored)
		case d.Release != "" && one.objects == 0:
		case was:
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
	if d.Release != "" && !releases[d.Release] && len(missing) == 0 {
		if err := d.checkRelease(ctx, releases); err != nil {
			return nil, err
		}
	}
	result := groups.Result()
	result.Created, result.Deleted, result.NotCompared = created, deleted, missing
	return &result, unknown.Err()
}

// checkRelease returns a fault when no cluster has the release that is asked
// for. Those that were compared have the given ones; the others are evaluated.
func (d *differ) checkRelease(ctx context.Context, releases map[string]bool) error {
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
	return &diag.Diag{Msg: "no cluster has a release " + d.Release, Hint: diag.OneOf(d.Release, slices.Sorted(maps.Keys(releases)))}
}

// addReleases adds the names of a cluster's releases.
func addReleases(names map[string]bool, c *fleet.Cluster) {
	for _, r := range c.Releases {
		names[r.Name] = true
	}
}
