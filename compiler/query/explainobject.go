package query

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/trial"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"k8s.io/apimachinery/pkg/runtime"
)

// An ObjectExplanation says where an object, or a field of it, comes from.
type ObjectExplanation struct {
	Object  fleet.Object
	Field   []string           // keys, and indexes of lists; empty for the whole object
	Value   any                // of the field, as encoding/json decodes it; nil of the whole object
	Secret  bool               // whether the value is one of a Secret: it, and values that end in it, are shown to nobody
	Lines   []TemplateLine     // that printed the field: of the object's own template, then of those that it includes for it
	At      diag.Pos           // of what is written in the fleet: where the field is, as far as that is known
	Patches []*fleet.Patch     // that changed the field, in their order
	Random  *fleet.RandomField // what the release says of a field that the chart renders differently every time
	Chance  bool               // whether the field differs in every rendering, and the release has no rule for it

	// Written is the path in the configuration of what is written in CUE; empty
	// when it is not.
	Written string

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
	render.TemplateLine
	File string // relative to the fleet's root; empty when the chart is not in the repository
}

// A ValueDependency is a value that a field of an object depends on.
type ValueDependency struct {
	Path  string // in the configuration, as CUE writes it
	How   trial.How
	Other any // a value in its place that shows it, nil for none

	// Secret is whether it is shown to nobody: the field is one of a Secret, or a
	// Secret of the cluster holds the value.
	Secret bool
}

// RenderedObjects returns the rendered and patched objects of a cluster without checking
// them, sorted by release and name.
func RenderedObjects(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster) ([]fleet.Object, error) {
	_, objs, err := unchecked(ctx, f, c)
	return objs, err
}

// unchecked renders a cluster, and returns its objects as well.
func unchecked(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster) (*compiler.ClusterRendering, []fleet.Object, error) {
	all, err := f.Render(ctx, c)
	if err != nil {
		return nil, nil, diag.In(c.ID, err)
	}
	// Fields that nobody has decided about stay as they are.
	decided := &compiler.ClusterRendering{Cluster: all.Cluster, Releases: all.Releases, Renderings: slices.Clone(all.Renderings)}
	for i, r := range all.Releases {
		result := &decided.Renderings[i].Result
		result.Nondeterministic = slices.DeleteFunc(slices.Clone(result.Nondeterministic), func(v render.NondeterministicPart) bool {
			return v.Object < 0 || compiler.DecisionOf(r, result.Objects[v.Object], v.Path) < 0
		})
	}
	objs, err := decided.Objects(&f.Kinds, nil)
	return all, objs, diag.In(c.ID, err)
}

// ExplainObject explains an object of a cluster, or a field of it. name is that
// of [ObjectName], with kinds also in plural, short, or with their group; field
// is one as [fleet.ParseField] reads it, with [key=value] for an element of a
// list, or empty for the whole object. What does not exist is a fault, and so
// is what does not render.
func ExplainObject(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster, name, field string) (*ObjectExplanation, error) {
	all, objs, err := unchecked(ctx, f, c)
	if err != nil {
		return nil, err
	}
	return explainObject(ctx, f, all, objs, name, field)
}

// explainObject explains one of the objects of a cluster that is rendered.
func explainObject(ctx context.Context, f *compiler.Fleet, all *compiler.ClusterRendering, objs []fleet.Object, name, field string) (*ObjectExplanation, error) {
	o, err := FindObject(objs, all.Cluster.ID, name)
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
	p, err := f.Origin(ctx, all, o, keys)
	if err != nil {
		return nil, err
	}
	if p.Subject != nil {
		p.Subject.Lookup = lookupSteady(p, way)
	}
	texts := diff.SecretTexts{}
	for _, o := range objs {
		texts.Add(o)
	}
	return e, explain(ctx, f, p, e, texts)
}

// explain completes an explanation. texts are those that no value of which is
// shown.
func explain(ctx context.Context, f *compiler.Fleet, p *origin.Origin, e *ObjectExplanation, texts diff.SecretTexts) error {
	r := p.Release
	e.Patches = p.Patches
	if i := compiler.DecisionOf(r, e.Object, e.Field); i >= 0 {
		e.Random = &r.Random[i]
	}
	e.Chance = e.Random == nil && slices.ContainsFunc(p.RandomFields, func(f []string) bool {
		return len(f) <= len(e.Field) && slices.Equal(f, e.Field[:len(f)])
	})
	switch {
	case p.Probe != nil:
		e.Lines = lines(p, e.Field)
		_, written := fleet.Lookup(p.Probe.Object(), e.Field)
		e.Placed = !written && slices.Equal(e.Field, []string{"metadata", "namespace"})
		if len(e.Lines) == 0 && e.Placed {
			e.Lines = lines(p, nil)
		}
	case r.Manifests != "":
		e.At = origin.ManifestPos(f.Dir, e.Object.Pos, e.Field)
	default:
		inCUE(p, e)
	}
	if p.Subject == nil || e.Random != nil || e.Chance {
		return nil
	}
	found, complete, err := p.Subject.Dependencies(ctx)
	if err != nil {
		return err
	}
	e.Complete = complete
	if how := p.OnNamespace(); how != trial.No {
		e.Depends = append(e.Depends, ValueDependency{Path: r.Path("namespace"), How: how, Secret: e.Secret})
	}
	for _, d := range found {
		value, _ := fleet.Lookup(p.Subject.Values, d.Path)
		e.Depends = append(e.Depends, ValueDependency{
			Path: valuesPath(r, p.Subject.Values, d.Path), How: d.How, Other: d.Other, Secret: e.Secret || texts.Contains(value),
		})
	}
	slices.SortStableFunc(e.Depends, func(a, b ValueDependency) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// inCUE completes the explanation of an object that is written in CUE.
func inCUE(p *origin.Origin, e *ObjectExplanation) {
	t, path := origin.WrittenIn(p.Release, p.Raw)
	if t == nil {
		return
	}
	if len(e.Field) > 0 {
		e.At = origin.WrittenPos(p.Release, &fleet.FieldError{Object: p.Raw, Field: e.Field})
	}
	if _, there := fleet.Lookup(t.Native(), e.Field); there {
		e.Written = fleet.FieldText(slices.Concat([]string{"releases", p.Release.Name, "objects"}, path, e.Field))
	} else {
		e.Placed = slices.Equal(e.Field, []string{"metadata", "namespace"})
	}
}

// lines returns the lines of templates that printed a field.
func lines(p *origin.Origin, field []string) []TemplateLine {
	ch := p.Chart
	var out []TemplateLine
	for _, place := range p.Probe.TemplateLines(field) {
		line := TemplateLine{TemplateLine: place}
		_, name, _ := strings.Cut(place.Template, "/")
		if ch.Ref.Path != "" && slices.ContainsFunc(ch.Files, func(f fleet.File) bool { return f.Name == name }) {
			line.File = path.Join(ch.Ref.Path, name)
		}
		out = append(out, line)
	}
	return out
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

// lookupSteady returns a function that looks up a field of an object without the parts
// that differ in every rendering.
func lookupSteady(p *origin.Origin, way fieldPath) func(o map[string]any) any {
	return func(o map[string]any) any {
		if len(p.RandomFields) > 0 {
			o = runtime.DeepCopyJSON(o)
			for _, field := range p.RandomFields {
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
