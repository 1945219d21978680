package compiler

import (
	"cmp"
	"context"
	"iter"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/unify"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// Load runs the first half of the pipeline for the clusters that the patterns select. The
// error holds the faults of all clusters and charts.
func (c *Compiler) Load(ctx context.Context, patterns ...string) (*Fleet, error) {
	evaluated := c.Evaluate(ctx, patterns) // load, unify
	return c.LoadEvaluated(ctx, evaluated) // chart, values
}

// LoadEvaluated finds the charts of evaluated clusters and checks their values.
func (c *Compiler) LoadEvaluated(ctx context.Context, e Evaluation) (*Fleet, error) {
	if e.Fleet == nil {
		return nil, e.Faults
	}
	f := &Fleet{
		Fleet: e.Fleet, Parallel: c.Parallel(), Results: c.Results(), bundles: &objects.Assembler{Fleet: e.Module},
		renderer: renderer{
			Templates: &render.Charts{}, Slots: make(chan struct{}, c.Parallel()), unshared: c.unshared,
		},
		checks:    checks{policies: validate.PolicyChecker{Limits: c.Limits}, date: c.Date},
		renderLog: renderLog{takeNotes: c.Kubernetes == "" && len(c.Edits) == 0},
	}
	if c.ReuseFrom != nil && c.ReuseFrom.Templates != nil {
		f.Templates = c.ReuseFrom.Templates
	}
	f.remotes = NewRemoteReader(e.Dir, c.Source(e.Dir), f.Templates)
	var faults diag.List
	faults.Add(f.initJsonnet(e.All()))
	var err error
	f.crds.Earlier = f.Results
	f.Charts, err = c.FindCharts(ctx, f.Results, e.Dir, f.ChartUsers(ctx, e.All()))
	faults.Add(err)
	faults.Add(f.readCRDs())
	wrong := unify.SharedLines(e.All().Clusters, f.checkValues(ctx, e.All(), c.ReuseFrom), f.gitVersion)
	checked := diag.All(fleet.WithForms(diag.MisreadCUE(e.Dir, wrong).Err(), e.All().Clusters, true))
	faults.Add(checked.Err())
	faults.Add(withoutCovered(e.Faults, checked))
	return f, faults.Err()
}

// gitVersion returns the version in the Chart.yaml of a chart from git; empty for another chart, and
// for one that is not found.
func (f *Fleet) gitVersion(ref fleet.ChartRef) string {
	if ch, ok := f.Charts[ref]; ok && ch.Chart != nil && ref.Git.URL != "" {
		return ch.Metadata().Version
	}
	return ""
}

// FindCharts finds each chart of a fleet once.
func (c *Compiler) FindCharts(ctx context.Context, results *cache.Store, root string, users map[fleet.ChartRef]*fleet.ChartUse) (map[fleet.ChartRef]LoadedChart, error) {
	const atATime = 8 // limits the requests to a repository
	source := c.Source(root)
	refs := fleet.SortedRefs(users)
	var earlier map[fleet.ChartRef]LoadedChart
	if c.ReuseFrom != nil {
		earlier = c.ReuseFrom.Charts
	}
	found := par.Map(ctx, atATime, len(refs), func(ctx context.Context, i int) (LoadedChart, error) {
		reused, ok := earlier[refs[i]]
		if ok && (c.SameCharts || refs[i].Digest != "") {
			return reused, nil
		}
		ch, err := source.Chart(ctx, refs[i])
		if err != nil {
			return LoadedChart{}, users[refs[i]].Blame(err)
		}
		if ok && reused.Digest == ch.Digest {
			return reused, nil
		}
		types, err := results.Types(ch)
		if err == nil {
			err = types.Complete(ch)
		}
		if err != nil {
			return LoadedChart{}, users[refs[i]].Blame(err)
		}
		return LoadedChart{Chart: ch, Types: types, usedAPIs: render.UsedAPIsOf(ch)}, nil
	})
	charts := map[fleet.ChartRef]LoadedChart{}
	var faults diag.List
	for ch, err := range found {
		if faults.Add(err); err == nil {
			charts[ch.Ref] = ch
		}
	}
	return charts, faults.Err()
}

// Bundles runs the second half of the pipeline and yields the bundles of the clusters in
// the order of their IDs, or the faults of a cluster in place of its bundle. It holds at
// most Parallel bundles in memory.
func (f *Fleet) Bundles(ctx context.Context) iter.Seq2[*fleet.Bundle, error] {
	return par.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) (*fleet.Bundle, error) {
		b, err := f.Compile(ctx, f.Clusters[i])
		return b, fleet.InCluster(f.Clusters[i], err)
	})
}

// Compile renders one cluster, checks its objects and returns its bundle.
func (f *Fleet) Compile(ctx context.Context, c *fleet.Cluster) (*fleet.Bundle, error) {
	b, err := f.Assemble(ctx, c)
	if err != nil {
		return nil, err
	}
	f.NoteRendered(c)
	return b, nil
}

// Assemble is [Fleet.Compile] that also returns the bundle when checks found faults,
// for further checks. It returns nil when a release does not render.
func (f *Fleet) Assemble(ctx context.Context, c *fleet.Cluster) (*fleet.Bundle, error) {
	var faults diag.List
	rendered, objs, err := f.checkedObjects(ctx, c)
	if faults.Add(err); err != nil && objs == nil {
		return nil, faults.Err()
	}
	var pins []fleet.Pin
	for _, r := range c.Releases {
		if ch := f.Charts[r.Chart]; ch.Chart != nil {
			pin := fleet.Pin{Release: r.Name, Chart: ch.Ref}
			pin.Chart.Digest = cmp.Or(ch.Ref.Digest, ch.Digest)
			pins = append(pins, pin)
		}
	}
	b, err := f.bundles.Assemble(c, objs, pins)
	if b != nil {
		b.Hooks, b.Checks = rendered.hooks, rendered.checks
	}
	if len(faults) == 0 { // the checks of objects have better faults
		faults.Add(err)
	}
	return b, faults.Err()
}
