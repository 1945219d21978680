package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// ChartOf returns the chart of a release, nil when it has none.
func (f *Fleet) ChartOf(r *fleet.Release) *fleet.Chart { return f.Charts[r.Chart].Chart }

// Probe implements [origin.Renderer].
func (f *Fleet) Probe(ctx context.Context, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string, o fleet.Object) (*render.Probe, error) {
	return f.Templates.Probe(ctx, c, r, ch, apis, o)
}

// Origin returns the origin of an object of the rendering.
func (f *Fleet) Origin(ctx context.Context, all *ClusterRendering, o fleet.Object, field []string) (*origin.Origin, error) {
	rendered, _ := all.rendered(o.Release)
	return origin.Of(ctx, f, rendered, o, field)
}

// rendered returns how a release was rendered, false when it was not.
func (all *ClusterRendering) rendered(r *fleet.Release) (origin.RenderedRelease, bool) {
	i := slices.Index(all.Releases, r)
	if i < 0 {
		return origin.RenderedRelease{}, false
	}
	one := all.Renderings[i]
	return origin.RenderedRelease{Cluster: all.Cluster, Release: r, SeenAPIs: one.SeenAPIs, Result: one.Result}, true
}

// RenderWith renders a release of the cluster once more, with other values, and returns the
// rendering of this release. It stores no results.
func (f *Fleet) RenderWith(ctx context.Context, all *ClusterRendering, r *fleet.Release, values *fleet.Tree) (*ClusterRendering, error) {
	changed := *r
	changed.Values, changed.Patches = values, slices.Clone(r.Patches)
	for i := range changed.Patches {
		changed.Patches[i].Optional = true // the values decide which objects there are
	}
	in, ok := all.rendered(r)
	if !ok || f.ChartOf(r) == nil && r.Jsonnet == "" {
		return nil, nil //nolint:nilnil // there are no values
	}
	result, err := par.Recover(func() (render.Result, error) {
		if r.Jsonnet != "" {
			return f.EvaluateJsonnet(ctx, all.Cluster, &changed, in.SeenAPIs)
		}
		return f.Templates.Release(ctx, all.Cluster, &changed, f.ChartOf(r), in.SeenAPIs)
	})
	if err != nil {
		return nil, err
	}
	// The CRDs of other releases decide which objects have a namespace.
	whole := &ClusterRendering{Cluster: all.Cluster, Releases: slices.Clone(all.Releases), Renderings: slices.Clone(all.Renderings)}
	i := slices.Index(all.Releases, r)
	whole.Releases[i], whole.Renderings[i] = &changed, Rendering{done: true, SeenAPIs: in.SeenAPIs, Result: result}
	whole.place(&f.Kinds)
	return &ClusterRendering{Cluster: all.Cluster, Releases: whole.Releases[i : i+1], Renderings: whole.Renderings[i : i+1]}, nil
}
