package render

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/chartutil"
)

// This file recalls what single templates have printed: of the values of a cluster
// that differ from those of others, most templates read none, and those print what
// they printed before.
//
// What a template prints follows from what it reads of the values and of the release,
// from the chart and the capabilities, and from nothing else, as long as no template
// has modified what others see and it calls nothing that is random: see [state].

// A page is what one template prints: its text, or the documents that were read of
// it, whose objects others have as well.
type page struct {
	text string
	docs []document
	from *variant // that it was recalled from; nil when the template was executed
}

// A recall is what the templates of a chart have printed. The zero value is ready for
// use, by several goroutines at once.
type recall struct {
	mu       sync.Mutex
	by       map[digest]*remembered // by what templates see beside values, see [structure]
	followed *source                // for renderings that are followed
	follow   sync.Mutex             // held by the one that is
}

// remembered is what templates have printed in renderings of one structure.
type remembered struct {
	mu        sync.Mutex // guards what is in templates, too
	begun     int        // renderings
	templates map[string]*variants
	size      int // bytes of texts
}

// variants are what one template has printed, and how often it was followed in vain
// since that was last of use.
type variants struct {
	all    []*variant
	wasted int
}

func (v *variants) hopeful() bool {
	return v == nil || v.wasted < mostWasted && len(v.all) < mostVariants
}

// A variant is what a template has printed once, and what it had read.
type variant struct {
	of    *remembered
	reads []read
	took  limits
	used  bool
	page  page
}

// A read is something that a template has read: as what, and its digest.
type read struct {
	as   how
	path []string
	key  string // of as and path
	sum  digest
}

type digest [sha256.Size]byte

// How a value is read.
type how byte

const (
	asWhole how = iota // with all that is in it, or that it is not there
	asKeys             // if it is a map, its keys alone
	asOne              // if it is a map, that it is
)

// What is kept, at most.
const (
	mostStructures = 8
	mostVariants   = 8
	mostWasted     = 4
	mostText       = 8 << 20
)

// A recalling is one rendering that recalls.
type recalling struct {
	*remembered
	values view
	found  map[string]*variant // that templates print, nil for those of which none is known
	engine *engine             // that is followed; nil when the rendering is not
	done   func()
}

// recalling begins a rendering of the templates, which recalls what others have
// printed, and is followed when that may be of use to later ones. It returns nil for
// the first ones of a chart.
func (s *source) recalling(ctx context.Context, most limits, l *luck, in *input, all []renderable) *recalling {
	key, ok := structure(in, all)
	if !ok {
		return nil
	}
	s.recall.mu.Lock()
	p := s.recall.by[key]
	if p == nil && len(s.recall.by) < mostStructures {
		if s.recall.by == nil {
			s.recall.by = map[digest]*remembered{}
		}
		p = &remembered{templates: map[string]*variants{}}
		s.recall.by[key] = p
	}
	s.recall.mu.Unlock()
	if p == nil || p.early() {
		return nil
	}
	r := &recalling{remembered: p, values: view{values: in.values, sums: map[string]digest{}}, found: map[string]*variant{}, done: func() {}}
	if !s.recall.follow.TryLock() {
		return r
	}
	r.done = s.recall.follow.Unlock
	if !slices.ContainsFunc(all, r.hopes) {
		s.recall.followed = nil // it is large
		return r
	}
	if s.recall.followed == nil {
		s.recall.followed = s.followed(newReads())
	}
	r.begin(ctx, s.recall.followed, most, l, in, all)
	return r
}

// early reports whether this is one of the first renderings. To follow one takes
// longer than not to, and it takes some for that to be of use.
func (p *remembered) early() bool {
	const first = 8
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	return p.begun <= first
}

// begin makes the rendering one that is followed, unless it cannot be.
func (r *recalling) begin(ctx context.Context, s *source, most limits, l *luck, in *input, all []renderable) {
	s.reads.reset()
	for _, name := range []string{"Values", "Release"} {
		s.reads.register(in.values[name], []string{name})
	}
	for _, t := range all {
		_, at := s.reads.pathsOf(t.scope["Values"])
		s.reads.unfit = s.reads.unfit || len(at) == 0
	}
	if s.reads.unfit {
		return
	}
	if e, err := s.engine(ctx, most, l, all); err == nil {
		r.engine = e
	}
}

// end ends the rendering.
func (r *recalling) end() {
	if r.engine != nil {
		r.engine.source.reads.reset() // which has the values
	}
	r.done()
}

// hopes reports whether a template is not recalled, and may be when it is kept.
func (r *recalling) hopes(t renderable) bool {
	if isPartial(t.name) || r.find(t.name) != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size < mostText && r.templates[t.name].hopeful()
}

// find returns what a template has printed when it read what it would read now.
func (r *recalling) find(name string) *variant {
	v, ok := r.found[name]
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
	r.found[name] = v
	return v
}

// page returns what a template prints, and what that took, if that is known.
func (r *recalling) page(name string) (page, limits, bool) {
	v := r.find(name)
	if v == nil {
		return page{}, limits{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.templates[name]; known != nil {
		known.wasted, v.used = 0, true
	}
	p := v.page
	p.from = v
	return p, v.took, true
}

// keep keeps what a template has printed in a rendering that is followed, unless it
// may print something else for what it has read.
func (r *recalling) keep(name, text string, took limits, sure bool) {
	if r.engine == nil {
		return
	}
	v := &variant{of: r.remembered, took: took, page: page{text: text}}
	if v.reads, sure = r.engine.source.reads.sorted(), sure && !r.engine.source.reads.lost; sure {
		for i, read := range v.reads {
			v.reads[i].sum, sure = r.values.sum(read)
			if !sure {
				break
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.templates[name]
	if known == nil {
		known = &variants{}
		r.templates[name] = known
	}
	if known.wasted++; known.wasted == mostWasted {
		known.all = slices.DeleteFunc(slices.Clone(known.all), func(v *variant) bool {
			if !v.used {
				r.size -= len(v.page.text)
			}
			return !v.used
		})
	} else if sure && known.hopeful() && r.size+len(text) <= mostText {
		r.size += len(text)
		known.all = append(slices.Clip(known.all), v)
	}
}

// share is given the documents of a page that was recalled. Where others have their
// objects as well, they take the place of the text.
func (p page) share(docs []document) {
	if p.from == nil || slices.ContainsFunc(docs, func(d document) bool { return !d.shared }) {
		return
	}
	p.from.of.mu.Lock()
	defer p.from.of.mu.Unlock()
	p.from.of.size -= len(p.from.page.text)
	kept := append([]document{}, docs...)
	for i := range kept {
		kept[i].text = "" // whoever prints it again gets the same document
	}
	p.from.page = page{docs: kept}
}

// sorted returns what was read, in an order, without digests.
func (t *reads) sorted() []read {
	whole := maps.Clone(t.whole)
	maps.Copy(whole, t.absent)
	var out []read
	for as, of := range []map[string][]string{asWhole: whole, asKeys: t.keys, asOne: t.passed} {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			out = append(out, read{as: how(as), path: of[key], key: string(rune(as)) + key})
		}
	}
	return out
}

// structure returns a digest of all that templates see beside values and release.
// Helm itself enables and names dependencies by values, and has their metadata say so.
// It reports false when that cannot be told.
func structure(in *input, all []renderable) (digest, bool) {
	var w sum
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
