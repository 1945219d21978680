package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// KustomizeCharts renders the Helm charts of kustomizations.
type KustomizeCharts interface {
	// Chart returns the chart of a directory of the fleet, or the one that is pinned for a
	// repository, name and version. It returns nil if it is not pinned. Its errors are
	// faults without a position.
	Chart(ctx context.Context, ref fleet.ChartRef) (*fleet.Chart, error)

	// Render renders a release of the chart as helm template --include-crds does. An empty
	// version of Kubernetes is that of the cluster. apis are API versions beside those of
	// Kubernetes. It refuses charts that render something else every time.
	Render(ctx context.Context, r *fleet.Release, ch *fleet.Chart, kubernetes string, apis []string) ([]fleet.Object, error)
}

// maxCharts is the maximum number of charts in a build.
const maxCharts = 100

// renderCharts renders the charts of a kustomization, and adds their objects to it. kustomize
// would call helm after it has read all resources, and before components and transformers.
func (b *build) renderCharts(f *kustomizeFile) {
	const field, old = "helmCharts", "helmChartInflationGenerator"
	home := types.HelmDefaultHome
	if g := f.k.HelmGlobals; g != nil && g.ChartHome != "" {
		home = g.ChartHome
	}
	for i, h := range f.k.HelmCharts {
		b.renderChart(f, f.pos(field, i), home, h)
	}
	charts, globals := types.SplitHelmParameters(f.k.HelmChartInflationGenerator)
	if globals.ChartHome != "" {
		home = globals.ChartHome
	}
	for i, h := range charts {
		b.renderChart(f, f.pos(old, i), home, h)
	}
	f.k.HelmCharts, f.k.HelmChartInflationGenerator, f.k.HelmGlobals = nil, nil, nil
}

// renderChart renders one chart of a kustomization.
func (b *build) renderChart(f *kustomizeFile, pos diag.Pos, home string, h types.HelmChart) {
	if b.Charts == nil {
		b.fault(pos, "this kustomization renders a Helm chart", "make the chart a separate release, with its patches")
		return
	}
	if b.chartCount++; b.chartCount > maxCharts {
		b.fault(pos, fmt.Sprintf("more than %d charts in one kustomization", maxCharts), "make it several releases")
		return
	}
	switch {
	case h.Name == "":
		b.fault(pos, "the chart has no name", "write name: and the name of the chart in its repository")
		return
	case h.NameTemplate != "":
		b.fault(pos, "nameTemplate is not supported", "write the name under releaseName")
		return
	case h.ReleaseName == "":
		b.fault(pos, "the chart has no releaseName, so helm generates a different one each time", "write releaseName: "+h.Name)
		return
	}
	ch, ok := b.chart(f, pos, home, h)
	if !ok {
		return
	}
	values, ok := b.chartValues(f, pos, h, ch)
	if !ok {
		return
	}
	b.addChart(f, pos, h, ch, values)
}

// chart returns the chart of an entry: that in the directory of charts, or the pinned one.
func (b *build) chart(f *kustomizeFile, pos diag.Pos, home string, h types.HelmChart) (*fleet.Chart, bool) {
	if h.Version != "" && h.Repo != "" {
		home = path.Join(home, h.Name+"-"+h.Version)
	}
	ref := fleet.ChartRef{Repo: strings.TrimSuffix(h.Repo, "/"), Name: h.Name, Version: h.Version}
	if local := path.Join(f.dir, filepath.ToSlash(home), h.Name); b.tree.IsDir(local) {
		if msg, hint := outside(f.dir, path.Join(home, h.Name)); msg != "" {
			b.pathFault(pos, msg, hint)
			return nil, false
		}
		if place, _ := mountOf(local); place != "" {
			b.fault(pos, "the chart "+h.Name+" is in a directory of a remote base", "copy the base into the fleet, or make the chart a separate release")
			return nil, false
		}
		ref = fleet.ChartRef{Path: local}
	} else if h.Repo == "" {
		b.fault(pos, "the chart has no repo, and "+local+" does not exist", "write repo: and the URL of its repository")
		return nil, false
	}
	ch, err := b.Charts.Chart(b.tree.ctx, ref)
	if err == nil && ch == nil {
		err = &diag.Diag{Code: diag.CodeUnpinnedSource, Msg: "the chart " + ref.Location() + " is not pinned", Hint: "run fleetc source add " + b.dir + ", which pins it"}
	}
	return ch, b.chartFaults(pos, err)
}

// chartFaults adds the faults of a chart at its entry, and reports whether there are none.
func (b *build) chartFaults(pos diag.Pos, err error) bool {
	for _, d := range diag.All(err) {
		b.faults.Add(b.at(d.Code, pos, d.Msg, d.Hint))
	}
	return err == nil
}

// chartValues returns the values of an entry: the chart's values.yaml, or valuesFile
// instead of it, merged with valuesInline, and the additional files over these.
func (b *build) chartValues(f *kustomizeFile, pos diag.Pos, h types.HelmChart, ch *fleet.Chart) (*fleet.Tree, bool) {
	var base []byte
	if h.ValuesFile != "" {
		data, ok := b.parsed(f, pos, h.ValuesFile)
		if !ok {
			return nil, false
		}
		base = data
	} else if i := slices.IndexFunc(ch.Files, func(f fleet.File) bool { return f.Name == "values.yaml" }); i >= 0 {
		base = ch.Files[i].Data
	}
	all, err := mergeInline(base, h)
	for _, p := range h.AdditionalValuesFiles {
		data, ok := b.parsed(f, pos, p)
		if !ok {
			return nil, false
		}
		var more map[string]any
		if err == nil {
			err = sigsyaml.Unmarshal(data, &more)
		}
		all = fleet.MergeValues(all, more)
	}
	if err != nil {
		b.fault(pos, "the values of chart "+h.Name+": "+oneLine(err.Error()), "correct the entry of the chart")
		return nil, false
	}
	values, err := fleet.TreeOf(all)
	return values, b.chartFaults(pos, err)
}

// mergeInline merges valuesInline with the text of a values file as kustomize does.
func mergeInline(base []byte, h types.HelmChart) (out map[string]any, err error) {
	if len(h.ValuesInline) == 0 || h.ValuesMerge == "replace" {
		out = h.ValuesInline
		if len(h.ValuesInline) == 0 {
			err = sigsyaml.Unmarshal(base, &out)
		}
		return out, err
	}
	file, err := kyaml.Parse(string(base))
	if err != nil && strings.TrimSpace(string(base)) != "" {
		return nil, err
	}
	inline, err := kyaml.FromMap(h.ValuesInline)
	if err != nil || file == nil {
		return h.ValuesInline, err
	}
	switch h.ValuesMerge {
	case "", "override":
		file, err = merge2.Merge(inline, file, kyaml.MergeOptions{})
	case "merge":
		file, err = merge2.Merge(file, inline, kyaml.MergeOptions{})
	default:
		err = fmt.Errorf("valuesMerge is %q, but must be override, merge or replace", h.ValuesMerge)
	}
	if err != nil {
		return nil, err
	}
	text, err := kio.StringAll([]*kyaml.RNode{file})
	if err == nil {
		err = sigsyaml.Unmarshal([]byte(text), &out)
	}
	return out, err
}

// addChart renders a chart, and adds its objects as a resource.
func (b *build) addChart(f *kustomizeFile, pos diag.Pos, h types.HelmChart, ch *fleet.Chart, values *fleet.Tree) {
	namespace := h.Namespace
	if namespace == "" {
		namespace = b.namespace()
		f.inherits, f.inherited = f.k.Namespace == "", namespace
	}
	r := &fleet.Release{Name: h.ReleaseName, Namespace: cmp.Or(namespace, "default"), Chart: ch.Ref, Values: values}
	objs, err := b.Charts.Render(b.tree.ctx, r, ch, h.KubeVersion, h.ApiVersions)
	if b.tree.ctx.Err() != nil || !b.chartFaults(pos, err) {
		return
	}
	var text strings.Builder
	for _, o := range objs {
		_, isHook := o.GetAnnotations()[fleet.HookAnnotation]
		if o.CRD && !h.IncludeCRDs || isHook && (h.SkipHooks || h.SkipTests && isTest(o)) {
			continue
		}
		marked := o.DeepCopy()
		annotations := marked.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[konfig.HelmGeneratedAnnotation] = "true" // kustomize gives it no namespace, and removes the mark
		marked.SetAnnotations(annotations)
		one, err := json.Marshal(marked.Object)
		if err != nil {
			b.fault(pos, "chart "+h.Name+": "+oneLine(err.Error()), "change the values of the chart, or use another version of it")
			return
		}
		text.WriteString("---\n" + string(one) + "\n")
	}
	if text.Len() == 0 {
		return
	}
	m, err := b.resources.NewResMapFromBytes([]byte(text.String()))
	if err != nil {
		message := shorten(oneLine(err.Error()))
		if m := twice.FindStringSubmatch(message); m != nil {
			message = object(m[1]) + " occurs twice"
		}
		b.fault(pos, "chart "+h.Name+": "+message, "change the values of the chart, or use another version of it")
		return
	}
	f.objects += m.Size()
	place := fmt.Sprintf("chart-%d", b.chartCount)
	b.tree.mounts[place] = chartFile(text.String())
	relative, err := filepath.Rel("/"+f.dir, "/"+path.Join(mounted, place, renderedFile))
	if err != nil {
		b.fault(pos, oneLine(err.Error()), "")
		return
	}
	f.k.Resources = append(f.k.Resources, filepath.ToSlash(relative))
	f.rewritten = true
}

// namespace returns the namespace of the kustomization that is checked, or that of the
// nearest one around it. Charts without a namespace get it.
func (b *build) namespace() string {
	for _, n := range slices.Backward(b.namespaces) {
		if n != "" {
			return n
		}
	}
	return ""
}

// isTest reports whether a hook is a test of Helm.
func isTest(o fleet.Object) bool {
	return slices.ContainsFunc(fleet.HookEvents(o.Unstructured), func(e string) bool { return e == "test" || e == "test-success" })
}

// renderedFile is the name of the only file of [chartFile].
const renderedFile = "objects.yaml"

// chartFile is the text of the objects of a chart, as a file.
type chartFile string

// IsDir implements [fleet.FileTree].
func (chartFile) IsDir(name string) bool { return name == "." }

// Read implements [fleet.FileTree].
func (r chartFile) Read(name string) ([]byte, error) {
	if name != renderedFile {
		return nil, fs.ErrNotExist
	}
	return []byte(r), nil
}
