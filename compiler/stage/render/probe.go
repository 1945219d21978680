package render

import (
	"context"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Probe renders one object repeatedly, with one value changed each time. It
// knows which values the object's template reads and which line prints which
// field. It is used by one goroutine.
//
// A probe executes only the object's template and changes the merged values.
// It renders the whole release where that could differ: when a value enables
// dependencies or is imported, or when other templates modify shared state.
type Probe struct {
	job        *job
	engine     *engine
	in         *input         // never modified
	object     map[string]any // as rendered by its template
	name       string         // of the template in a rendering
	runsOthers bool           // whether the templates before it are executed too
	text       string         // output of the template
	texts      []string
	index      int // of the object's document in texts
	item       int // index of the object in the document
	trace      *trace
}

// Probe prepares to render an object of a release. o is one of the objects
// that [Charts.Release] returned for the same arguments; its template, kind,
// name and namespace identify it. Probe returns nil for an object from a crds
// directory and for a nondeterministic object.
func (cs *Charts) Probe(ctx context.Context, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string, o fleet.Object) (p *Probe, err error) {
	j := &job{cluster: c, release: r, chart: ch, apis: apis, limits: cs.limits(), source: cs.source(ch)}
	defer func() {
		if v := recover(); v != nil {
			p, err = nil, j.doesNotRender(v)
		}
	}()
	in, err := j.input()
	if err != nil {
		return nil, err
	}
	p = &Probe{job: j, in: in, name: o.Template, engine: newEngine(ctx, j.limits, j.source, newEntropy(clock(j.source)))}
	first := in.copy()
	all := renderables(first.chart, first.values)
	if !slices.ContainsFunc(all, func(r renderable) bool { return r.name == p.name }) {
		return nil, nil
	}
	if err := p.engine.prepare(all); err != nil {
		return nil, j.doesNotRender(err)
	}
	p.runsOthers = true
	if p.text, err = p.execute(p.engine, all); err != nil {
		return nil, j.doesNotRender(err)
	}
	if !p.find(o) {
		return nil, nil
	}
	p.runsOthers = false
	alone := func() string {
		in := in.copy()
		text, _ := p.execute(p.engine, p.renderables(in))
		return text
	}
	if text := alone(); text != p.text {
		p.runsOthers = text == alone() // otherwise the template itself is nondeterministic
	}
	return p, p.runTraced(ctx)
}

// renderables returns the templates to execute.
func (p *Probe) renderables(in *input) (all []renderable) {
	if p.runsOthers {
		return renderables(in.chart, in.values)
	}
	collect(in.chart, in.values, func(r renderable) {
		if r.name == p.name {
			all = []renderable{r} // as in a map, the last one of a name is used
		}
	})
	return all
}

// execute executes the template, and others if needed, and returns its output.
func (p *Probe) execute(e *engine, all []renderable) (string, error) {
	e.reset()
	for _, r := range all {
		if r.name == p.name {
			return e.executeFile(r)
		}
		if p.runsOthers && !isPartial(r.name) {
			if _, err := e.executeFile(r); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// find searches for an object in the output of its template.
func (p *Probe) find(o fleet.Object) bool {
	p.texts = split(p.text)
	for i, text := range p.texts {
		for k, u := range readDocument(text).objs {
			if u.GroupVersionKind().GroupKind() == o.GroupVersionKind().GroupKind() && u.GetName() == o.GetName() &&
				(u.GetNamespace() == o.GetNamespace() || u.GetNamespace() == "") {
				p.object, p.index, p.item = u.Object, i, k
				return true
			}
		}
	}
	return false
}

// Object returns the object as its template renders it. It must not be
// modified.
func (p *Probe) Object() map[string]any { return p.object }

// runTraced executes the template once more and records a trace.
func (p *Probe) runTraced(ctx context.Context) error {
	s := p.job.source
	p.trace = &trace{reads: newReads(), words: map[string][]string{}}
	traced := s.tracked(p.trace.reads)
	traced.trace = p.trace
	in := p.in.copy()
	p.trace.register(in.values["Values"], []string{"Values"})
	p.trace.register(in.values["Release"], []string{"Release"})
	e := newEngine(ctx, p.job.limits, traced, newEntropy(clock(s)))
	all := renderables(in.chart, in.values)
	if err := e.prepare(all); err != nil {
		return p.job.doesNotRender(err)
	}
	if _, err := p.execute(e, all); err != nil {
		return p.job.doesNotRender(err)
	}
	return nil
}

// Values returns the values that the templates see: the user's values over
// those of the chart and its dependencies. They must not be modified.
func (p *Probe) Values() map[string]any {
	m, _ := asMap(p.in.values["Values"])
	return m
}

// Reads reports whether the object's template reads the value at a path, or
// whether the value enables the template's dependency. It may report true for
// a value that is not read, but never false for one that is.
func (p *Probe) Reads(path ...string) bool {
	decides, imported := p.helmUses(path)
	read, copied := decides || p.trace.has(append([]string{"Values"}, path...)), false
	for _, to := range imported {
		read = read || p.trace.has(append([]string{"Values"}, to...))
	}
	eachChart(p.in.chart, nil, func(_ *chart.Chart, at []string) {
		switch global := append(at, chartutil.GlobalKey); {
		case path[0] == chartutil.GlobalKey:
			read = read || p.trace.has(slices.Concat([]string{"Values"}, at, path))
		case len(path) > len(global) && slices.Equal(path[:len(global)], global):
			// Helm overwrites this value with the global value of the parent.
			_, above := fleet.Lookup(p.Values(), path[len(at):])
			copied = copied || above
		}
	})
	return read && !copied
}

// ComparedTexts returns the string constants that templates use in the same
// command as a field of the name. Most of them are compared with the field's
// value.
func (p *Probe) ComparedTexts(name string) []string { return p.trace.words[name] }

// An Override is a value at a path. A nil value removes the key.
type Override struct {
	Path  []string
	Value any
}

// Render renders the object with other values. It returns nil when the object
// disappears. When its name changes, the object at the same index is returned.
func (p *Probe) Render(others ...Override) (o map[string]any, err error) {
	return p.render(func() (*input, error) {
		if slices.ContainsFunc(others, func(o Override) bool {
			decides, imported := p.helmUses(o.Path)
			return decides || imported != nil
		}) {
			user, _ := p.job.release.Values.Value().(map[string]any)
			for _, o := range others {
				assign(user, o.Path, o.Value, false)
			}
			return p.job.inputWith(user)
		}
		in := p.in.copy()
		values, _ := asMap(in.values["Values"])
		for _, o := range others {
			eachChart(in.chart, nil, func(c *chart.Chart, at []string) {
				if own := below(values, at); own != nil && (c == in.chart || o.Path[0] == chartutil.GlobalKey) {
					assign(own, o.Path, o.Value, true)
				}
			})
		}
		return in, nil
	})
}

// RenderIn renders the object in another namespace of the release.
func (p *Probe) RenderIn(namespace string) (map[string]any, error) {
	return p.render(func() (*input, error) {
		in := p.in.copy()
		if m, ok := asMap(in.values["Release"]); ok {
			m["Namespace"] = namespace
		}
		return in, nil
	})
}

func (p *Probe) render(input func() (*input, error)) (o map[string]any, err error) {
	defer func() {
		if v := recover(); v != nil {
			o, err = nil, p.job.doesNotRender(v)
		}
	}()
	in, err := input()
	if err != nil {
		return nil, err
	}
	text, err := p.execute(p.engine, p.renderables(in))
	if err != nil || text == p.text {
		return p.object, err
	}
	return p.locate(split(text))
}

// locate searches for the object in the documents of a rendering: by name or,
// when the number of documents is the same, by index.
func (p *Probe) locate(texts []string) (map[string]any, error) {
	if slices.Contains(texts, p.texts[p.index]) {
		return p.object, nil
	}
	var inPlace map[string]any
	for i, text := range texts {
		if slices.Contains(p.texts, text) {
			continue
		}
		d := readDocument(text)
		if d.rejected != nil || len(d.errs) > 0 {
			return nil, p.job.fault(diag.CodeRenderedObject, templateHint, "chart %s renders a document that is not an object", p.job.chart.Ref)
		}
		for k, o := range d.objs {
			if d.isApplied(p.job.release) && SameObject(o.Object, p.object) {
				return o.Object, nil
			}
			if i == p.index && k == p.item && len(texts) == len(p.texts) && o.Object["kind"] == p.object["kind"] {
				inPlace = o.Object
			}
		}
	}
	return inPlace, nil
}

// SameObject reports whether two rendered objects of one release have the same
// kind, namespace and name.
func SameObject(a, b map[string]any) bool {
	x, y := unstructured.Unstructured{Object: a}, unstructured.Unstructured{Object: b}
	return x.GroupVersionKind().GroupKind() == y.GroupVersionKind().GroupKind() && x.GetName() == y.GetName() && x.GetNamespace() == y.GetNamespace()
}

// inputWith returns the input for a rendering with other user values.
func (j *job) inputWith(user map[string]any) (*input, error) {
	caps, err := capabilities(j.cluster, j.apis)
	if err != nil {
		return nil, err
	}
	loaded := instance(j.source.chart)
	values, _, err := templateValues(loaded, j.release, user, caps)
	return &input{loaded, values}, err
}

// helmUses reports whether Helm uses the value at a path to enable the
// dependency of the template, and returns the paths to which the value is
// imported.
func (p *Probe) helmUses(path []string) (decides bool, imported [][]string) {
	eachChart(p.in.chart, nil, func(c *chart.Chart, at []string) {
		for _, d := range c.Metadata.Dependencies {
			name := fleet.DependencyKey(d)
			for _, v := range d.ImportValues {
				from, to := importOf(v)
				if from = slices.Concat(at, []string{name}, from); len(path) > len(from) && slices.Equal(path[:len(from)], from) {
					imported = append(imported, slices.Concat(at, to, path[len(from):]))
				}
			}
			if !strings.Contains(p.name, "/charts/"+name+"/") {
				continue
			}
			decides = decides || path[0] == "tags" && len(d.Tags) > 0
			for condition := range strings.SplitSeq(d.Condition, ",") {
				decides = decides || condition != "" && slices.Equal(path, slices.Concat(at, strings.Split(strings.TrimSpace(condition), ".")))
			}
		}
	})
	return decides, imported
}

// importOf returns the source path in the dependency and the target path in
// the parent of an import-values entry.
func importOf(v any) (from, to []string) {
	keys := func(v any) []string {
		s, _ := v.(string)
		return slices.DeleteFunc(strings.Split(s, "."), func(key string) bool { return key == "" })
	}
	switch v := v.(type) {
	case string:
		return []string{"exports", v}, nil
	case map[string]string:
		return keys(v["child"]), keys(v["parent"])
	case map[string]any:
		return keys(v["child"]), keys(v["parent"])
	}
	return nil, nil
}

// eachChart calls f for a chart and all its dependencies with the path of their values.
func eachChart(c *chart.Chart, at []string, f func(c *chart.Chart, at []string)) {
	f(c, at)
	for _, d := range c.Dependencies() {
		eachChart(d, append(at[:len(at):len(at)], d.Name()), f)
	}
}

// below returns the map at a path, or nil.
func below(m map[string]any, path []string) map[string]any {
	for _, key := range path {
		m, _ = asMap(m[key])
	}
	return m
}

// assign sets the value at a path. With remove, nil deletes the key. Otherwise
// nil is stored, because Helm removes the key itself.
func assign(m map[string]any, path []string, v any, remove bool) {
	for _, key := range path[:len(path)-1] {
		next, ok := asMap(m[key])
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	key := path[len(path)-1]
	if v == nil && remove {
		delete(m, key)
		return
	}
	m[key] = fleet.Clone(v)
}

// asMap converts a value to a map, if it is one.
func asMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, v != nil
	case chartutil.Values:
		return v, v != nil
	}
	return nil, false
}
