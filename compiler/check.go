package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/source"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// checkValues checks the values of all releases against the types of their charts, or the
// parameters of their Jsonnet files. It reuses the checks of releases of an earlier fleet.
func (f *Fleet) checkValues(ctx context.Context, clusters *fleet.Fleet, earlier *Fleet) diag.List {
	type use struct {
		cluster string
		release *fleet.Release
		chart   LoadedChart
	}
	var uses []use
	for _, c := range clusters.Clusters {
		for _, r := range c.Releases {
			// Other sources have no values, and a chart may be missing.
			if ch, ok := f.Charts[r.Chart]; ok || r.Jsonnet != "" {
				uses = append(uses, use{c.ID, r, ch})
			}
		}
	}
	checked := par.Map(ctx, f.Parallel, len(uses), func(ctx context.Context, i int) (diag.List, error) {
		u := uses[i]
		if u.release.Jsonnet != "" {
			var faults diag.List
			err := f.jsonnet.Check(ctx, source.JsonnetRequest{File: u.release.Jsonnet, Params: u.release.Values.Value(), Release: u.release})
			faults.Add(diag.In(u.cluster, err))
			return faults, nil
		}
		return f.checkRelease(u.cluster, u.release, u.chart, earlier), nil
	})
	defer f.storeChecked()
	var faults diag.List
	for some, err := range checked {
		faults = append(faults, some...)
		faults.Add(err)
	}
	return faults
}

// valueCheck is the faults of the values of a release, by the types of a chart.
type valueCheck struct {
	types  *values.Type
	faults diag.List
}

// checkRelease removes the keys that nulls remove from the values of a release, and checks the
// values against the types of its chart.
func (f *Fleet) checkRelease(cluster string, r *fleet.Release, ch LoadedChart, earlier *Fleet) diag.List {
	if earlier != nil {
		if v, ok := earlier.checked.Load(r); ok && v.(valueCheck).types == ch.Types {
			f.checked.Store(r, v)
			return v.(valueCheck).faults
		}
	}
	ch.Types.RemoveKeys(r.Values)
	check := ch.Types.Check
	if r.Typed {
		check = ch.Types.CheckTyped
	}
	var faults diag.List
	for _, d := range check(r.Values, r.Open) {
		faults.Add(diag.In(cluster, ofRelease(r, d)))
	}
	f.checked.Store(r, valueCheck{ch.Types, faults})
	return faults
}

// withoutCovered returns the faults of the evaluation without those for which the check of
// types has a better fault: at the same path or line of the same cluster.
func withoutCovered(evaluation error, checked diag.List) error {
	type place struct {
		cluster, path string
		pos           diag.Pos
	}
	covered := map[place]bool{}
	for _, d := range checked {
		for _, c := range d.Clusters {
			covered[place{cluster: c, path: d.Path}] = true
			covered[place{cluster: c, pos: d.At[0]}] = true
		}
	}
	var out diag.List
	for _, d := range diag.All(evaluation) {
		path, left := diag.ValuesPath(d.Path), *d
		left.Clusters = slices.DeleteFunc(slices.Clone(d.Clusters), func(c string) bool {
			return covered[place{cluster: c, path: path}] || len(d.At) > 0 && covered[place{cluster: c, pos: d.At[0]}]
		})
		if len(left.Clusters) > 0 || len(d.Clusters) == 0 {
			out = append(out, &left)
		}
	}
	return out.Err()
}

// ofRelease adds the path of the release to a fault, and its line if the fault has no
// position.
func ofRelease(r *fleet.Release, d *diag.Diag) *diag.Diag {
	out := *d
	out.Path = r.Path(d.Path)
	out.Fixes = slices.Clone(d.Fixes)
	for i, f := range out.Fixes {
		if f.Kind == diag.FixWaiver {
			out.Fixes[i].Path = r.Path(f.Path)
		}
	}
	if len(out.At) == 0 {
		out.At = []diag.Pos{r.Pos}
	}
	return &out
}

// storeChecked stores types that became more complete.
func (f *Fleet) storeChecked() {
	for _, ch := range f.Charts {
		if ch.Types.Grown() {
			f.Results.StoreTypes(ch.Chart, ch.Types)
		}
	}
}

// CheckWritten checks the objects, patches and ownership of the releases whose objects are
// all written in CUE, without rendering other releases. [Fleet.Bundles] finds the same
// faults. The error is a diag.List in the order of clusters.
func (f *Fleet) CheckWritten(ctx context.Context) error {
	var faults diag.List
	for _, err := range par.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) (struct{}, error) {
		var faults diag.List
		c := f.Clusters[i]
		for _, r := range c.Releases {
			if isWritten(r) {
				faults.Add(f.checkWritten(ctx, c, r))
			}
		}
		return struct{}{}, fleet.InCluster(c, faults.Err())
	}) {
		faults.Add(err)
	}
	return faults.Err()
}

// isWritten reports whether all objects of a release are written in CUE.
func isWritten(r *fleet.Release) bool {
	return r.Chart == (fleet.ChartRef{}) && r.Jsonnet == "" && r.Kustomize == "" && r.Manifests == ""
}

func (f *Fleet) checkWritten(ctx context.Context, c *fleet.Cluster, r *fleet.Release) error {
	rendered := f.renderOne(ctx, c, r, f.served(c))
	if rendered.Err != nil {
		return rendered.Err
	}
	objs, err := objects.PatchRelease(c, r, slices.Concat(rendered.Result.Objects, rendered.Result.Hooks))
	if err != nil {
		return err
	}
	objs = slices.DeleteFunc(objs, func(o fleet.Object) bool { return o.Unapplied })
	var faults diag.List
	faults.Add(objects.CheckOwnership(c, r, objs, slices.Concat(objs, f.KnownCRDs[c.ID])))
	for i, o := range objs {
		objs[i] = f.Kinds.Unmarked(o)
	}
	faults.Add(f.Kinds.Alone(c, objs))
	return faults.Err()
}
