package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/secret"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// CheckedObjects renders the objects and the separate hooks of a cluster and checks the
// objects. It returns objects beside the faults of checks, and none when a release does
// not render.
func (f *Fleet) CheckedObjects(ctx context.Context, c *fleet.Cluster) (objs, hooks []fleet.Object, err error) {
	rendered, objs, err := f.checkedObjects(ctx, c)
	if objs == nil {
		return nil, nil, err
	}
	return objs, rendered.hooks, err
}

// checkedObjects is [Fleet.CheckedObjects]. The rendering has the hooks, and the checks of
// the targets of patches.
func (f *Fleet) checkedObjects(ctx context.Context, c *fleet.Cluster) (rendered *ClusterRendering, objs []fleet.Object, err error) {
	rendered, err = f.Render(ctx, c) // render
	if err != nil {
		return nil, nil, err
	}
	var keep render.Keeper
	if f.Keep != nil && !f.keepsPlaceholders {
		keep = f.Keep(ctx, c)
	}
	objs, err = rendered.Objects(&f.Kinds, keep) // patch
	if objs == nil && err != nil {
		return nil, nil, err
	}
	var faults diag.List
	faults.Add(err)
	derived, err := f.derivedSecrets(ctx, c, rendered)
	faults.Add(err)
	all := slices.Concat(objs, rendered.hooks)
	faults.Add(secret.Check(c, all, derived))
	all, err = secret.External(c, all)
	faults.Add(err)
	objs = all[:len(objs)]
	if err := f.check(ctx, c, objs); err != nil { // validate, policy
		faults.Add(f.blamer.Blame(ctx, f, rendered.rendered, err))
	}
	if f.keepsPlaceholders && slices.ContainsFunc(c.Releases, (*fleet.Release).Keeps) {
		if objs, err = rendered.Objects(&f.Kinds, f.Keep(ctx, c)); err == nil {
			objs, err = secret.External(c, objs)
		}
		if len(faults) == 0 {
			faults.Add(err)
		}
	}
	return rendered, objs, faults.Err()
}

// check checks the objects of a cluster.
func (f *Fleet) check(ctx context.Context, c *fleet.Cluster, objs []fleet.Object) error {
	var faults diag.List
	byKind := f.Kinds.Objects(c, objs)
	byCRD := f.crds.Objects(c, objs, f.KnownCRDs[c.ID])
	faults.Add(validate.WithoutCRDs(byKind, byCRD))
	faults.Add(byCRD)
	faults.Add(f.policies.Objects(ctx, c, objs, f.date))
	return faults.Err()
}
