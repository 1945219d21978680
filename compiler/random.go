package compiler

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

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
