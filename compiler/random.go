package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// KeepSame gives every field with keep the same value in all clusters, so that comparisons
// ignore it. The value is base64 of "kept", which most fields accept.
func (f *Fleet) KeepSame() {
	same := func(fleet.Object, []string) (any, bool, error) { return "a2VwdA==", true, nil }
	f.Keep = func(context.Context, string) render.Keeper { return same }
}

// KeepLast gives fields with keep the values in the previous bundles of their clusters. last
// returns the objects of a cluster's previous bundle, nil if there is none.
func (f *Fleet) KeepLast(last func(cluster string) ([]fleet.Object, error)) {
	f.Keep = func(_ context.Context, cluster string) render.Keeper {
		return render.KeepFrom(func() ([]fleet.Object, error) { return last(cluster) })
	}
}

// Keeps returns the first release with a keep rule, nil if there is none. The bundle of
// such a release depends on the previous bundle.
func (f *Fleet) Keeps() *fleet.Release {
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			if slices.ContainsFunc(r.Random, func(d fleet.RandomField) bool { return d.Action == fleet.KeepRandom }) {
				return r
			}
		}
	}
	return nil
}
