package render

import (
	"cmp"
	"context"
	"crypto/sha256"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// Charts renders releases and caches their loaded charts: each chart is read
// and parsed once. Nothing is evicted, so use one Charts per run. The zero
// value is ready for use, by several goroutines at once.
type Charts struct {
	sources par.Memo[*fleet.Chart, *source]

	testLimits limits // set by tests; the zero value means the default limits
	noCache    bool   // set by tests to execute every template
}

func (cs *Charts) limits() limits {
	return cmp.Or(cs.testLimits, limits{maxSteps, maxMade, maxOutput})
}

// source returns the loaded chart. Charts are identified by address, so the
// caller must have one [fleet.Chart] per chart.
func (cs *Charts) source(ch *fleet.Chart) *source {
	return cs.sources.Get(ch, func() *source {
		s := &source{noCache: cs.noCache, funcs: functions(), files: map[file]*text{}}
		s.load(ch)
		return s
	})
}

// A source is a loaded chart with the templates that were parsed so far. All
// renderings share it.
type source struct {
	chart *chart.Chart   // as loaded; never modified
	err   error          // why the chart does not load
	funcs map[string]any // all template functions, before they are bound to a rendering
	trace *trace         // records what the only rendering of this source prints, for a [Probe]; nil otherwise
	reads *reads         // records which values templates read; nil when they are not tracked
	base  *source        // the untracked source; nil when reads is nil

	mu      sync.Mutex // guards files
	files   map[file]*text
	decoded par.Memo[*chart.File, document] // files of crds directories

	noCache  bool // whether the outputs of templates are not cached
	outputs  outputCache
	snippets memo[*text]          // parsed arguments of tpl
	yaml     memo[map[string]any] // decoded arguments of fromYaml
	json     memo[string]         // results of toYaml, by JSON
	docs     memo[document]       // decoded documents
}

// A file is a template under its name in a rendering. A dependency with an
// alias has other names than the same dependency without.
type file struct {
	name string
	*chart.File
}

// load reads the chart as Helm's loader does.
func (s *source) load(ch *fleet.Chart) {
	s.chart, s.err = fleet.LoadChart(ch.Files)
	if s.err == nil {
		s.err = s.chart.Validate()
	}
}

// tracked returns the same source for renderings whose reads are recorded.
// They must run one at a time.
func (s *source) tracked(by *reads) *source {
	return &source{chart: s.chart, funcs: s.funcs, base: s, reads: by, files: map[file]*text{}}
}

// template returns a parsed template.
func (s *source) template(f file) *text {
	s.mu.Lock()
	t := s.files[f]
	s.mu.Unlock()
	if t == nil {
		if s.base != nil && s.trace == nil {
			t = s.base.template(f).tracked()
		} else {
			t = s.parse(f.name, unsafe.String(unsafe.SliceData(f.Data), len(f.Data))) // files are never modified
		}
		s.mu.Lock()
		s.files[f] = t
		s.mu.Unlock()
	}
	return t
}

// engine returns an engine that is ready to render the templates.
func (s *source) engine(ctx context.Context, limit limits, l *entropy, all []renderable) (*engine, error) {
	e := newEngine(ctx, limit, s, l)
	return e, e.prepare(all)
}

// snippet returns the parsed argument of a tpl call.
func (s *source) snippet(content string) *text {
	t, _ := s.snippets.get(content, func(content string) *text { return s.parse(rootName, content) })
	return t
}

// parse parses a template. When reads are tracked, it inserts the calls that
// record them.
func (s *source) parse(name, content string) *text {
	t := parseText(name, content, s.funcs, s.trace)
	if s.reads != nil {
		t = t.tracked()
	}
	return t
}

// A memo caches results that are computed from texts, since charts use the
// same texts in every cluster. A text is cached when it is seen the second
// time. The total size is bounded, because some texts come from a cluster's
// values.
type memo[V any] struct {
	mu     sync.Mutex
	values map[digest]V    // by the digest of the text
	seen   map[uint64]bool // hashes of all texts
	seed   maphash.Seed
	size   int // bytes of the cached texts
}

// get returns f(text), from the cache if possible. It reports whether v is
// cached: then others share it and it must not be modified.
func (m *memo[V]) get(text string, f func(string) V) (v V, cached bool) {
	const keep = 6 << 20
	m.mu.Lock()
	if m.seen == nil {
		m.values, m.seen, m.seed = map[digest]V{}, map[uint64]bool{}, maphash.MakeSeed()
	}
	hash := maphash.String(m.seed, text)
	again := m.seen[hash]
	if len(m.seen) < keep/16 {
		m.seen[hash] = true
	}
	m.mu.Unlock()
	if !again {
		return f(text), false
	}
	key := digest(sha256.Sum256([]byte(text)))
	m.mu.Lock()
	v, cached = m.values[key]
	m.mu.Unlock()
	if cached {
		return v, true
	}
	v = f(strings.Clone(text)) // text may be a small part of a large string
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values[key]; ok {
		return v, true
	}
	if m.size+len(text) <= keep {
		m.size += len(text)
		m.values[key], cached = v, true
	}
	return v, cached
}

// crds returns a file of a crds directory, which is decoded once.
func (s *source) crds(name string, f *chart.File) document {
	d := s.decoded.Get(f, func() document {
		objs, errs := fileObjects(string(f.Data))
		return document{text: string(f.Data), objs: contents(objs), errs: errs, shared: true}
	})
	d.source = name
	return d
}

// CRDs returns the API versions that a chart's crds directories and those of
// all its dependencies add to a cluster, as [APIs] does. It returns none for a
// chart that does not load.
func (cs *Charts) CRDs(ch *fleet.Chart) []string {
	s := cs.source(ch)
	if s.err != nil {
		return nil
	}
	var objs []fleet.Object
	for _, crd := range s.chart.CRDObjects() {
		for _, o := range s.crds(crd.Filename, crd.File).objs {
			objs = append(objs, fleet.Object{Unstructured: o})
		}
	}
	return APIs(objs)
}

// fileObjects returns the objects of a file with any number of documents, and
// an error for each invalid document.
func fileObjects(content string) (all []map[string]any, errs []error) {
	// Most files hold one document, perhaps after a separator.
	docs := []string{strings.TrimPrefix(content, "---\n")}
	if strings.Contains(docs[0], "\n---") {
		docs = split(content)
	}
	for _, text := range docs {
		objs, err := decodeObjects(lineEnd(text))
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, objs...)
	}
	return all, errs
}

// instance returns a copy of a chart for one rendering, which may modify it.
// File contents and values are shared, because Helm's functions copy them.
func instance(c *chart.Chart) *chart.Chart {
	out := &chart.Chart{
		Raw: c.Raw, Lock: c.Lock, Templates: c.Templates, Schema: c.Schema, Files: c.Files,
		Values: c.Values, Metadata: metadata(c.Metadata),
	}
	// Helm's loader leaves dependencies in the random order of a map.
	deps := slices.SortedFunc(slices.Values(c.Dependencies()), func(a, b *chart.Chart) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	for _, d := range deps {
		out.AddDependency(instance(d))
	}
	return out
}

// metadata returns a copy that shares nothing that a template or Helm can
// modify.
func metadata(m *chart.Metadata) *chart.Metadata {
	out := *m
	out.Sources, out.Keywords = slices.Clone(m.Sources), slices.Clone(m.Keywords)
	out.Annotations = maps.Clone(m.Annotations)
	out.Maintainers = slices.Clone(m.Maintainers)
	for i, p := range out.Maintainers {
		copied := *p
		out.Maintainers[i] = &copied
	}
	out.Dependencies = slices.Clone(m.Dependencies)
	for i, d := range out.Dependencies {
		copied := *d
		copied.Tags, copied.ImportValues = slices.Clone(d.Tags), slices.Clone(d.ImportValues)
		out.Dependencies[i] = &copied
	}
	return &out
}
