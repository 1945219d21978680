package render

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Probe renders one object of a chart again and again, with one value changed
// each time, and knows which values its template read and which line printed
// what. It is used by one goroutine.
//
// Only the template of the object is executed, and values are changed in what
// Helm merged, as long as that makes no difference: where a value decides about
// dependencies or is imported from one, or where other templates change what
// this one sees, everything is done as for the release itself.
type Probe struct {
	job    *job
	engine *engine
	in     *input         // never modified
	object map[string]any // as its template renders it
	name   string         // of the template in a rendering
	before bool           // whether the templates before it are executed as well
	text   string         // what the template prints
	texts  []string
	index  int // of the object's document in texts
	item   int // of the object in the document
	trace  *trace
}

// Probe prepares to render an object of a release of a chart again. o is one of
// the objects that [Charts.Release] returned for the same arguments, of which
// its template, kind and name are looked at, and its namespace unless the
// template sets none. It returns nil for an object that no template renders,
// one of a crds directory, and when the object is another one each time.
func (cs *Charts) Probe(ctx context.Context, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string, o fleet.Object) (p *Probe, err error) {
	j := &job{cluster: c, release: r, chart: ch, apis: apis, most: cs.most(), source: cs.source(ch)}
	defer func() {
		if v := recover(); v != nil {
			p, err = nil, j.fault("chart %s does not render: %v", ch.Ref, v)
		}
	}()
	in, err := j.input()
	if err != nil {
		return nil, err
	}
	p = &Probe{job: j, in: in, name: o.Template, engine: newEngine(ctx, j.most, j.source, newLuck(clock(j.source)))}
	first := in.copy()
	all := renderables(first.chart, first.values)
	if !slices.ContainsFunc(all, func(r renderable) bool { return r.name == p.name }) {
		return nil, nil
	}
	if err := p.engine.prepare(all); err != nil {
		return nil, j.fault("chart %s does not render: %v", ch.Ref, err)
	}
	p.before = true
	if p.text, err = p.execute(p.engine, all); err != nil {
		return nil, j.fault("chart %s does not render: %v", ch.Ref, err)
	}
	if !p.find(o) {
		return nil, nil
	}
	p.before = false
	alone := func() string {
		in := in.copy()
		text, _ := p.execute(p.engine, p.renderables(in))
		return text
	}
	if text := alone(); text != p.text {
		p.before = text == alone() // else it is another one each time, by itself
	}
	return p, p.follow(ctx)
}

// renderables returns the templates that are executed.
func (p *Probe) renderables(in *input) (all []renderable) {
	if p.before {
		return renderables(in.chart, in.values)
	}
	collect(in.chart, in.values, func(r renderable) {
		if r.name == p.name {
			all = []renderable{r} // as in a map, the last of a name counts
		}
	})
	return all
}

// execute executes the template among others and returns what it prints.
func (p *Probe) execute(e *engine, all []renderable) (string, error) {
	e.reset(e.ctx, p.job.most, e.luck)
	for _, r := range all {
		if r.name == p.name {
			return e.one(r)
		}
		if p.before && !isPartial(r.name) {
			if _, err := e.one(r); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// find finds an object in what its template prints.
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

// Object returns the object as its template renders it. It must not be modified.
func (p *Probe) Object() map[string]any { return p.object }

// follow executes the template once more, with a trace.
func (p *Probe) follow(ctx context.Context) error {
	s := p.job.source
	p.trace = newTrace()
	traced := s.followed(p.trace.reads)
	traced.trace = p.trace
	in := p.in.copy()
	p.trace.register(in.values["Values"], []string{"Values"})
	p.trace.register(in.values["Release"], []string{"Release"})
	e := newEngine(ctx, p.job.most, traced, newLuck(clock(s)))
	all := renderables(in.chart, in.values)
	if err := e.prepare(all); err != nil {
		return p.job.fault("chart %s does not render: %v", p.job.chart.Ref, err)
	}
	if _, err := p.execute(e, all); err != nil {
		return p.job.fault("chart %s does not render: %v", p.job.chart.Ref, err)
	}
	return nil
}

// Values returns the values that the templates see: the user's over those of
// the chart and its dependencies. They must not be modified.
func (p *Probe) Values() map[string]any {
	m, _ := asMap(p.in.values["Values"])
	return m
}

// Reads reports whether the object's template read the value at a path, or
// whether it decides about a dependency that the template is of. It may say so
// of one that was not read, and never misses one that was.
func (p *Probe) Reads(path ...string) bool {
	decides, imported := p.structural(path)
	read, copied := decides || p.trace.has(append([]string{"Values"}, path...)), false
	for _, to := range imported {
		read = read || p.trace.has(append([]string{"Values"}, to...))
	}
	dependencies(p.in.chart, nil, func(_ *chart.Chart, at []string) {
		switch global := append(at, chartutil.GlobalKey); {
		case path[0] == chartutil.GlobalKey:
			read = read || p.trace.has(slices.Concat([]string{"Values"}, at, path))
		case len(path) > len(global) && slices.Equal(path[:len(global)], global):
			// Helm puts the values that are global here, whatever stood here.
			_, above := fleet.Lookup(p.Values(), path[len(at):])
			copied = copied || above
		}
	})
	return read && !copied
}

// ReadsNamespace reports whether the template read the release's namespace.
func (p *Probe) ReadsNamespace() bool { return p.trace.has([]string{"Release", "Namespace"}) }

// Beside returns the texts that stand beside a field of the name in a command
// of a template: those that its value is compared with, mostly.
func (p *Probe) Beside(name string) []string { return p.trace.words[name] }

// An Other is another value at a path of keys, or none when it is nil.
type Other struct {
	Path  []string
	Value any
}

// Render renders the object with other values, and returns it; nil when it is
// not there any more. The object may have another name: it is then that which
// stands in its place.
func (p *Probe) Render(ctx context.Context, others ...Other) (o map[string]any, err error) {
	return p.render(func() (*input, error) {
		if slices.ContainsFunc(others, func(o Other) bool {
			decides, imported := p.structural(o.Path)
			return decides || imported != nil
		}) {
			user, _ := p.job.release.Values.Value().(map[string]any)
			for _, o := range others {
				assign(user, o.Path, o.Value, false)
			}
			return p.job.other(user)
		}
		in := p.in.copy()
		values, _ := asMap(in.values["Values"])
		for _, o := range others {
			assign(values, o.Path, o.Value, true)
			if o.Path[0] == chartutil.GlobalKey {
				dependencies(in.chart, nil, func(_ *chart.Chart, at []string) {
					if own := below(values, at); own != nil {
						assign(own, o.Path, o.Value, true)
					}
				})
			}
		}
		return in, nil
	})
}

// RenderIn renders the object with another namespace of the release.
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
			o, err = nil, p.job.fault("chart %s does not render: %v", p.job.chart.Ref, v)
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
	return p.among(split(text))
}

// among returns the object among the documents of a rendering: the one of its
// name or, when there are as many as before, the one in its place.
func (p *Probe) among(texts []string) (map[string]any, error) {
	if slices.Contains(texts, p.texts[p.index]) {
		return p.object, nil
	}
	var inPlace map[string]any
	for i, text := range texts {
		if slices.Contains(p.texts, text) {
			continue
		}
		d := readDocument(text)
		if d.refused != nil || len(d.errs) > 0 {
			return nil, p.job.fault("chart %s renders what is no object", p.job.chart.Ref)
		}
		for k, o := range d.objs {
			if d.wanted(p.job.release) && SameObject(o.Object, p.object) {
				return o.Object, nil
			}
			if i == p.index && k == p.item && len(texts) == len(p.texts) && o.Object["kind"] == p.object["kind"] {
				inPlace = o.Object
			}
		}
	}
	return inPlace, nil
}

// SameObject reports whether two objects of one release, as they are rendered,
// are one by kind, namespace and name.
func SameObject(a, b map[string]any) bool {
	x, y := unstructured.Unstructured{Object: a}, unstructured.Unstructured{Object: b}
	return x.GroupVersionKind().GroupKind() == y.GroupVersionKind().GroupKind() && x.GetName() == y.GetName() && x.GetNamespace() == y.GetNamespace()
}

// other returns the input of a rendering with other values of the user's.
func (j *job) other(user map[string]any) (*input, error) {
	caps, err := capabilities(j.cluster, j.apis)
	if err != nil {
		return nil, err
	}
	loaded := instance(j.source.chart)
	values, _, err := coalesce(loaded, j.release, user, caps)
	return &input{loaded, values}, err
}

// structural reports whether Helm itself goes by the value at a path, when it
// decides whether there is the dependency that the template is of; and where
// the value is imported to, nil when it is not.
func (p *Probe) structural(path []string) (decides bool, imported [][]string) {
	look := func(c *chart.Chart, at []string) {
		for _, d := range c.Metadata.Dependencies {
			name := cmp.Or(d.Alias, d.Name)
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
	}
	look(p.in.chart, nil)
	dependencies(p.in.chart, nil, look)
	return decides, imported
}

// importOf returns which of its values a dependency exports, and to where its
// parent imports them, by one of the import-values of Chart.yaml.
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

// dependencies calls f for all dependencies of a chart, with where their values
// are.
func dependencies(c *chart.Chart, at []string, f func(c *chart.Chart, at []string)) {
	for _, d := range c.Dependencies() {
		own := append(at[:len(at):len(at)], d.Name())
		f(d, own)
		dependencies(d, own, f)
	}
}

// below returns the map at a path, nil when there is none.
func below(m map[string]any, path []string) map[string]any {
	for _, key := range path {
		m, _ = asMap(m[key])
	}
	return m
}

// assign sets the value at a path. One that is nil is removed or, since Helm
// removes it then, set to null.
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
	m[key] = deepCopy(v)
}

// asMap returns a value as a map, when it is one.
func asMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, v != nil
	case chartutil.Values:
		return v, v != nil
	}
	return nil, false
}
