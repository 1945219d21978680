package query

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// ObjectExplanation says where an object, or a field of it, comes from.
type ObjectExplanation struct {
	Cluster string // ID
	Object  fleet.Object
	Field   []string           // keys, and indexes of lists; empty for the whole object
	Value   any                // of the field, as encoding/json decodes it; nil for the whole object
	Secret  bool               // whether the field is data of a Secret: do not show its value
	Lines   []TemplateLine     // lines that printed the field: of the object's template, then of included ones
	At      diag.Pos           // position in a manifest or CUE file, of the field if it can be found
	Patches []*fleet.Patch     // patches that changed the field, in their order
	Random  *fleet.RandomField // the release's rule for a nondeterministic field, nil when it has none

	// Nondeterministic is whether the field differs in every rendering and the release has
	// no rule for it.
	Nondeterministic bool

	// Written explains the field in the configuration of an object in CUE; nil for other
	// objects and for data of Secrets.
	Written *fleet.Explanation

	// Placed is whether the compiler set the field: it is the namespace, and the source
	// does not have one.
	Placed bool

	// Depends are the values that the field depends on, sorted by path.
	// Complete is whether all candidates were tried.
	Depends  []ValueDependency
	Complete bool

	written string // path of Written; empty for none
}

// TemplateLine is a line of a chart's template.
type TemplateLine struct {
	render.TemplateLine
	File string `json:"file,omitempty"` // relative to the fleet's root; empty when the chart is not in the repository
}

// ValueDependency is a value that a field of an object depends on.
type ValueDependency struct {
	Path  string // in the configuration, as CUE writes it
	Value *fleet.Explanation
	How   origin.Influence
	Other any // a value for which the field differs, nil for none

	// Secret is whether the value must not be shown: the field is data of a Secret, or a
	// Secret of the cluster contains the value.
	Secret bool
}

// renderUnchecked renders a cluster and returns its patched objects, sorted by release and
// name, without checking them.
func renderUnchecked(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster) (*compiler.ClusterRendering, []fleet.Object, error) {
	all, err := f.Render(ctx, c)
	if err != nil {
		return nil, nil, diag.In(c.ID, err)
	}
	objs, err := undecidedObjects(f, all)
	return all, objs, diag.In(c.ID, err)
}

// undecidedObjects returns the patched objects of a rendering. Nondeterministic fields without
// a rule are not a fault.
func undecidedObjects(f *compiler.Fleet, all *compiler.ClusterRendering) ([]fleet.Object, error) {
	decided := &compiler.ClusterRendering{Cluster: all.Cluster, Releases: all.Releases, Renderings: slices.Clone(all.Renderings)}
	for i, r := range all.Releases {
		result := &decided.Renderings[i].Result
		result.Nondeterministic = slices.DeleteFunc(slices.Clone(result.Nondeterministic), func(v render.NondeterministicPart) bool {
			return v.Object < 0 || r.RandomRule(result.Objects[v.Object], v.Path) < 0
		})
	}
	return decided.Objects(&f.Kinds, nil)
}

// ExplainObject explains an object of the cluster that the pattern selects, or a field of
// it. name is as in [objectName]; the kind may also be plural, short, or have its group.
// field is as in [fleet.ParseField], with [key=value] for an element of a list, or empty for
// the whole object. It fails if the pattern selects several clusters, the cluster does not
// render, or the object or field does not exist.
func ExplainObject(ctx context.Context, c *compiler.Compiler, pattern, name, field string) (*ObjectExplanation, error) {
	x, f, err := oneCluster(ctx, c, pattern)
	if err != nil {
		return nil, err
	}
	all, objs, err := renderUnchecked(ctx, f, f.Clusters[0])
	if err != nil {
		return nil, err
	}
	e, err := explainObject(ctx, f, all, objs, name, field)
	if err != nil {
		return nil, err
	}
	if e.written != "" && !e.Secret {
		if e.Written, err = x.Field(ctx, e.written); err != nil {
			return nil, err
		}
	}
	for i := range e.Depends {
		if e.Depends[i].Value, err = x.value(ctx, e.Depends[i].Path); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// oneCluster loads the one cluster that a pattern selects, and its explainer.
func oneCluster(ctx context.Context, c *compiler.Compiler, pattern string) (*Explainer, *compiler.Fleet, error) {
	x, err := Explain(ctx, c, pattern)
	if err != nil {
		return nil, nil, err
	}
	f, err := c.Load(ctx, pattern)
	return x, f, err
}

// value explains a value. For an element of a list in the chart's defaults, it explains the
// list.
func (x *Explainer) value(ctx context.Context, path string) (*fleet.Explanation, error) {
	e, err := x.Field(ctx, path)
	if list, _, isElement := strings.Cut(path, "["); err != nil && isElement {
		return x.Field(ctx, list)
	}
	return e, err
}

// CompleteObject returns completions of the name of an object of the cluster that the
// pattern selects, or of a field of the object if it is not empty. It returns nothing if
// the cluster does not render.
func CompleteObject(ctx context.Context, c *compiler.Compiler, pattern, object, begun string) []string {
	_, f, err := oneCluster(ctx, c, pattern)
	if err != nil {
		return nil
	}
	_, objs, err := renderUnchecked(ctx, f, f.Clusters[0])
	if err != nil {
		return nil
	}
	if object == "" {
		return nextObjects(objs, begun)
	}
	o, err := findObject(objs, f.Clusters[0].ID, object)
	if err != nil {
		return nil
	}
	return nextFields(o, begun)
}

// explainObject explains one of the objects of a rendered cluster.
func explainObject(ctx context.Context, f *compiler.Fleet, all *compiler.ClusterRendering, objs []fleet.Object, name, field string) (*ObjectExplanation, error) {
	o, err := findObject(objs, all.Cluster.ID, name)
	if err != nil {
		return nil, err
	}
	path, err := findField(o, field)
	if err != nil {
		return nil, err
	}
	keys := path.keys()
	e := &ObjectExplanation{Cluster: all.Cluster.ID, Object: o, Field: keys, At: o.Pos, Complete: true}
	if len(keys) > 0 {
		e.Value, _ = fleet.Lookup(o.Object, keys)
	}
	e.Secret = o.GetKind() == "Secret" && (len(keys) == 0 || keys[0] == "data" || keys[0] == "stringData")
	texts := diff.SecretTexts{}
	for _, o := range objs {
		texts.Add(o)
	}
	e.Secret = e.Secret || texts.ContainsLong(e.Value)
	p, err := f.Origin(ctx, all, o, keys)
	if err != nil {
		return nil, err
	}
	if p.Subject != nil {
		p.Subject.Lookup = lookupDeterministic(p, path)
	}
	return e, explain(ctx, f, p, e, texts)
}

// explain completes an explanation. It marks the values that are in secretTexts as secret.
func explain(ctx context.Context, f *compiler.Fleet, p *origin.Origin, e *ObjectExplanation, secretTexts diff.SecretTexts) error {
	r := p.Release
	e.Patches = p.Patches
	isRandom := slices.ContainsFunc(p.RandomFields, func(f []string) bool {
		return len(f) <= len(e.Field) && slices.Equal(f, e.Field[:len(f)])
	})
	// A field that is the same in every rendering is not kept, also below a path with keep.
	if i := r.RandomRule(e.Object, e.Field); i >= 0 && (isRandom || r.Random[i].Action != fleet.KeepRandom) {
		e.Random = &r.Random[i]
	}
	e.Nondeterministic = e.Random == nil && isRandom
	switch {
	case p.Probe != nil:
		e.Lines = lines(p, p.RawField)
		_, written := fleet.Lookup(p.Probe.Object(), e.Field)
		e.Placed = !written && slices.Equal(e.Field, []string{"metadata", "namespace"})
		if len(e.Lines) == 0 && e.Placed {
			e.Lines = lines(p, nil)
		}
	case r.Manifests != "":
		e.At = origin.ManifestPos(f.Dir, e.Object.Pos, p.RawField)
	default:
		explainWritten(p, e)
	}
	if p.Subject == nil || e.Random != nil || e.Nondeterministic {
		return nil
	}
	found, complete, err := p.Subject.Dependencies(ctx)
	if err != nil {
		return err
	}
	e.Complete = complete
	if how := p.OnNamespace(); how != origin.No {
		e.Depends = append(e.Depends, ValueDependency{Path: r.Path("namespace"), How: how, Secret: e.Secret})
	}
	for _, d := range found {
		value, _ := fleet.Lookup(p.Subject.Values, d.Path)
		e.Depends = append(e.Depends, ValueDependency{
			Path: valuesPath(r, p.Subject.Values, d.Path), How: d.How, Other: d.Other, Secret: e.Secret || secretTexts.Contains(value),
		})
	}
	slices.SortStableFunc(e.Depends, func(a, b ValueDependency) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// explainWritten completes the explanation of an object that is written in CUE.
func explainWritten(p *origin.Origin, e *ObjectExplanation) {
	t, path := origin.WrittenIn(p.Release, p.Raw)
	if t == nil {
		return
	}
	if len(e.Field) > 0 {
		e.At = origin.WrittenPos(p.Release, &fleet.FieldError{Object: p.Raw, Field: p.RawField})
	}
	if _, ok := fleet.Lookup(t.Native(), p.RawField); ok {
		e.written = fleet.FieldText(slices.Concat([]string{"releases", p.Release.Name, "objects"}, path, p.RawField))
	} else {
		e.Placed = slices.Equal(e.Field, []string{"metadata", "namespace"})
	}
}

// lines returns the template lines that printed a field.
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

// lookupDeterministic returns a function that looks up a field of an object without its
// nondeterministic parts.
func lookupDeterministic(p *origin.Origin, path fieldPath) func(o map[string]any) any {
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
		return path.lookup(o)
	}
}

// MarshalJSON encodes the explanation for the output of a command, without values of
// Secrets.
func (e *ObjectExplanation) MarshalJSON() ([]byte, error) {
	type patch struct {
		Name string `json:"name"`
		At   string `json:"at"`
	}
	out := struct {
		Cluster   string             `json:"cluster"`
		Object    string             `json:"object"`
		Field     string             `json:"field"`
		Value     any                `json:"value"`
		Secret    bool               `json:"secret,omitempty"`
		Release   string             `json:"release"`
		ReleaseAt string             `json:"releaseAt"`
		Template  string             `json:"template,omitempty"`
		Lines     []TemplateLine     `json:"lines"`
		At        string             `json:"at,omitempty"`
		Patches   []patch            `json:"patches"`
		Placed    bool               `json:"placed,omitempty"`
		Random    bool               `json:"random,omitempty"`
		RandomAt  string             `json:"randomAt,omitempty"`
		Written   *fleet.Explanation `json:"written,omitempty"`
		Complete  bool               `json:"complete"`
		Values    []explainedValue   `json:"values"`
	}{
		Cluster: e.Cluster, Object: e.Object.ID(), Field: fleet.FieldText(e.Field), Secret: e.Secret,
		Release: e.Object.Release.Name, ReleaseAt: e.Object.Release.Pos.String(), Template: e.Object.Template,
		Lines: append([]TemplateLine{}, e.Lines...), Patches: []patch{}, Placed: e.Placed, Random: e.Nondeterministic || e.Random != nil,
		Written: e.Written, Complete: e.Complete, Values: []explainedValue{},
	}
	if !e.Secret {
		out.Value = e.Value
	}
	if e.At != e.Object.Release.Pos {
		out.At = e.At.String()
	}
	if e.Random != nil {
		out.RandomAt = e.Random.Pos.String()
	}
	for _, p := range e.Patches {
		out.Patches = append(out.Patches, patch{p.Name, p.Pos.String()})
	}
	for _, d := range e.Depends {
		out.Values = append(out.Values, d.explained())
	}
	return diag.MarshalJSON(out)
}

// An explainedValue is the JSON form of a value that a field depends on.
type explainedValue struct {
	How string `json:"how"`
	fleet.Explanation
}

// explained returns the JSON form of the value, without the lines and the text of a secret
// one.
func (d *ValueDependency) explained() explainedValue {
	v := explainedValue{d.How.String(), *d.Value}
	if d.Secret {
		v.Value, v.Layers, v.Contributions, v.Leaves = nil, []fleet.LayerValue{}, []*fleet.Contribution{}, []fleet.Leaf{}
	}
	return v
}
