package apply

import (
	"cmp"
	"context"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// A Test is one test hook of a release, and how it went.
type Test struct {
	Release string
	ID      string
	Err     error // why it failed; nil when it passed
}

// Test runs the test hooks of the releases in scope, under the lease of the
// cluster, and returns how they went, release by release. As in Helm, the first
// test of a release that fails ends those of the release. plan is that of the
// cluster. The error is about the cluster, or a release that does not run as the
// fleet has it.
func (t Target) Test(ctx context.Context, plan *Plan, tell func(Event)) ([]Test, error) {
	r, err := t.newRunner(plan, tell)
	if err != nil {
		return nil, err
	}
	byRelease := hooksOn(t.Bundle, "test", "test-success")
	var releases []*fleet.Release
	var faults diag.List
	for _, rel := range t.Bundle.Cluster.Releases {
		if !t.inScope(rel.Stage, rel.Name) || len(byRelease[rel.Name]) == 0 {
			continue
		}
		item := plan.helmItem(rel)
		releases = append(releases, rel)
		if recorded, ok := plan.inventory.Releases[rel.Name]; !ok || recorded != plan.settled.Releases[rel.Name] || item != nil && item.Action != Unchanged {
			faults.Add(&diag.Diag{At: []diag.Pos{rel.Pos}, Path: rel.Path(), Msg: "the cluster does not run this release as the fleet has it", Hint: "run fleetc apply first"})
		}
	}
	if err := faults.Err(); err != nil || len(releases) == 0 {
		return nil, err
	}
	if r.lease, err = r.hold(ctx); err != nil {
		return nil, err
	}
	var tests []Test
	for _, rel := range releases {
		of, terr := r.test(ctx, rel, byRelease[rel.Name])
		tests = append(tests, of...)
		if err = terr; err != nil {
			break
		}
	}
	return tests, cmp.Or(err, r.lease.Release(ctx))
}

// helmItem returns the item of a release that Helm delivers, nil of others.
func (p *Plan) helmItem(r *fleet.Release) *Item {
	if r.Delivery != fleet.ByHelm {
		return nil
	}
	for i := range p.Items {
		if it := &p.Items[i]; it.IsHelm() && it.Release == r.Name {
			return it
		}
	}
	return nil
}

// test runs the tests of one release.
func (r *runner) test(ctx context.Context, rel *fleet.Release, hooks []fleet.Object) (tests []Test, err error) {
	outer := r.tell
	defer func() { r.tell = outer }()
	r.tell = func(e Event) {
		if e.What == "hook" {
			tests = append(tests, Test{Release: rel.Name, ID: e.ID})
		}
		outer(e)
	}
	if it := r.plan.helmItem(rel); it != nil {
		err = it.located(r.helmRun(it).Test(ctx))
	} else {
		p := &planner{Target: r.Target}
		var items []*Item
		for _, o := range hooks {
			it := newHook(o, "test")
			if err := p.findHook(ctx, &it); err != nil {
				return nil, err
			}
			if it.Action == Refused {
				return nil, &diag.Diag{At: it.at, Path: it.ID, Msg: it.Reason, Hint: it.Hint}
			}
			items = append(items, &it)
		}
		err = r.hooks(ctx, items)
	}
	if ctx.Err() != nil || err != nil && len(tests) == 0 {
		return tests, cmp.Or(context.Cause(ctx), err)
	}
	if err != nil {
		tests[len(tests)-1].Err = err
	}
	return tests, nil
}
