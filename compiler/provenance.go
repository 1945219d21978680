package compiler

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/trial"
	"github.com/fleetc/fleetc/compiler/stage/patch"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

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

// ofChart returns an object of a chart as the subject of trials.
func (p *provenance) ofChart(ctx context.Context) *trial.Subject {
	object, err := p.finish(p.probe.Object(), p.release.Namespace)
	if err != nil {
		object = p.object.Object
	}
	return &trial.Subject{
		Object: object, Values: p.probe.Values(),
		Render: func(changes ...trial.Change) (map[string]any, error) {
			others := make([]render.Other, len(changes))
			for i, c := range changes {
				others[i] = render.Other(c)
			}
			o, err := p.probe.Render(ctx, others...)
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
		Render: func(changes ...trial.Change) (map[string]any, error) {
			other := values
			for _, c := range changes {
				other = with(other, c.Path, c.Value)
			}
			tree, err := fleet.TreeOf(other)
			if err != nil {
				return nil, err
			}
			changed := *p.release
			changed.Values = tree
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
