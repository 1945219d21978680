package compiler

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/diff"
	"github.com/fleetc/fleetc/compiler/export"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/load"
	"github.com/fleetc/fleetc/compiler/render"
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
// When anything is wrong with the fleet as it is now, there is no result but its
// faults. What is wrong with what it was does not keep the other clusters from
// being compared: the error is then beside the result, which names those that
// are not. Faults of a commit have its name in front of their files.
func (c *Compiler) Diff(ctx context.Context, req DiffRequest) (*diff.Result, error) {
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
		was, err = c.openCommit(ctx, root, req.Commit)
	} else {
		was, err = openTree(&export.Tree{Dir: req.Tree, Fleet: module})
	}
	if err != nil {
		return nil, err
	}
	defer was.close()
	patterns, before := choose(req.Clusters, now, was.ids())
	d := &differ{DiffRequest: req, was: was, now: &Fleet{Fleet: &fleet.Fleet{}, jobs: c.jobs(), templates: &render.Charts{}}}
	if len(patterns) > 0 || len(req.Clusters) == 0 {
		if d.now, err = c.Load(ctx, patterns...); err != nil {
			return nil, err
		}
	}
	if err := was.load(ctx, before, d.now); err != nil {
		return nil, err
	}
	return d.compare(ctx, before)
}

// An earlier is what a fleet was.
type earlier interface {
	// ids returns the IDs of all clusters, sorted.
	ids() []string
	// load readies some clusters for objects; now is the fleet as it is, which may
	// be told what to keep.
	load(ctx context.Context, ids []string, now *Fleet) error
	// objects returns the objects of a cluster. Those that it has now are given,
	// none when it is gone.
	objects(ctx context.Context, cluster string, now []fleet.Object) ([]fleet.Object, error)
	close()
}

// A differ compares the clusters of a fleet.
type differ struct {
	DiffRequest
	was earlier
	now *Fleet
}

// choose returns those of the patterns that select clusters of the fleet as it
// is, and the IDs of clusters that they select before. One that selects none of
// either is among the former, for the fault that it is.
func choose(all, now, before []string) (patterns, chosen []string) {
	if len(all) == 0 {
		return nil, before
	}
	matches := func(pattern string) func(id string) bool {
		return func(id string) bool {
			ok, err := fleet.MatchCluster(load.CleanPattern(pattern), id)
			return ok || err != nil
		}
	}
	for _, p := range all {
		if slices.ContainsFunc(now, matches(p)) || !slices.ContainsFunc(before, matches(p)) {
			patterns = append(patterns, p)
		}
	}
	for _, id := range before {
		if slices.ContainsFunc(all, func(p string) bool { return matches(p)(id) }) {
			chosen = append(chosen, id)
		}
	}
	return patterns, chosen
}

// A difference is what changes in one cluster.
type difference struct {
	changes  []diff.Change
	objects  int // of both sides
	releases map[string]bool
	unknown  error // why the cluster as it was cannot be compared
}

// cluster compares one cluster, which was there before, or is there now, or both.
func (d *differ) cluster(ctx context.Context, id string, was bool, now *fleet.Cluster) (difference, error) {
	var out difference
	var before, after []fleet.Object
	if now != nil {
		b, err := d.now.compile(ctx, now)
		if err != nil {
			return out, err
		}
		after = b.Objects
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
		out.changes = slices.DeleteFunc(diff.Objects(before, after, d.Key), func(c diff.Change) bool {
			return d.Release != "" && c.Release != d.Release && c.FromRelease != d.Release
		})
	}
	return out, nil
}

// compare compares cluster by cluster, so that one of each side is in memory for
// each that is worked on at a time.
func (d *differ) compare(ctx context.Context, before []string) (*diff.Result, error) {
	after := map[string]*fleet.Cluster{}
	releases := map[string]bool{}
	for _, cl := range d.now.Clusters {
		after[cl.ID] = cl
		for _, r := range cl.Releases {
			releases[r.Name] = true
		}
	}
	ids := slices.Sorted(maps.Keys(after))
	for _, id := range before {
		if after[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	compared := ordered(ctx, d.now.jobs, len(ids), func(ctx context.Context, i int) (difference, error) {
		_, was := slices.BinarySearch(before, ids[i])
		out, err := d.cluster(ctx, ids[i], was, after[ids[i]])
		return out, diag.In(ids[i], err)
	})
	var groups diff.Grouper
	var created, deleted []diff.Whole
	var missing []string
	var faults, unknown diag.List
	i := 0
	for one, err := range compared {
		id := ids[i]
		i++
		faults.Add(err)
		maps.Copy(releases, one.releases)
		whole := diff.Whole{Cluster: id, Objects: one.objects}
		_, was := slices.BinarySearch(before, id)
		switch {
		case one.unknown != nil:
			missing = append(missing, id)
			unknown.Add(diag.In(id, one.unknown))
		case was && after[id] != nil:
			groups.Add(id, one.changes)
		case d.Release != "" && one.objects == 0:
		case was:
			deleted = append(deleted, whole)
		default:
			created = append(created, whole)
		}
		if d.Each != nil {
			d.Each(len(ids))
		}
	}
	if err := cmp.Or(ctx.Err(), faults.Err()); err != nil {
		return nil, err
	}
	if d.Release != "" && !releases[d.Release] && len(missing) == 0 {
		return nil, &diag.Diag{Msg: "no cluster has a release " + d.Release, Hint: diag.OneOf(d.Release, slices.Sorted(maps.Keys(releases)))}
	}
	result := groups.Result()
	result.Created, result.Deleted, result.NotCompared = created, deleted, missing
	return &result, unknown.Err()
}
