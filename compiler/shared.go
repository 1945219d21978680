package compiler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/cache"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// A renderKey names what a chart renders to: equal keys render equally. It
// stands for the chart, the values, and what the chart sees of the release and
// of the cluster.
type renderKey [sha256.Size]byte

// A sharing renders releases that clusters have alike once, and lets go of what
// came out when the last of them has it.
type sharing struct {
	count sync.Once
	keys  map[*fleet.Release]renderKey // of all releases of charts, without API versions
	mu    sync.Mutex
	alike map[renderKey]*alike
}

// An alike is releases that only the API versions of their clusters can tell
// apart.
type alike struct {
	total, left int // how many clusters have such a release, and how many of these are still to come
	rendered    map[renderKey]func() (render.Result, error)
}

// chart renders a release of a chart, unless that was done for another cluster.
// Releases with a fault are rendered for each, since they have different places,
// and so are those with something random in them.
func (f *Fleet) chart(ctx context.Context, c *fleet.Cluster, r *fleet.Release, apis []string) (render.Result, error) {
	ch := f.Charts[r.Chart]
	if ch.Chart == nil {
		return f.Templates.Release(ctx, c, r, nil, apis)
	}
	f.sharing.count.Do(func() { f.sharing.countAlike(f) })
	if !f.asksForAPIs(r) {
		apis = nil
	}
	own := func() (render.Result, error) { return f.renderChart(ctx, c, r, ch, apis) }
	once, first := f.sharing.once(r, apis, own)
	if once == nil || f.plain {
		return own()
	}
	result, err := once()
	switch {
	case err == nil && len(result.Nondeterministic) == 0:
		if result.UsesClock {
			f.UsesClock.Store(c.ID, true)
		}
		return render.Result{Objects: asOf(result.Objects, r), Hooks: asOf(result.Hooks, r), UsesClock: result.UsesClock}, nil
	case first:
		return result, err
	}
	return own()
}

// renderChart renders a release of a chart, unless an earlier run did, or another
// machine.
func (f *Fleet) renderChart(ctx context.Context, c *fleet.Cluster, r *fleet.Release, ch LoadedChart, apis []string) (render.Result, error) {
	key, ours := f.cacheKey(c, r, apis)
	if ours && f.Results.FetchRendered(ctx, key) {
		f.changed.Store(c.ID, true)
	}
	defer f.busy()()
	earlier, ok := f.Results.Rendered(key)
	if f.OnCacheLookup != nil {
		f.OnCacheLookup(r, ok)
	}
	if ok {
		return render.Result{Objects: asOf(earlier.Objects, r), Hooks: asOf(earlier.Hooks, r)}, nil
	}
	f.changed.Store(c.ID, true)
	result, err := f.Templates.Release(ctx, c, r, ch.Chart, apis)
	if err != nil {
		return result, err
	}
	if result.UsesClock {
		f.UsesClock.Store(c.ID, true)
	}
	kept, ok := f.Results.KeepRendered(key, r, result)
	switch {
	case !ok:
		f.unstored.Store(r, true)
	case ours:
		f.Results.SendRendered(key, kept)
	}
	return result, nil
}

// cacheKey returns the key of what a release renders to, and whether the release
// is the fleet's own, not one of a trial.
func (f *Fleet) cacheKey(c *fleet.Cluster, r *fleet.Release, apis []string) (key string, ours bool) {
	of, ours := f.sharing.keys[r]
	if !ours {
		of = f.keyOf(c, r)
	}
	seen := keyOfAPIs(apis)
	return hex.EncodeToString(of[:]) + hex.EncodeToString(seen[:]), ours
}

// busy waits until fewer than as many releases as clusters are rendered, and
// returns what ends that.
func (f *Fleet) busy() (done func()) {
	f.Slots <- struct{}{}
	return func() { <-f.Slots }
}

// once returns the one rendering of the releases that are like r, nil when there
// are none, and whether it is that of r.
func (s *sharing) once(r *fleet.Release, apis []string, f func() (render.Result, error)) (once func() (render.Result, error), first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := s.alike[s.keys[r]]
	if group == nil {
		return nil, false
	}
	key := keyOfAPIs(apis)
	once, ok := group.rendered[key]
	if !ok {
		once = sync.OnceValues(func() (render.Result, error) {
			result, err := f()
			share(result.Objects)
			share(result.Hooks)
			return result, err
		})
		group.rendered[key] = once
	}
	return once, !ok
}

// countAlike finds the releases that are alike in several clusters.
func (s *sharing) countAlike(f *Fleet) {
	s.mu.Lock() // a cluster without charts may be done already
	defer s.mu.Unlock()
	s.keys, s.alike = map[*fleet.Release]renderKey{}, map[renderKey]*alike{}
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			if f.Charts[r.Chart].Chart == nil {
				continue
			}
			key := f.keyOf(c, r)
			s.keys[r] = key
			if s.alike[key] == nil {
				s.alike[key] = &alike{rendered: map[renderKey]func() (render.Result, error){}}
			}
			s.alike[key].total++
		}
	}
	for key, group := range s.alike {
		if group.left = group.total; group.total == 1 {
			delete(s.alike, key)
		}
	}
}

// done lets go of what no cluster after this one has. The next time that all
// clusters are compiled, it is rendered again.
func (s *sharing) done(c *fleet.Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range c.Releases {
		if group := s.alike[s.keys[r]]; group != nil {
			if group.left--; group.left == 0 {
				group.left = group.total
				clear(group.rendered)
			}
		}
	}
}

// share says of objects that others have the same contents.
func share(objs []fleet.Object) {
	for i := range objs {
		objs[i].Shared = true
	}
}

// alone gives objects contents that nobody else has.
func alone(objs []fleet.Object) {
	for i := range objs {
		objs[i].Unstructured, objs[i].Shared = objs[i].DeepCopy(), false
	}
}

// asOf returns objects as those of a release that is alike.
func asOf(objs []fleet.Object, r *fleet.Release) []fleet.Object {
	out := slices.Clone(objs)
	for i := range out {
		out[i].Release, out[i].Pos = r, r.Pos
	}
	return out
}

// keyOf returns the key of a release of a chart.
func (f *Fleet) keyOf(c *fleet.Cluster, r *fleet.Release) renderKey {
	w := cache.NewKeyWriter()
	w.Text(f.Charts[r.Chart].Digest)
	w.Text(r.Name)
	w.Text(r.Namespace)
	w.Text(c.KubeVersion)
	w.Text(strconv.FormatBool(r.Tests))
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
