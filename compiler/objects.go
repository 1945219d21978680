package compiler

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// KeepSame gives every field with keep the same value in all clusters, so that comparisons
// ignore it. Checks see the rendered values.
func (f *Fleet) KeepSame() {
	same := func(fleet.Object, []string) (any, bool, error) { return fleet.KeptText, true, nil }
	f.Keep, f.keepsPlaceholders = func(context.Context, *fleet.Cluster) render.Keeper { return same }, true
}

// KeepLast gives fields with keep the values in the previous bundles of their clusters. last
// returns the objects of a cluster's previous bundle, nil if there is none. A value that an
// export in the layout encrypts, or the previous one has encrypted, is [fleet.KeptText].
func (f *Fleet) KeepLast(layout fleet.Layout, last func(cluster string) ([]fleet.Object, error)) {
	f.Last, f.keepsPlaceholders = last, false
	f.Keep = func(_ context.Context, c *fleet.Cluster) render.Keeper {
		keep := render.KeepFrom(func() ([]fleet.Object, error) { return last(c.ID) })
		return func(o fleet.Object, field []string) (any, bool, error) {
			before, _, err := keep(o, nil)
			object, _ := before.(map[string]any)
			isEncrypted := o.Encryption(c, layout) != fleet.NoEncryption || fleet.IsEncrypted(&unstructured.Unstructured{Object: object})
			if err == nil && isEncrypted && fleet.IsSecretData(o.Unstructured, field) {
				return fleet.KeptText, true, nil
			}
			return keep(o, field)
		}
	}
}

// Keeps returns the first release with a keep rule, nil if there is none. The bundle of
// such a release depends on the previous bundle.
func (f *Fleet) Keeps() *fleet.Release {
	for _, c := range f.Clusters {
		if i := slices.IndexFunc(c.Releases, (*fleet.Release).Keeps); i >= 0 {
			return c.Releases[i]
		}
	}
	return nil
}
