package render

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// This file is all that touches Helm's SDK. It does what helm template does,
// in the same order, so that what comes out is the same to the byte. Only the
// chart's values.schema.json is not looked at: package values has checked it,
// without fetching what it refers to, as Helm's check would.

// A document is one YAML document of a rendered chart.
type document struct {
	source string        // the template, with the chart's name in front
	text   string        // one YAML document; a whole file where crd is set
	hook   *release.Hook // nil for an ordinary manifest
	crd    bool          // from the chart's crds directory
}

// split returns the YAML documents of the document: a file of the crds
// directory can have several.
func (d document) split() []string {
	if !d.crd {
		return []string{d.text}
	}
	// Most files have one document, maybe behind a first separator; the search
	// for more is slow where they are large.
	if text := strings.TrimPrefix(d.text, "---\n"); !strings.Contains(text, "\n---") {
		return []string{text}
	}
	docs := releaseutil.SplitManifests(d.text)
	keys := slices.Collect(maps.Keys(docs))
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = docs[k]
	}
	return texts
}

// helm renders a chart. Documents are in the order in which helm template
// --include-crds prints them.
func helm(c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string) ([]document, error) {
	at := func(format string, args ...any) error {
		return &diag.Diag{At: []diag.Pos{r.Pos}, Path: r.Path(), Msg: fmt.Sprintf(format, args...)}
	}
	loaded, err := loadChart(ch)
	if err != nil {
		return nil, at("chart %s does not load: %v", ch.Ref, err)
	}
	caps, err := capabilities(c, apis)
	if err != nil {
		return nil, &diag.Diag{At: []diag.Pos{c.Pos}, Path: "cluster.kubernetes", Msg: err.Error(), Cause: err}
	}
	if err := installable(loaded, caps); err != nil {
		return nil, at("chart %s %v", ch.Ref, err)
	}
	user, _ := r.Values.Value().(map[string]any)
	values, err := renderValues(loaded, ch, r, user, caps)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{}.Render(loaded, values)
	if err != nil {
		return nil, at("chart %s does not render: %s", ch.Ref, engineMessage(err))
	}
	for name := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, at("chart %s renders YAML that does not parse: %s", ch.Ref, sortMessage(err))
	}
	if err := unknownHooks(files, hooks, manifests); err != nil {
		return nil, at("chart %s %v", ch.Ref, err)
	}
	var docs []document
	for _, crd := range loaded.CRDObjects() {
		docs = append(docs, document{source: crd.Filename, text: string(crd.File.Data), crd: true})
	}
	for _, m := range manifests {
		docs = append(docs, document{source: m.Name, text: m.Content})
	}
	for _, h := range hooks {
		docs = append(docs, document{source: h.Path, text: h.Manifest, hook: h})
	}
	return docs, nil
}

// loadChart returns the chart as Helm's loader makes it of the files. It is
// made anew for every render, which modifies it.
func loadChart(ch *fleet.Chart) (*chart.Chart, error) {
	files := make([]*loader.BufferedFile, len(ch.Files))
	for i, f := range ch.Files {
		files[i] = &loader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	return loaded, loaded.Validate()
}

// capabilities returns what charts see of the cluster: its Kubernetes version,
// and, as helm template does, every API version that Helm knows, those that
// the cluster declares and those of the bundle's CRDs.
func capabilities(c *fleet.Cluster, apis []string) (*chartutil.Capabilities, error) {
	version, err := chartutil.ParseKubeVersion(c.KubeVersion)
	if err != nil {
		return nil, err
	}
	extra := slices.Clone(apis)
	for _, a := range c.APIs {
		extra = append(extra, a.APIVersion, a.APIVersion+"/"+a.Kind)
	}
	slices.Sort(extra)
	caps := chartutil.DefaultCapabilities.Copy()
	caps.KubeVersion = *version
	caps.APIVersions = slices.Concat(caps.APIVersions, slices.Compact(extra))
	return caps, nil
}

// AsksForAPIs reports whether a template of the chart or of its dependencies
// can depend on the API versions that the cluster serves. It may say so of a
// chart that does not ask, and never misses one that does.
func AsksForAPIs(ch *fleet.Chart) bool {
	return slices.ContainsFunc(ch.Files, func(f fleet.File) bool {
		// Dependencies may be archives, which are not looked into.
		return strings.HasSuffix(f.Name, ".tgz") || bytes.Contains(f.Data, []byte("Capabilities")) && asksForAPIs.Match(f.Data)
	})
}

// asksForAPIs matches the capabilities, unless it is only their Kubernetes or
// Helm version that is taken.
var asksForAPIs = regexp.MustCompile(`\bCapabilities(\.APIVersions|[^.]|$)`)

// installable makes the checks that helm template makes before it renders.
func installable(ch *chart.Chart, caps *chartutil.Capabilities) error {
	switch ch.Metadata.Type {
	case "", "application":
	default:
		return fmt.Errorf("is a %s chart, which renders nothing by itself", ch.Metadata.Type)
	}
	var missing []string
	for _, d := range ch.Metadata.Dependencies {
		if !slices.ContainsFunc(ch.Dependencies(), func(c *chart.Chart) bool { return c.Name() == d.Name }) {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("has dependencies in Chart.yaml that are missing in its charts directory: %s; helm dependency build puts them there", strings.Join(missing, ", "))
	}
	if v := ch.Metadata.KubeVersion; v != "" && !chartutil.IsCompatibleRange(v, caps.KubeVersion.String()) {
		return fmt.Errorf("requires Kubernetes %s, and the cluster has %s", v, caps.KubeVersion.String())
	}
	return nil
}

// renderValues returns what the templates see: the user's values over those of
// the chart and its dependencies, the release and the capabilities.
func renderValues(loaded *chart.Chart, ch *fleet.Chart, r *fleet.Release, user map[string]any, caps *chartutil.Capabilities) (chartutil.Values, error) {
	values, lines, err := coalesce(loaded, r, user, caps)
	if err != nil {
		return nil, &diag.Diag{At: []diag.Pos{r.Pos}, Path: r.Path("values"), Msg: fmt.Sprintf("chart %s does not take the values: %v", ch.Ref, err), Cause: err}
	}
	var faults diag.List
	faults.Add(lostValues(ch, r, lines, caps))
	return values, faults.Err()
}

// coalesce merges the values and returns what Helm logs meanwhile.
func coalesce(loaded *chart.Chart, r *fleet.Release, user map[string]any, caps *chartutil.Capabilities) (values chartutil.Values, lines []string, err error) {
	options := chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	lines = captureLog(func() {
		if err = chartutil.ProcessDependenciesWithMerge(loaded, user); err == nil {
			values, err = chartutil.ToRenderValuesWithSchemaValidation(loaded, user, options, caps, true)
		}
	})
	return values, lines, err
}

// wanted reports whether the document is part of the release's objects. Hooks
// that run on delete or rollback are not: an object in a bundle is applied,
// which would run them. Test hooks are when the release asks for them.
func (d document) wanted(r *fleet.Release) bool {
	if d.hook == nil {
		return true
	}
	return slices.ContainsFunc(d.hook.Events, func(e release.HookEvent) bool {
		switch e {
		case release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade:
			return true
		case release.HookTest:
			return r.Tests
		}
		return false
	})
}

// crdInstall matches the hook that Helm 2 had for CRDs. Charts that still have
// it bring them in their crds directory as well, and Helm 3 passes over it.
var crdInstall = regexp.MustCompile(`(?m)^\s*["']?helm\.sh/hook["']?:\s*["']?crd-install\b`)

// unknownHooks reports the objects that Helm drops without a word since their
// hook annotation names no hook it knows: files of which it kept less than
// they have.
func unknownHooks(files map[string]string, hooks []*release.Hook, manifests []releaseutil.Manifest) error {
	kept := map[string]int{}
	for _, h := range hooks {
		kept[h.Path]++
	}
	for _, m := range manifests {
		kept[m.Name]++
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		if strings.HasPrefix(path.Base(name), "_") || !strings.Contains(content, release.HookAnnotation) {
			continue
		}
		if len(releaseutil.SplitManifests(content))-len(crdInstall.FindAllString(content, -1)) > kept[name] {
			return fmt.Errorf("has an object with a %s annotation that names no hook of Helm's, in %s", release.HookAnnotation, name)
		}
	}
	return nil
}

// engineMessage is what the template engine says, without the words that
// repeat what is already said.
func engineMessage(err error) string {
	msg := strings.TrimPrefix(err.Error(), "execution error at ")
	msg = strings.TrimPrefix(msg, "template: ")
	if rest, ok := strings.CutPrefix(msg, "("); ok {
		if at, what, ok := strings.Cut(rest, "): "); ok {
			msg = at + ": " + what
		}
	}
	// A template that includes itself is told with all its thousand frames.
	const limit = 1000
	if len(msg) > limit {
		msg = strings.ToValidUTF8(msg[:limit/2], "") + " ... " + strings.ToValidUTF8(msg[len(msg)-limit/2:], "")
	}
	return msg
}

// sortMessage is what Helm says of a manifest that it cannot parse.
func sortMessage(err error) string {
	file, what, ok := strings.Cut(strings.TrimPrefix(err.Error(), "YAML parse error on "), ": ")
	if !ok {
		return err.Error()
	}
	if strings.HasPrefix(what, "error unmarshaling JSON") {
		return file + ": a document that is no object, or whose apiVersion, kind or metadata is of another type than text and map"
	}
	what = strings.TrimPrefix(strings.TrimPrefix(what, "error converting YAML to JSON: "), "yaml: ")
	return file + ": " + what
}
