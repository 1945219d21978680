package render

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/chartutil"
)

// This file caches the output of single templates. Most templates read none of
// the values that differ between clusters, so their output is the same.
//
// The output of a template depends on the values and release fields that it
// reads, on the chart and on the capabilities. It depends on nothing else
// unless a template modifies shared state or calls a nondeterministic
// function, see [sharedState].

// A page is the output of one template: its text, or its decoded documents,
// whose objects other releases share.
type page struct {
	text string
	docs []document
	from *variant // the cache entry; nil when the template was executed
}

// An outputCache caches the outputs of a chart's templates. The zero value is
// ready for use by several goroutines at once.
type outputCache struct {
	mu          sync.Mutex
	byStructure map[digest]*structureCache // by [structureKey]
	tracked     *source                    // the source for tracked renderings
	tracking    sync.Mutex                 // held by the tracked rendering
}

// A structureCache holds the outputs of renderings that differ only in values
// and release.
type structureCache struct {
	mu         sync.Mutex // also guards the contents of templates
	renderings int        // renderings
	templates  map[string]*variants
	size       int // bytes of the cached texts
}

// variants holds the outputs of one template, and how often it was tracked
// since the last cache hit.
type variants struct {
	all    []*variant
	wasted int
}

func (v *variants) worthTracking() bool {
	return v == nil || v.wasted < maxWasted && len(v.all) < maxVariants
}

// A variant is one output of a template with the reads that lead to it.
type variant struct {
	cache *structureCache
	reads []read
	took  limits
	hit   bool
	page  page
}

// A read is a value that a template read, with its digest.
type read struct {
	mode   readMode
	path   []string
	key    string // made of mode and path
	digest digest
}

type digest [sha256.Size]byte

// A readMode says how much of a value was read.
type readMode byte

const (
	readWhole  readMode = iota // the value with everything in it
	readKeys                   // the keys of a map, or the whole of another value
	readKind                   // whether it is a map, or the whole of another value
	readAbsent                 // that it is missing
)

// Limits of the cache.
const (
	maxStructures = 8
	maxVariants   = 8
	maxWasted     = 4
	maxCachedText = 8 << 20
)

// A cacheSession is the use of the cache by one rendering.
type cacheSession struct {
	*structureCache
	values  valueDigests
	lookups map[string]*variant // results of lookup by template; nil for a miss
	engine  *engine             // for tracked templates; nil when the rendering is not tracked
	unlock  func()
}

// cacheSession starts a rendering that uses the cache. It tracks reads when
// later renderings may benefit. It returns nil for the first renderings of a
// chart.
func (s *source) cacheSession(ctx context.Context, limit limits, l *entropy, in *input, all []renderable) *cacheSession {
	key, ok := structureKey(in, all)
	if !ok {
		return nil
	}
	s.outputs.mu.Lock()
	p := s.outputs.byStructure[key]
	if p == nil && len(s.outputs.byStructure) < maxStructures {
		if s.outputs.byStructure == nil {
			s.outputs.byStructure = map[digest]*structureCache{}
		}
		p = &structureCache{templates: map[string]*variants{}}
		s.outputs.byStructure[key] = p
	}
	s.outputs.mu.Unlock()
	if p == nil || p.warmingUp() {
		return nil
	}
	r := &cacheSession{structureCache: p, values: valueDigests{values: in.values, sums: map[string]digest{}}, lookups: map[string]*variant{}, unlock: func() {}}
	if !s.outputs.tracking.TryLock() {
		return r
	}
	r.unlock = s.outputs.tracking.Unlock
	if !slices.ContainsFunc(all, r.worthTracking) {
		s.outputs.tracked = nil // it is large
		return r
	}
	if s.outputs.tracked == nil {
		s.outputs.tracked = s.tracked(newReads())
	}
	r.track(ctx, s.outputs.tracked, limit, l, in, all)
	return r
}

// warmingUp reports whether this is one of the first renderings. Tracking is
// slower than plain execution and pays off only after some renderings.
func (p *structureCache) warmingUp() bool {
	const first = 8
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renderings++
	return p.renderings <= first
}

// track makes the rendering a tracked one, if its values can be tracked.
func (r *cacheSession) track(ctx context.Context, s *source, limit limits, l *entropy, in *input, all []renderable) {
	s.reads.reset()
	for _, name := range []string{"Values", "Release"} {
		s.reads.register(in.values[name], []string{name})
	}
	for _, t := range all {
		_, at := s.reads.pathsOf(t.scope["Values"])
		s.reads.untrackable = s.reads.untrackable || len(at) == 0
	}
	if s.reads.untrackable {
		return
	}
	if e, err := s.engine(ctx, limit, l, all); err == nil {
		r.engine = e
	}
}

// end releases the resources of the session.
func (r *cacheSession) end() {
	if r.engine != nil {
		r.engine.source.reads.reset() // it refers to the values
	}
	r.unlock()
}

// worthTracking reports whether a template is not in the cache and may still
// be added.
func (r *cacheSession) worthTracking(t renderable) bool {
	if isPartial(t.name) || r.lookup(t.name) != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size < maxCachedText && r.templates[t.name].worthTracking()
}

// lookup returns the variant of a template whose reads match the current
// values.
func (r *cacheSession) lookup(name string) *variant {
	v, ok := r.lookups[name]
	if ok {
		return v
	}
	r.mu.Lock()
	var all []*variant
	if known := r.templates[name]; known != nil {
		all = known.all
	}
	r.mu.Unlock()
	for _, known := range slices.Backward(all) {
		if !slices.ContainsFunc(known.reads, r.values.differs) {
			v = known
			break
		}
	}
	r.lookups[name] = v
	return v
}

// page returns the cached output of a template and its cost.
func (r *cacheSession) page(name string) (page, limits, bool) {
	v := r.lookup(name)
	if v == nil {
		return page{}, limits{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.templates[name]; known != nil {
		known.wasted, v.hit = 0, true
	}
	p := v.page
	p.from = v
	return p, v.took, true
}

// store adds the output of a tracked template to the cache. deterministic is
// false if the same reads may lead to other output.
func (r *cacheSession) store(name, text string, took limits, deterministic bool) {
	if r.engine == nil {
		return
	}
	made := r.engine.source.reads
	v := &variant{cache: r.structureCache, took: took, page: page{text: text}, reads: slices.Collect(maps.Values(made.recorded))}
	deterministic = deterministic && !made.everything
	for i := 0; deterministic && i < len(v.reads); i++ {
		v.reads[i].digest, deterministic = r.values.digest(v.reads[i])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.templates[name]
	if known == nil {
		known = &variants{}
		r.templates[name] = known
	}
	if known.wasted++; known.wasted == maxWasted {
		known.all = slices.DeleteFunc(slices.Clone(known.all), func(v *variant) bool {
			if !v.hit {
				r.size -= len(v.page.text)
			}
			return !v.hit
		})
	} else if deterministic && known.worthTracking() && r.size+len(text) <= maxCachedText {
		r.size += len(text)
		known.all = append(slices.Clip(known.all), v)
	}
}

// shareDocuments stores the documents of a cached page in place of its text,
// if all their objects are shared.
func (p page) shareDocuments(docs []document) {
	if p.from == nil || slices.ContainsFunc(docs, func(d document) bool { return !d.shared }) {
		return
	}
	p.from.cache.mu.Lock()
	defer p.from.cache.mu.Unlock()
	p.from.cache.size -= len(p.from.page.text)
	kept := append([]document{}, docs...)
	for i := range kept {
		kept[i].text = "" // the second rendering prints the same page
	}
	p.from.page = page{docs: kept}
}

// structureKey returns a digest of everything that templates see besides
// values and release. It includes the metadata of dependencies, which Helm
// enables and renames by values. It reports false when the digest cannot be
// computed.
func structureKey(in *input, all []renderable) (digest, bool) {
	var w encoder
	for _, r := range all {
		w.text(r.name)
	}
	if !w.chart(in.chart) {
		return digest{}, false
	}
	caps, ok := in.values["Capabilities"].(*chartutil.Capabilities)
	if !ok {
		return digest{}, false
	}
	w.text(caps.KubeVersion.Version)
	for _, api := range caps.APIVersions {
		w.text(api)
	}
	return sha256.Sum256(w), true
}
