package compiler

import (
	"context"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/patch"
	"github.com/fleetc/fleetc/compiler/render"
	"github.com/fleetc/fleetc/compiler/trial"
)

// An ObjectExplanation says where an object, or a field of it, comes from.
type ObjectExplanation struct {
	Object  fleet.Object
	Field   []string       // keys, and indexes of lists; empty for the whole object
	Value   any            // of the field, as encoding/json decodes it; nil of the whole object
	Secret  bool           // whether the value is one of a Secret: it, and values that end in it, are shown to nobody
	Lines   []TemplateLine // that printed the field: of the object's own template, then of those that it includes for it
	At      diag.Pos       // of what is written in the fleet: where the field is, as far as that is known
	Patches []*fleet.Patch // that changed the field, in their order
	Random  *fleet.Random  // what the release says of a field that the chart makes up anew at every render
	Chance  bool           // whether the field is made up anew at every render, and nobody says what becomes of it

	// Placed is whether the field is the namespace that the compiler gives an
	// object whose source gives it none.
	Placed bool

	// Depends are the values that the field depends on, sorted by path.
	// Complete is whether all were tried that may be.
	Depends  []ValueDependency
	Complete bool
}

// A TemplateLine is a line of a template of a chart.
type TemplateLine struct {
	render.Place
	File string // relative to the fleet's root; empty when the chart is not in the repository
}

// A ValueDependency is a value that a field of an object depends on.
type ValueDependency struct {
	Path string // in the configuration, as CUE writes it
	How  trial.How
}

// Objects returns the objects of a cluster as they are rendered and patched,
// without a check, sorted by release and name.
func (f *Fleet) Objects(ctx context.Context, c *fleet.Cluster) ([]fleet.Object, error) {
	_, objs, err := f.unchecked(ctx, c)
	return objs, err
}

// unchecked renders a cluster, and returns its objects as well.
func (f *Fleet) unchecked(ctx context.Context, c *fleet.Cluster) (*clusterRendering, []fleet.Object, error) {
	all, err := f.render(ctx, c)
	if err != nil {
		return nil, nil, diag.In(c.ID, err)
	}
	// Fields that nobody has decided about stay as they are.
	decided := &clusterRendering{all.cluster, all.releases, slices.Clone(all.renderings)}
	for i, r := range all.releases {
		result := &decided.renderings[i].result
		result.Volatile = slices.DeleteFunc(slices.Clone(result.Volatile), func(v render.Volatile) bool {
			return v.Object < 0 || decision(r, result.Objects[v.Object], v.Path) < 0
		})
	}
	objs, err := decided.objects(nil)
	return all, objs, diag.In(c.ID, err)
}

// ExplainObject explains an object of a cluster, or a field of it. name is that
// of [ObjectName], with kinds also in plural, short, or with their group; field
// is one as [fleet.ParseField] reads it, with [key=value] for an element of a
// list, or empty for the whole object. What does not exist is a fault, and so
// is what does not render.
func (f *Fleet) ExplainObject(ctx context.Context, c *fleet.Cluster, name, field string) (*ObjectExplanation, error) {
	all, objs, err := f.unchecked(ctx, c)
	if err != nil {
		return nil, err
	}
	return f.explainObject(ctx, all, objs, name, field)
}

// explainObject explains one of the objects of a cluster that is rendered.
func (f *Fleet) explainObject(ctx context.Context, all *clusterRendering, objs []fleet.Object, name, field string) (*ObjectExplanation, error) {
	o, err := FindObject(objs, all.cluster.ID, name)
	if err != nil {
		return nil, err
	}
	way, err := findField(o, field)
	if err != nil {
		return nil, err
	}
	keys := way.keys()
	e := &ObjectExplanation{Object: o, Field: keys, At: o.Pos, Complete: true}
	if len(keys) > 0 {
		e.Value, _ = fleet.Lookup(o.Object, keys)
	}
	e.Secret = o.GetKind() == "Secret" && (len(keys) == 0 || keys[0] == "data" || keys[0] == "stringData")
	p, err := f.provenance(ctx, all, o, keys)
	if err != nil {
		return nil, err
	}
	if p.subject != nil {
		p.subject.Lookup = p.settled(way)
	}
	return e, p.explain(ctx, e)
}

// A provenance is where an object comes from, and how to render it again.
type provenance struct {
	fleet   *Fleet
	cluster *fleet.Cluster
	release *fleet.Release
	saw     []string // API versions
	object  fleet.Object
	raw     fleet.Object // before the patches of its release
	patches []*fleet.Patch
	chance  [][]string    // fields that are made up anew at every render
	probe   *render.Probe // of a chart's object; nil otherwise
	subject *trial.Subject
}

// provenance returns where an object of a rendering comes from.
func (f *Fleet) provenance(ctx context.Context, all *clusterRendering, o fleet.Object, field []string) (*provenance, error) {
	i := slices.Index(all.releases, o.Release)
	p := &provenance{fleet: f, cluster: all.cluster, release: o.Release, saw: all.renderings[i].saw, object: o}
	result := all.renderings[i].result
	if err := p.unpatch(result.Objects, field); err != nil {
		return nil, err
	}
	for _, v := range result.Volatile {
		if v.Object >= 0 && result.Objects[v.Object].ID() == p.raw.ID() && len(v.Path) > 0 {
			p.chance = append(p.chance, v.Path)
		}
	}
	var err error
	switch ch := f.charts[o.Release.Chart].Chart; {
	case ch != nil:
		if p.probe, err = f.templates.Probe(ctx, all.cluster, o.Release, ch, p.saw, p.raw); err != nil || p.probe == nil {
			return p, err
		}
		p.subject = p.ofChart(ctx)
	case o.Release.Jsonnet != "":
		p.subject = p.ofJsonnet(ctx)
	default:
		return p, nil
	}
	p.subject.Field = field
	p.subject.Same = func(o map[string]any) bool {
		return (fleet.Object{Unstructured: &unstructured.Unstructured{Object: o}}).ID() == p.object.ID()
	}
	return p, nil
}

// explain completes an explanation.
func (p *provenance) explain(ctx context.Context, e *ObjectExplanation) error {
	r := p.release
	e.Patches = p.patches
	if i := decision(r, e.Object, e.Field); i >= 0 {
		e.Random = &r.Random[i]
	}
	e.Chance = e.Random == nil && slices.ContainsFunc(p.chance, func(f []string) bool {
		return len(f) <= len(e.Field) && slices.Equal(f, e.Field[:len(f)])
	})
	switch {
	case p.probe != nil:
		e.Lines = p.lines(e.Field)
		_, written := fleet.Lookup(p.probe.Object(), e.Field)
		e.Placed = !written && slices.Equal(e.Field, []string{"metadata", "namespace"})
		if len(e.Lines) == 0 && e.Placed {
			e.Lines = p.lines(nil)
		}
	case r.Manifests != "":
		e.At = p.fleet.manifestPos(e.Object.Pos, e.Field)
	case len(r.Objects) > 0 && len(e.Field) > 0:
		e.At = writtenAt(r, &fleet.FieldError{Object: e.Object, Field: e.Field})
	}
	if p.subject == nil || e.Random != nil || e.Chance {
		return nil
	}
	found, complete, err := p.subject.Dependencies(ctx)
	if err != nil {
		return err
	}
	e.Complete = complete
	if how := p.onNamespace(); how != trial.No {
		e.Depends = append(e.Depends, ValueDependency{r.Path("namespace"), how})
	}
	for _, d := range found {
		e.Depends = append(e.Depends, ValueDependency{valuesPath(r, p.subject.Values, d.Path), d.How})
	}
	slices.SortStableFunc(e.Depends, func(a, b ValueDependency) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// settled returns what looks up a field, without what is another one at every
// render in it.
func (p *provenance) settled(way fieldPath) func(o map[string]any) any {
	return func(o map[string]any) any {
		if len(p.chance) > 0 {
			o = runtime.DeepCopyJSON(o)
			for _, field := range p.chance {
				parent, _ := fleet.Lookup(o, field[:len(field)-1])
				switch parent := parent.(type) {
				case map[string]any:
					delete(parent, field[len(field)-1])
				case []any:
					if i, err := strconv.Atoi(field[len(field)-1]); err == nil && i < len(parent) {
						parent[i] = nil
					}
				}
			}
		}
		return way.lookup(o)
	}
}

// lines returns the lines of templates that printed a field.
func (p *provenance) lines(field []string) []TemplateLine {
	ch := p.fleet.charts[p.release.Chart]
	var out []TemplateLine
	for _, place := range p.probe.Places(field) {
		line := TemplateLine{Place: place}
		_, name, _ := strings.Cut(place.Template, "/")
		if ch.Ref.Path != "" && slices.ContainsFunc(ch.Files, func(f fleet.File) bool { return f.Name == name }) {
			line.File = path.Join(ch.Ref.Path, name)
		}
		out = append(out, line)
	}
	return out
}

// ofChart returns an object of a chart as the subject of trials.
func (p *provenance) ofChart(ctx context.Context) *trial.Subject {
	object, err := p.finish(p.probe.Object(), p.release.Namespace)
	if err != nil {
		object = p.object.Object
	}
	return &trial.Subject{
		Object: object, Values: p.probe.Values(),
		Render: func(path []string, v any) (map[string]any, error) {
			o, err := p.probe.Render(ctx, path, v)
			if err != nil {
				return nil, err
			}
			return p.finish(o, p.release.Namespace)
		},
		Reads: func(path []string) bool { return p.probe.Reads(path...) },
		First: func(path []string) bool { return isSet(p.release.Values, path) },
		Texts: p.probe.Beside,
	}
}

// ofJsonnet returns an object of a Jsonnet file as the subject of trials.
func (p *provenance) ofJsonnet(ctx context.Context) *trial.Subject {
	const most = 400 // an evaluation takes longer than a template
	values, _ := p.release.Values.Value().(map[string]any)
	return &trial.Subject{
		Object: p.object.Object, Values: values, Most: most,
		Render: func(path []string, v any) (map[string]any, error) {
			other, err := treeOf(with(values, path, v))
			if err != nil {
				return nil, err
			}
			changed := *p.release
			changed.Values = other
			result, err := p.fleet.evaluateJsonnet(ctx, p.cluster, &changed, p.saw)
			if err != nil {
				return nil, err
			}
			for _, o := range result.Objects {
				if o.GroupVersionKind().GroupKind() == p.raw.GroupVersionKind().GroupKind() && o.GetName() == p.raw.GetName() &&
					(o.GetNamespace() == "" || o.GetNamespace() == p.raw.GetNamespace()) {
					return p.finish(o.Object, p.release.Namespace)
				}
			}
			return nil, nil
		},
	}
}

// with returns a copy of a map with another value at a path of keys, or none.
func with(m map[string]any, path []string, v any) map[string]any {
	out := maps.Clone(m)
	switch below, _ := m[path[0]].(map[string]any); {
	case len(path) > 1:
		out[path[0]] = with(below, path[1:], v)
	case v == nil:
		delete(out, path[0])
	default:
		out[path[0]] = v
	}
	return out
}

// onNamespace returns what the release's namespace has to do with the field.
func (p *provenance) onNamespace() trial.How {
	if p.probe == nil {
		return trial.No
	}
	other := p.release.Namespace + "-x7q"
	o, err := p.probe.RenderIn(other)
	if err != nil || o == nil {
		return trial.No
	}
	if o, err = p.finish(o, other); err != nil {
		return trial.No
	}
	how := p.subject.Compare(o, p.release.Namespace, other)
	if how == trial.Exists {
		return trial.No // everything of a release is where it is since the release is there
	}
	return how
}

// finish returns an object as it is when the compiler is done with what its
// source renders: in a namespace, and patched.
func (p *provenance) finish(o map[string]any, namespace string) (map[string]any, error) {
	if o == nil {
		return nil, nil
	}
	u := &unstructured.Unstructured{Object: o}
	switch in := p.raw.GetNamespace(); {
	case in != "" && u.GetNamespace() == "":
		u = u.DeepCopy()
		u.SetNamespace(namespace)
	case in == "" && u.GetNamespace() != "":
		u = u.DeepCopy()
		u.SetNamespace("")
	}
	if len(p.release.Patches) == 0 {
		return u.Object, nil
	}
	r := *p.release
	r.Patches = slices.Clone(r.Patches)
	for i := range r.Patches {
		r.Patches[i].Optional = true // most are for other objects
	}
	objs, err := patch.Release(p.cluster, &r, []fleet.Object{{Unstructured: u, Release: &r, Template: p.raw.Template, Pos: p.raw.Pos}})
	if err != nil || len(objs) == 0 {
		return nil, err
	}
	return objs[0].Object, nil
}

// unpatch finds out which patches changed the field, and what the object was
// before all of them. objs are the objects before the patches.
func (p *provenance) unpatch(objs []fleet.Object, field []string) error {
	r := *p.release
	p.raw = p.object
	after := []fleet.Object{p.object}
	for n := len(p.release.Patches); n >= 0; n-- {
		r.Patches = p.release.Patches[:n]
		before, err := patch.Release(p.cluster, &r, objs)
		if err != nil {
			return err
		}
		was := counterpart(before, after, p.raw)
		if was.Unstructured == nil {
			break
		}
		a, inA := fleet.Lookup(was.Object, field)
		b, inB := fleet.Lookup(p.raw.Object, field)
		if n < len(p.release.Patches) && (inA != inB || !reflect.DeepEqual(a, b)) {
			p.patches = append(p.patches, &p.release.Patches[n])
		}
		p.raw, after = was, before
	}
	slices.Reverse(p.patches)
	return nil
}

// counterpart returns what an object was before a patch: that of its name or,
// since a patch may rename it, in its place.
func counterpart(before, after []fleet.Object, o fleet.Object) fleet.Object {
	if i := slices.IndexFunc(before, func(b fleet.Object) bool { return b.ID() == o.ID() }); i >= 0 {
		return before[i]
	}
	if i := slices.IndexFunc(after, func(a fleet.Object) bool { return a.Unstructured == o.Unstructured }); i >= 0 && len(before) == len(after) {
		return before[i]
	}
	return fleet.Object{}
}

// isSet reports whether the layers set the value at a path, or what is in it.
func isSet(t *fleet.Tree, path []string) bool {
	for _, key := range path {
		switch i, err := strconv.Atoi(key); {
		case t.Fields[key] != nil:
			t = t.Fields[key]
		case err == nil && i >= 0 && i < len(t.List):
			t = t.List[i]
		default:
			return false
		}
	}
	return true
}

// valuesPath returns the path of a value of a release as CUE writes it.
func valuesPath(r *fleet.Release, values map[string]any, path []string) string {
	out := r.Path("values")
	at := any(values)
	for _, key := range path {
		switch v := at.(type) {
		case []any:
			out += "[" + key + "]"
			i, _ := strconv.Atoi(key)
			at = v[i]
			continue
		case map[string]any:
			at = v[key]
		}
		out += "." + (&fleet.Release{Name: key}).Path()[len("releases."):]
	}
	return out
}
