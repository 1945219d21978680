package apply

import (
	"cmp"
	"context"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Test is the result of one test hook of a release. Its JSON field names are stable.
type Test struct {
	Cluster string   `json:"cluster"` // ID
	Release string   `json:"release"`
	ID      string   `json:"id"`
	Passed  bool     `json:"passed"`
	Faults  []string `json:"faults"` // of Err

	Err error `json:"-"` // why it failed; nil when it passed
}

// Test runs the test hooks of the releases in scope under the cluster's lease, and
// returns their results by release. As in Helm, the first failed test of a release
// skips its other tests. plan is a plan of the cluster. An error concerns the
// cluster, or a release that is not up to date.
func (t Target) Test(ctx context.Context, plan *Plan, report func(Event)) ([]Test, error) {
	r, err := t.newRunner(plan, report)
	if err != nil {
		return nil, err
	}
	byRelease := hooksOn(t.withSecrets(), "test", "test-success")
	var releases []*fleet.Release
	var faults diag.List
	for _, rel := range t.Bundle.Cluster.Releases {
		if !t.inScope(rel.Stage, rel.Name) || len(byRelease[rel.Name]) == 0 {
			continue
		}
		item := plan.helmItem(rel)
		releases = append(releases, rel)
		if recorded, ok := plan.inventory.Releases[rel.Name]; !ok || recorded != plan.next.Releases[rel.Name] || item != nil && item.Action != Unchanged {
			faults.Add(&diag.Diag{
				Code: diag.CodeNotCurrent, At: []diag.Pos{rel.Pos}, Path: rel.Path(),
				Msg:  "the cluster does not run this release as the fleet has it",
				Hint: "run fleetc apply first",
			})
		}
	}
	if err := faults.Err(); err != nil || len(releases) == 0 {
		return nil, err
	}
	if r.lease, err = r.acquireLease(ctx); err != nil {
		return nil, err
	}
	defer r.lease.Release(ctx)
	var tests []Test
	for _, rel := range releases {
		of, err := r.test(ctx, rel, byRelease[rel.Name])
		if tests = append(tests, of...); err != nil {
			return tests, err
		}
	}
	return tests, nil
}

// helmItem returns the item of a release that Helm delivers, nil for others.
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
	outer := r.report
	defer func() { r.report = outer }()
	r.report = func(e Event) {
		if e.What == "hook" {
			tests = append(tests, Test{Cluster: r.plan.Cluster, Release: rel.Name, ID: e.ID, Passed: true, Faults: []string{}})
		}
		outer(e)
	}
	if it := r.plan.helmItem(rel); it != nil {
		err = it.withPosition(r.helmRun(it).Test(ctx))
	} else {
		p := &planner{Target: r.Target}
		var items []*Item
		for _, o := range hooks {
			it := newHook(o, "test")
			if err := p.findHook(ctx, &it); err != nil {
				return nil, err
			}
			if it.Action == Refused {
				return nil, &diag.Diag{Code: diag.CodeObjectRefused, At: it.positions, Path: it.ID, Msg: it.Reason, Hint: it.Hint}
			}
			items = append(items, &it)
		}
		err = r.hooks(ctx, items)
	}
	if ctx.Err() != nil || err != nil && len(tests) == 0 {
		return tests, cmp.Or(context.Cause(ctx), err)
	}
	if err != nil {
		failed := &tests[len(tests)-1]
		failed.Passed, failed.Err = false, diag.In(r.plan.Cluster, testFault(err))
		failed.Faults = diag.Texts(failed.Err)
	}
	return tests, nil
}

// testFault returns err with the code of failed tests for hooks that did not succeed.
func testFault(err error) error {
	return diag.Changed(err, func(d *diag.Diag) {
		if d.Code == diag.CodeNotReady {
			d.Code = diag.CodeTestFailed
		}
	})
}
