package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/objects"
)

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
