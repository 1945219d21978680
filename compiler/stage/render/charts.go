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
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Charts renders releases, and keeps what it made of their charts: what is
// read and parsed for one release is not read and parsed again for the next of
// the same chart. It is for one run: it lets go of nothing. The zero value is
// ready for use. It may be used by several goroutines at once.
type Charts struct {
	mu    sync.Mutex
	known map[*fleet.Chart]*source

	fewer limits // those of tests; when zero, what everybody has
	plain bool   // for tests: whether every template is executed, and nothing recalled
}

func (cs *Charts) most() limits {
	return cmp.Or(cs.fewer, limits{maxSteps, maxMade, maxOutput})
}

// source returns what is known of a chart. Charts are told apart by their
// address: the caller has one for each.
func (cs *Charts) source(ch *fleet.Chart) *source {
	cs.mu.Lock()
	s := cs.known[ch]
	if s == nil {
		if cs.known == nil {
			cs.known = map[*fleet.Chart]*source{}
		}
		s = &source{plain: cs.plain}
		cs.known[ch] = s
	}
	cs.mu.Unlock()
	s.once.Do(func() { s.load(ch) })
	return s
}

// A source is a chart as it was read, and its templates as far as they were
// needed. All renderings share it.
type source struct {
	once  sync.Once
	chart *chart.Chart   // as loaded; never modified
	err   error          // why it does not load
	funcs map[string]any // all functions of templates, before they are bound to a rendering
	trace *trace         // of the one rendering that uses the source, for a [Probe]; nil otherwise
	reads *reads         // what renderings read that are followed; nil when none is
	of    *source        // that is followed; nil likewise

	mu      sync.Mutex
	files   map[file]*text
	decoded map[*chart.File]document // files of crds directories
	idle    []*engine                // that have rendered the chart

	plain    bool // whether nothing is recalled
	recall   recall
	snippets memo[*text]          // of texts that were given to tpl
	yaml     memo[map[string]any] // of texts that were given to fromYaml
	json     memo[string]         // as YAML, of values that were given to toYaml
	docs     memo[document]       // of documents
}

// A file is a template of a chart under the name that it has in a rendering:
// a dependency with an alias has another one than the same without.
type file struct {
	name string
	*chart.File
}

// load reads the chart as Helm's loader does.
func (s *source) load(ch *fleet.Chart) {
	files := make([]*loader.BufferedFile, len(ch.Files))
	for i, f := range ch.Files {
		files[i] = &loader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	captureLog(func() { s.chart, s.err = loader.LoadFiles(files) })
	if s.err == nil {
		s.err = s.chart.Validate()
	}
	s.funcs = functions()
	s.files, s.decoded = map[file]*text{}, map[*chart.File]document{}
}

// followed returns the same source for renderings that are followed, one at a time.
func (s *source) followed(by *reads) *source {
	return &source{chart: s.chart, funcs: s.funcs, of: s, reads: by, files: map[file]*text{}}
}

// template returns a parsed template.
func (s *source) template(f file) *text {
	s.mu.Lock()
	t := s.files[f]
	s.mu.Unlock()
	if t == nil {
		if s.of != nil && s.trace == nil {
			t = s.of.template(f).followed()
		} else {
			t = s.parse(f.name, unsafe.String(unsafe.SliceData(f.Data), len(f.Data))) // which nobody modifies
		}
		s.mu.Lock()
		s.files[f] = t
		s.mu.Unlock()
	}
	return t
}

// engine returns an engine that is prepared to render the templates.
func (s *source) engine(ctx context.Context, most limits, l *luck, all []renderable) (*engine, error) {
	if l.first == nil { // else it has other functions
		files := filesIn(all)
		s.mu.Lock()
		i := slices.IndexFunc(s.idle, func(e *engine) bool { return slices.Equal(e.files, files) })
		if i >= 0 {
			e := s.idle[i]
			s.idle = slices.Delete(s.idle, i, i+1)
			s.mu.Unlock()
			e.reset(ctx, most, l)
			return e, nil
		}
		s.mu.Unlock()
	}
	e := newEngine(ctx, most, s, l)
	return e, e.prepare(all)
}

// giveBack keeps an engine for the next rendering. Only a few are kept, since they
// are large, and none that a rendering made larger.
func (s *source) giveBack(e *engine) {
	const few, large = 2, 256 << 10
	if e.luck.first != nil || len(e.costs) != e.own || cap(e.out) > large {
		return
	}
	e.reset(context.Background(), limits{}, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) == few {
		s.idle = slices.Delete(s.idle, 0, 1)
	}
	s.idle = append(s.idle, e)
}

// snippet returns the parsed text of a call of tpl.
func (s *source) snippet(content string) *text {
	t, _ := s.snippets.get(content, func(content string) *text { return s.parse(rootName, content) })
	return t
}

// parse parses a template, so that it tells what it reads when that is followed.
func (s *source) parse(name, content string) *text {
	t := parseText(name, content, s.funcs, s.trace)
	if s.reads != nil {
		t = t.followed()
	}
	return t
}

// A memo keeps what was made of texts: charts use the same ones in every
// cluster. One that is met for the first time is not kept yet, and none is when
// they are too many: some come from the values of a cluster.
type memo[V any] struct {
	mu    sync.Mutex
	known map[digest]V    // by the digest of the text, which is not kept
	met   map[uint64]bool // hashes of texts
	seed  maphash.Seed
	kept  int // bytes of texts
}

// get returns what f makes of the text, or made of it before, and whether it is
// kept: others have it then, and it must not be modified.
func (m *memo[V]) get(text string, f func(string) V) (v V, kept bool) {
	const keep = 6 << 20
	m.mu.Lock()
	if m.met == nil {
		m.known, m.met, m.seed = map[digest]V{}, map[uint64]bool{}, maphash.MakeSeed()
	}
	hash := maphash.String(m.seed, text)
	again := m.met[hash]
	if len(m.met) < keep/16 {
		m.met[hash] = true
	}
	m.mu.Unlock()
	if !again {
		return f(text), false
	}
	key := digest(sha256.Sum256([]byte(text)))
	m.mu.Lock()
	v, kept = m.known[key]
	m.mu.Unlock()
	if kept {
		return v, true
	}
	v = f(strings.Clone(text)) // it may be a small part of a large one
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, is := m.known[key]; is {
		return known, true
	}
	if m.kept+len(text) <= keep {
		m.kept += len(text)
		m.known[key], kept = v, true
	}
	return v, kept
}

// crds returns a file of a crds directory. It is decoded once.
func (s *source) crds(name string, f *chart.File) document {
	s.mu.Lock()
	d, ok := s.decoded[f]
	s.mu.Unlock()
	if !ok {
		d.text = string(f.Data)
		var objs []map[string]any
		objs, d.errs = fileObjects(d.text)
		d.objs, d.shared = contents(objs), true
		s.mu.Lock()
		s.decoded[f] = d
		s.mu.Unlock()
	}
	d.source = name
	return d
}

// CRDs returns the API versions that the CRDs in the crds directories of a chart
// and of all its dependencies add to a cluster, as [APIs] does; none of a chart
// that does not load.
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
// what is wrong with some of them.
func fileObjects(content string) (all []map[string]any, errs []error) {
	// Most files have one document, maybe behind a first separator.
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

// instance returns a chart that one rendering may modify, as Helm's functions
// for dependencies do: everything but the contents of files and the values,
// which they copy.
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

// metadata returns a copy that shares nothing which a template or Helm could
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
