package compiler

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// maxRounds limits how often charts are rendered again because the CRDs of others changed.
const maxRounds = 10

// A renderRun is the state of rendering the releases of a cluster.
type renderRun struct {
	*Fleet
	all     *ClusterRendering
	compare func(a, b *fleet.Release) int
	served  []string          // API versions of the cluster without the CRDs of its releases
	used    []render.UsedAPIs // by release
	early   []Rendering       // of releases that ask for API versions, when no other release was rendered
}

// renderAll renders the releases of a cluster, which are in the order of compare.
func (f *Fleet) renderAll(ctx context.Context, all *ClusterRendering, compare func(a, b *fleet.Release) int) error {
	r := &renderRun{Fleet: f, all: all, compare: compare, served: f.served(all.Cluster), early: make([]Rendering, len(all.Releases))}
	for _, release := range all.Releases {
		r.used = append(r.used, f.usedAPIs(release))
	}
	if err := r.renderFirst(ctx); err != nil {
		return err
	}
	r.renderAhead(ctx)
	for range maxRounds {
		if !r.round(ctx) {
			return nil
		}
	}
	return &diag.Diag{
		Code: diag.CodeNotConverging,
		At:   []diag.Pos{all.Cluster.Pos}, Msg: "charts do not converge: whether they render CRDs depends on each other's CRDs",
		Hint: "list the API versions that the charts read in cluster.apis",
	}
}

// renderFirst renders, in parallel, the releases that do not ask for API versions. For the
// others, it sets the API versions of the CRDs in the crds directories of their charts,
// which are mostly all that they render.
func (r *renderRun) renderFirst(ctx context.Context) error {
	var running sync.WaitGroup
	faults := make([]error, len(r.all.Releases))
	for i, release := range r.all.Releases {
		one, ch := &r.all.Renderings[i], r.Charts[release.Chart]
		switch {
		case r.used[i].None():
			running.Go(func() { *one = r.renderOne(ctx, r.all.Cluster, release, r.served) })
		case ch.Chart != nil:
			running.Go(func() {
				one.crdAPIs, faults[i] = par.Recover(func() ([]string, error) { return r.crdsOf(ch.Chart), nil })
			})
		}
	}
	running.Wait()
	return cmp.Or(faults...)
}

// renderAhead renders, in parallel, the releases that ask for API versions by name. The
// CRDs that other charts render seldom have one of these names.
func (r *renderRun) renderAhead(ctx context.Context) {
	var running sync.WaitGroup
	for i, release := range r.all.Releases {
		if len(r.used[i].Names) > 0 {
			apis := r.seenBy(i)
			running.Go(func() { r.early[i] = r.renderOne(ctx, r.all.Cluster, release, apis) })
		}
	}
	running.Wait()
}

// round renders the releases for which there are other API versions than they saw. It
// reports whether there are any.
func (r *renderRun) round(ctx context.Context) (again bool) {
	for i, release := range r.all.Releases {
		if r.used[i].None() {
			continue
		}
		last, apis := &r.all.Renderings[i], r.seenBy(i)
		isSame := func(other Rendering) bool {
			return other.done && slices.Equal(r.used[i].Of(other.SeenAPIs), r.used[i].Of(apis))
		}
		switch {
		case isSame(*last):
		case isSame(r.early[i]):
			*last, again = r.early[i], true
		default:
			*last, again = r.renderOne(ctx, r.all.Cluster, release, apis), true
		}
		last.SeenAPIs = apis
	}
	return again
}

// seenBy returns the API versions that the i-th release sees: those of the cluster, and of
// the CRDs of the releases in its step and earlier ones.
func (r *renderRun) seenBy(i int) []string {
	apis := slices.Clone(r.served)
	for j, other := range r.all.Releases {
		if r.compare(other, r.all.Releases[i]) <= 0 {
			apis = append(apis, r.all.Renderings[j].crdAPIs...)
		}
	}
	return diag.Distinct(apis)
}

// usedAPIs returns the API versions on which the objects of a release may depend.
func (f *Fleet) usedAPIs(r *fleet.Release) render.UsedAPIs {
	if r.Jsonnet != "" {
		return render.UsedAPIs{All: true}
	}
	return f.Charts[r.Chart].usedAPIs.And(render.UsedAPIsInValues(r.Values))
}

// crdsOf returns the API versions of the CRDs in the crds directories of a chart.
func (f *Fleet) crdsOf(ch *fleet.Chart) []string {
	return f.crdDirs.Get(ch, func() []string {
		return f.Results.APIs(ch.Digest, func() []string { return f.Templates.CRDs(ch) })
	})
}
