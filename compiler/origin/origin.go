// Package origin finds where rendered objects and their fields come from: the template
// lines that print them, the patches that change them, and the values they depend on.
// It finds these values by perturbation tests: a [Subject] changes one value after the
// other and renders the object again.
package origin

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// Renderer renders objects again, for perturbation tests.
type Renderer interface {
	// ChartOf returns the chart of a release, nil when it has none.
	ChartOf(r *fleet.Release) *fleet.Chart
	// Probe prepares an object of a chart for trials, see [render.Charts.Probe].
	Probe(ctx context.Context, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string, o fleet.Object) (*render.Probe, error)
	// EvaluateJsonnet renders a release of Jsonnet.
	EvaluateJsonnet(ctx context.Context, c *fleet.Cluster, r *fleet.Release, apis []string) (render.Result, error)
}

// RenderedRelease is a release with its result and the API versions that it saw.
type RenderedRelease struct {
	Cluster  *fleet.Cluster
	Release  *fleet.Release
	SeenAPIs []string // API versions that the release saw
	Result   render.Result
}

// Origin is the origin of an object: its release, chart and patches. It can render the
// object again.
type Origin struct {
	renderer     Renderer
	cluster      *fleet.Cluster
	Release      *fleet.Release
	Chart        *fleet.Chart // nil when the release has none
	seenAPIs     []string
	object       fleet.Object
	Raw          fleet.Object // before the patches of its release
	RawField     []string     // the field in Raw, see [kube.FieldBefore]
	Patches      []*fleet.Patch
	RandomFields [][]string    // fields that differ in every rendering
	Probe        *render.Probe // of an object of a chart; nil otherwise
	Subject      *Subject
}

// Of returns the origin of an object of a rendered release. The values that field depends
// on can be found by trials of the subject.
func Of(ctx context.Context, renderer Renderer, in RenderedRelease, o fleet.Object, field []string) (*Origin, error) {
	p := &Origin{
		renderer: renderer, cluster: in.Cluster, Release: in.Release, Chart: renderer.ChartOf(in.Release), seenAPIs: in.SeenAPIs, object: o,
	}
	result := in.Result
	if err := p.unpatch(result.Objects, field); err != nil {
		return nil, err
	}
	for _, v := range result.Nondeterministic {
		if v.Object >= 0 && result.Objects[v.Object].ID() == p.Raw.ID() && len(v.Path) > 0 {
			p.RandomFields = append(p.RandomFields, v.Path)
		}
	}
	var err error
	switch {
	case p.Chart != nil:
		if p.Probe, err = renderer.Probe(ctx, in.Cluster, in.Release, p.Chart, p.seenAPIs, p.Raw); err != nil || p.Probe == nil {
			return p, err
		}
		p.Subject = p.ofChart()
	case in.Release.Jsonnet != "":
		p.Subject = p.ofJsonnet(ctx)
	default:
		return p, nil
	}
	p.Subject.Field = field
	p.Subject.Same = func(o map[string]any) bool {
		return (fleet.Object{Unstructured: &unstructured.Unstructured{Object: o}}).ID() == p.object.ID()
	}
	return p, nil
}

// ofChart returns an object of a chart as the subject of trials.
func (p *Origin) ofChart() *Subject {
	object, err := p.finish(p.Probe.Object(), p.Release.Namespace)
	if err != nil {
		object = p.object.Object
	}
	return &Subject{
		Object: object, Values: p.Probe.Values(),
		Render: func(changes ...Change) (map[string]any, error) {
			others := diag.Each(changes, func(c Change) render.Override { return render.Override(c) })
			o, err := p.Probe.Render(others...)
			if err != nil {
				return nil, err
			}
			return p.finish(o, p.Release.Namespace)
		},
		Reads: func(path []string) bool { return p.Probe.Reads(path...) },
		First: func(path []string) bool { return p.Release.Values.At(path...) != nil },
		Texts: p.Probe.ComparedTexts,
	}
}

// ofJsonnet returns an object of a Jsonnet file as the subject of trials.
func (p *Origin) ofJsonnet(ctx context.Context) *Subject {
	const most = 400 // an evaluation takes longer than a template
	values, _ := p.Release.Values.Value().(map[string]any)
	return &Subject{
		Object: p.object.Object, Values: values, Most: most,
		Render: func(changes ...Change) (map[string]any, error) {
			other := any(values)
			for _, c := range changes {
				other = Replaced(other, c.Path, c.Value)
			}
			tree, err := fleet.TreeOf(other)
			if err != nil {
				return nil, err
			}
			changed := *p.Release
			changed.Values = tree
			result, err := p.renderer.EvaluateJsonnet(ctx, p.cluster, &changed, p.seenAPIs)
			if err != nil {
				return nil, err
			}
			for _, o := range result.Objects {
				if o.GroupVersionKind().GroupKind() == p.Raw.GroupVersionKind().GroupKind() && o.GetName() == p.Raw.GetName() &&
					(o.GetNamespace() == "" || o.GetNamespace() == p.Raw.GetNamespace()) {
					return p.finish(o.Object, p.Release.Namespace)
				}
			}
			return nil, nil
		},
	}
}

// OnNamespace returns how the field depends on the namespace of the release.
func (p *Origin) OnNamespace() Influence {
	if p.Probe == nil {
		return No
	}
	other := p.Release.Namespace + "-x7q"
	o, err := p.Probe.RenderIn(other)
	if err != nil || o == nil {
		return No
	}
	if o, err = p.finish(o, other); err != nil {
		return No
	}
	how := p.Subject.Compare(o, p.Release.Namespace, other)
	if how == Exists {
		return No // this is true of all objects of a release
	}
	return how
}

// finish sets the namespace of an object and applies the patches, as the compiler does with
// rendered objects.
func (p *Origin) finish(o map[string]any, namespace string) (map[string]any, error) {
	if o == nil {
		return nil, nil
	}
	u := &unstructured.Unstructured{Object: o}
	switch in := p.Raw.GetNamespace(); {
	case in != "" && u.GetNamespace() == "":
		u = u.DeepCopy()
		u.SetNamespace(namespace)
	case in == "" && u.GetNamespace() != "":
		u = u.DeepCopy()
		u.SetNamespace("")
	}
	if len(p.Release.Patches) == 0 {
		return u.Object, nil
	}
	r := *p.Release
	r.Patches = slices.Clone(r.Patches)
	for i := range r.Patches {
		r.Patches[i].Optional = true // most are for other objects
	}
	objs, err := objects.PatchRelease(p.cluster, &r, []fleet.Object{{Unstructured: u, Release: &r, Template: p.Raw.Template, Pos: p.Raw.Pos}})
	if err != nil || len(objs) == 0 {
		return nil, err
	}
	return objs[0].Object, nil
}

// unpatch sets Patches to the patches that changed the field, and Raw and RawField to the
// object and the field before all patches. objs are the objects before the patches.
func (p *Origin) unpatch(objs []fleet.Object, field []string) error {
	r := *p.Release
	p.Raw, p.RawField = p.object, field
	after := []fleet.Object{p.object}
	for n := len(p.Release.Patches); n >= 0; n-- {
		r.Patches = p.Release.Patches[:n]
		before, err := objects.PatchRelease(p.cluster, &r, objs)
		if err != nil {
			return err
		}
		old := counterpart(before, after, p.Raw)
		if old.Unstructured == nil {
			break
		}
		at := kube.FieldBefore(old.Object, p.Raw.Object, p.RawField)
		a, inA := fleet.Lookup(old.Object, at)
		b, inB := fleet.Lookup(p.Raw.Object, p.RawField)
		if n < len(p.Release.Patches) && (inA != inB || !reflect.DeepEqual(a, b)) {
			p.Patches = append(p.Patches, &p.Release.Patches[n])
		}
		p.Raw, p.RawField, after = old, at, before
	}
	slices.Reverse(p.Patches)
	return nil
}

// counterpart returns an object before a patch: the object with the same ID or, since a
// patch may rename objects, at the same index.
func counterpart(before, after []fleet.Object, o fleet.Object) fleet.Object {
	if i := slices.IndexFunc(before, func(b fleet.Object) bool { return b.ID() == o.ID() }); i >= 0 {
		return before[i]
	}
	if i := slices.IndexFunc(after, func(a fleet.Object) bool { return a.Unstructured == o.Unstructured }); i >= 0 && len(before) == len(after) {
		return before[i]
	}
	return fleet.Object{}
}
