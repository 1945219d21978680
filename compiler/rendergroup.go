package compiler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// renderKey is the digest of the inputs of a rendering: the chart, the values, and the
// fields of the release and the cluster that templates can read.
type renderKey [sha256.Size]byte

// renderGroups deduplicates renderings: it renders equal releases of several clusters once,
// and drops the result after the last of these clusters.
type renderGroups struct {
	init   sync.Once
	keys   map[*fleet.Release]renderKey // of all releases of charts, without API versions
	mu     sync.Mutex
	groups map[renderKey]*renderGroup // of more than one release
}

// renderGroup holds releases whose inputs are equal except for the API versions.
type renderGroup struct {
	total, left int                                         // number of clusters, and of those that are not yet rendered
	rendered    map[renderKey]func() (render.Result, error) // by the key of the API versions
}

// chart renders a release of a chart, or reuses the rendering of an equal release in
// another cluster. Releases with faults are rendered for each cluster, because their source
// positions differ, and so are nondeterministic ones.
func (f *Fleet) chart(ctx context.Context, c *fleet.Cluster, r *fleet.Release, apis []string) (render.Result, error) {
	ch := f.Charts[r.Chart]
	if ch.Chart == nil {
		return f.Templates.Release(ctx, c, r, nil, apis)
	}
	f.groups.init.Do(func() { f.groups.find(f) })
	if used := f.usedAPIs(r); used.None() {
		apis = nil
	} else {
		apis = used.Of(apis)
	}
	renderOwn := func() (render.Result, error) { return f.renderChart(ctx, c, r, ch, apis) }
	shared, first := f.groups.shared(r, apis, renderOwn)
	if shared == nil || f.unshared {
		return renderOwn()
	}
	result, err := shared()
	switch {
	case err == nil && len(result.Nondeterministic) == 0:
		if result.UsesClock {
			f.UsesClock.Store(c.ID, true)
		}
		return render.Result{Objects: withRelease(result.Objects, r), Hooks: withRelease(result.Hooks, r), UsesClock: result.UsesClock}, nil
	case first:
		return result, err
	}
	return renderOwn()
}

// renderChart renders a release of a chart, or returns the stored result of an earlier run.
func (f *Fleet) renderChart(ctx context.Context, c *fleet.Cluster, r *fleet.Release, ch LoadedChart, apis []string) (render.Result, error) {
	key := f.cacheKey(c, r, apis)
	defer f.acquireSlot()()
	stored, ok := f.Results.Rendered(key)
	if f.OnCacheLookup != nil {
		f.OnCacheLookup(r, ok)
	}
	if ok {
		return render.Result{Objects: withRelease(stored.Objects, r), Hooks: withRelease(stored.Hooks, r)}, nil
	}
	f.changed.Store(c.ID, true)
	result, err := f.Templates.Release(ctx, c, r, ch.Chart, apis)
	if err != nil {
		return result, err
	}
	if result.UsesClock {
		f.UsesClock.Store(c.ID, true)
	}
	if !f.Results.StoreRendered(key, r, result) {
		f.unstored.Store(r, true)
	}
	return result, nil
}

// cacheKey returns the cache key of a rendering.
func (f *Fleet) cacheKey(c *fleet.Cluster, r *fleet.Release, apis []string) string {
	inputs, known := f.groups.keys[r]
	if !known { // with values changed for a perturbation test
		inputs = f.keyOf(c, r)
	}
	seen := keyOfAPIs(apis)
	return hex.EncodeToString(inputs[:]) + hex.EncodeToString(seen[:])
}

// acquireSlot blocks until a rendering slot is free and returns a function that frees it.
func (f *Fleet) acquireSlot() (free func()) {
	f.Slots <- struct{}{}
	return func() { <-f.Slots }
}

// shared returns the shared rendering of the group of r, which calls f in the first call,
// and whether r is the first of the group. It returns nil if no other release is equal.
func (s *renderGroups) shared(r *fleet.Release, apis []string, f func() (render.Result, error)) (rendering func() (render.Result, error), first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := s.groups[s.keys[r]]
	if group == nil {
		return nil, false
	}
	key := keyOfAPIs(apis)
	rendering, ok := group.rendered[key]
	if !ok {
		rendering = sync.OnceValues(func() (render.Result, error) {
			result, err := f()
			markShared(result.Objects)
			markShared(result.Hooks)
			return result, err
		})
		group.rendered[key] = rendering
	}
	return rendering, !ok
}

// find groups the equal releases of all clusters.
func (s *renderGroups) find(f *Fleet) {
	s.mu.Lock() // release may run already, for a cluster without charts
	defer s.mu.Unlock()
	s.keys, s.groups = map[*fleet.Release]renderKey{}, map[renderKey]*renderGroup{}
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			if f.Charts[r.Chart].Chart == nil {
				continue
			}
			key := f.keyOf(c, r)
			s.keys[r] = key
			if s.groups[key] == nil {
				s.groups[key] = &renderGroup{rendered: map[renderKey]func() (render.Result, error){}}
			}
			s.groups[key].total++
		}
	}
	for key, group := range s.groups {
		if group.left = group.total; group.total == 1 {
			delete(s.groups, key)
		}
	}
}

// release drops the renderings of groups whose last cluster is c. If the fleet is compiled
// again, they are rendered again.
func (s *renderGroups) release(c *fleet.Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range c.Releases {
		if group := s.groups[s.keys[r]]; group != nil {
			if group.left--; group.left == 0 {
				group.left = group.total
				clear(group.rendered)
			}
		}
	}
}

// markShared marks objects whose contents other objects share.
func markShared(objs []fleet.Object) {
	for i := range objs {
		objs[i].Shared = true
	}
}

// copyContents copies the contents of objects, so that they are not shared.
func copyContents(objs []fleet.Object) {
	for i := range objs {
		objs[i].Unstructured, objs[i].Shared = objs[i].DeepCopy(), false
	}
}

// withRelease returns copies of objects that refer to another, equal release.
func withRelease(objs []fleet.Object, r *fleet.Release) []fleet.Object {
	out := slices.Clone(objs)
	for i := range out {
		out[i].Release, out[i].Pos = r, r.Pos
	}
	return out
}

// keyOf returns the key of a release of a chart, without API versions.
func (f *Fleet) keyOf(c *fleet.Cluster, r *fleet.Release) renderKey {
	w := cache.NewKeyWriter()
	w.Text(f.Charts[r.Chart].Digest)
	w.Text(r.Name)
	w.Text(r.Namespace)
	w.Text(c.KubeVersion)
	w.Text(strconv.FormatBool(r.Tests))
	w.Text(r.DuplicateKeys.Pos.String())
	w.Tree(r.Values)
	return renderKey(w.Sum(nil))
}

// keyOfAPIs returns a key of API versions.
func keyOfAPIs(apis []string) renderKey {
	w := cache.NewKeyWriter()
	for _, a := range apis {
		w.Text(a)
	}
	return renderKey(w.Sum(nil))
}
