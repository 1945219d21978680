package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
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
