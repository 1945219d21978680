package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/source"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// An expectation is the objects of a release that the other tool makes.
type expectation struct {
	objects []fleet.Object
	hooks   []fleet.Object // that an apply does not run
	random  []render.NondeterministicPart
	err     error

	duplicateKeys bool // whether maps of the objects have keys twice
}

// expect renders the releases of a cluster from the model alone: charts with the values
// that the reader computed, and the objects that it read. Charts see the API versions of
// all CRDs of the cluster, and of the kinds that it serves without a CRD in a release.
func (w *work) expect(ctx context.Context, charts *render.Charts, kinds *validate.Checker, c *Cluster) error {
	fc := &fleet.Cluster{ID: c.ID, Name: c.ID, KubeVersion: c.Kubernetes}
	served := kube.Capabilities(c.Kubernetes)
	used := map[string][]string{} // API versions that the chart of a release reads and saw
	for _, r := range c.Releases {
		r.expected = w.expectRelease(ctx, charts, c, fc, r, served)
		used[r.Name] = w.usedAPIs(r).Of(served)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	seen := served
	for range maxRounds {
		seen = slices.Clone(served)
		for _, r := range c.Releases {
			seen = append(seen, render.APIs(r.expected.objects)...)
		}
		for _, a := range fc.APIs {
			seen = append(seen, a.APIVersion, a.APIVersion+"/"+a.Kind)
		}
		seen = diag.Distinct(seen)
		for _, r := range c.Releases {
			if apis := w.usedAPIs(r).Of(seen); !slices.Equal(apis, used[r.Name]) {
				r.expected, used[r.Name] = w.expectRelease(ctx, charts, c, fc, r, seen), apis
			}
		}
		unknown := w.unknownKinds(c)
		if slices.Equal(unknown, fc.APIs) {
			break
		}
		fc.APIs = unknown
	}
	c.apis = fc.APIs
	if c.Render != nil {
		renderWithProgram(ctx, c, seen)
	}
	objs := slices.Concat(diag.Each(c.Releases, func(r *Release) []fleet.Object { return r.expected.objects })...)
	kinds.Namespaces(fc, objs)
	for _, r := range c.Releases {
		n := len(r.expected.objects)
		r.expected.objects, objs = objs[:n:n], objs[n:]
	}
	return ctx.Err()
}

// maxRounds limits how often charts are rendered again because the API versions that they
// see changed.
const maxRounds = 4

// usedAPIs returns the API versions on which the objects of a release may depend.
func (w *work) usedAPIs(r *Release) render.UsedAPIs {
	if ch := w.chart(r); ch != nil {
		return render.UsedAPIsOf(ch)
	}
	return render.UsedAPIs{}
}

// renderWithProgram replaces the expected objects of charts by those that the tool's own
// program renders.
func renderWithProgram(ctx context.Context, c *Cluster, apis []string) {
	rendered, err := c.Render(ctx, apis)
	for _, r := range c.Releases {
		e := r.expected
		if r.Chart == nil || e.err != nil {
			continue
		}
		objs, ok := rendered[r.Name]
		if e.err = err; err == nil && !ok {
			e.err = fmt.Errorf("helmfile renders no objects for this release")
		}
		e.objects = withoutHooks(objs, e.hooks)
	}
}

// chart returns the chart of a release; nil when it is missing.
func (w *work) chart(r *Release) *fleet.Chart {
	if r.Chart == nil {
		return nil
	}
	return w.loaded[w.charts[r.Chart.key()].Ref]
}

// expectRelease renders one release of a cluster. Its charts see the cluster fc.
func (w *work) expectRelease(ctx context.Context, charts *render.Charts, c *Cluster, fc *fleet.Cluster, r *Release, apis []string) *expectation {
	fr := &fleet.Release{Name: r.Name, Namespace: r.Namespace}
	if r.Chart == nil {
		e := &expectation{}
		for _, o := range r.Objects {
			content, _ := c.bind(o.Value.Native()).(map[string]any)
			e.objects = append(e.objects, fleet.Object{Unstructured: &unstructured.Unstructured{Object: content}, Release: fr})
		}
		return e
	}
	ch := w.chart(r)
	if ch == nil {
		return &expectation{err: w.charts[r.Chart.key()].missing}
	}
	bound := c.bind(r.Values.Value())
	values, err := treeOf(bound)
	if err != nil {
		return &expectation{err: err}
	}
	fr.Chart, fr.Values = ch.Ref, values
	fr.Name, fr.Namespace = cmp.Or(r.helmName, r.Name), cmp.Or(r.Target.Namespace, r.Namespace)
	fc, apis = r.Target.versions(fc, apis)
	res, err := charts.Release(ctx, fc, fr, ch, apis)
	twice := hasDuplicateKeys(err)
	if twice {
		fr.DuplicateKeys.Reason = imported
		res, err = charts.Release(ctx, fc, fr, ch, apis)
	}
	if err != nil {
		return &expectation{err: err}
	}
	objs := res.Objects
	if w.opts.ProveWith.Has(HelmProgram) {
		if objs, err = templateWithHelm(ctx, fc, fr, r.SkipCRDs, bound, ch, apis, res.Hooks); err != nil {
			return &expectation{err: err, duplicateKeys: twice}
		}
	}
	fr.Name, fr.Namespace = r.Name, r.Namespace // the namespace of objects without one
	if r.SkipCRDs {
		objs = slices.DeleteFunc(slices.Clone(objs), func(o fleet.Object) bool { return o.CRD })
	}
	if w.model.Tool == argoTool {
		objs = diag.Filter(objs, func(o fleet.Object) bool { _, _, isApplied := hookOfObject(o); return isApplied })
	}
	for _, k := range r.PostRenderers {
		kustomization, _ := c.bind(k).(map[string]any)
		if objs, err = postRender(ctx, fr, objs, kustomization); err != nil {
			return &expectation{err: err, duplicateKeys: twice}
		}
	}
	for i, o := range objs {
		if r.CommonMetadata != nil {
			objs[i].Unstructured = o.DeepCopy()
			setCommonMetadata(objs[i].Object, r.CommonMetadata)
		}
	}
	return &expectation{objects: objs, hooks: res.Hooks, random: res.Nondeterministic, duplicateKeys: twice}
}

// hasDuplicateKeys reports whether an error has a fault that the field duplicateKeys accepts.
func hasDuplicateKeys(err error) bool {
	return slices.ContainsFunc(diag.All(err), func(d *diag.Diag) bool {
		return slices.ContainsFunc(d.Fixes, func(f diag.Fix) bool {
			return f.Kind == diag.FixWaiver && strings.HasSuffix(f.Path, ".duplicateKeys")
		})
	})
}

// postRender applies a kustomization to rendered objects, as helm-controller does.
func postRender(ctx context.Context, r *fleet.Release, objs []fleet.Object, k map[string]any) ([]fleet.Object, error) {
	dir, err := os.MkdirTemp("", "fleetc-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	content := maps.Clone(k)
	content["resources"] = []string{"objects.yaml"}
	var text strings.Builder
	for _, o := range objs {
		one, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n" + string(one))
	}
	err = errors.Join(writeYAML(filepath.Join(dir, "kustomization.yaml"), content), os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(text.String()), 0o600))
	if err != nil {
		return nil, err
	}
	out, _, _, err := source.BuildAsKustomize(ctx, dir, ".", r, source.KustomizeInputs{})
	if err != nil {
		return nil, fmt.Errorf("post-render: %s", diag.All(err)[0].Msg)
	}
	return out, nil
}

// hasCRDs reports whether a chart or a dependency in it has a crds directory.
func hasCRDs(ch *fleet.Chart) bool {
	return slices.ContainsFunc(ch.Files, func(f fleet.File) bool {
		return strings.HasPrefix(f.Name, "crds/") || strings.Contains(f.Name, "/crds/")
	})
}

// renderChart renders a release with a chart before patches. The result is empty without the chart
// and for one with faults, which the proof reports.
func (w *work) renderChart(ctx context.Context, charts *render.Charts, c *Cluster, r *Release, apis []string) render.Result {
	ch := w.chart(r)
	values, err := treeOf(r.Values.Value())
	if ch == nil || err != nil {
		return render.Result{}
	}
	fr := &fleet.Release{Name: r.Name, Namespace: r.Namespace, Chart: ch.Ref, Values: values}
	res, _ := charts.Release(ctx, &fleet.Cluster{ID: c.ID, KubeVersion: c.Kubernetes}, fr, ch, apis)
	return res
}

// skipCRDs adds patches that remove the CRDs of crds directories from releases that do
// not install them, or whose CRDs an earlier release installs: Helm leaves CRDs alone
// that exist, and a bundle has each object once.
func (w *work) skipCRDs(ctx context.Context) {
	charts := &render.Charts{}
	for _, c := range w.model.Clusters {
		installed := map[string]bool{} // CRDs of earlier releases
		for _, r := range c.Releases {
			ch := w.chart(r)
			if ch == nil || !hasCRDs(ch) {
				continue
			}
			var names []any
			for _, o := range w.renderChart(ctx, charts, c, r, nil).Objects {
				if o.CRD {
					names = append(names, o.GetName())
				}
			}
			repeated := !slices.ContainsFunc(names, func(name any) bool { return !installed[name.(string)] })
			if r.SkipCRDs = r.SkipCRDs || repeated; !r.SkipCRDs {
				for _, name := range names {
					installed[name.(string)] = true
				}
				continue
			}
			if len(names) > 0 {
				r.Patches = append([]Patch{{
					Name: "00-without-crds", Target: map[string]any{"kinds": []any{"CustomResourceDefinition"}, "names": names},
					Form: "strategic", Body: nodeOf(map[string]any{"$patch": "delete"}, nil),
				}}, r.Patches...)
			}
		}
	}
}
