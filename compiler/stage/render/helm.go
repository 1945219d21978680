package render

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file does what helm template does around its engine, in the same order,
// so that the output is the same to the byte. It does not check
// values.schema.json: package values has done that, without fetching remote
// references.

// A job renders one release.
type job struct {
	cluster   *fleet.Cluster
	release   *fleet.Release
	chart     *fleet.Chart
	source    *source
	apis      []string
	limits    limits
	knownDocs map[string]document // documents of the first rendering, by text
}

// fault returns a fault of the release.
func (j *job) fault(code diag.Code, hint, format string, args ...any) *diag.Diag {
	return &diag.Diag{Code: code, At: []diag.Pos{j.release.Pos}, Path: j.release.Path(), Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// doesNotRender returns the fault of templates that fail or exceed the limits. The reason
// is an error or the value of a panic.
func (j *job) doesNotRender(reason any) error {
	err, _ := reason.(error)
	code, hint := diag.CodeTemplate, "set the value that the message names, or correct the template"
	if c, ok := errors.AsType[*complaint](err); ok && strings.TrimSpace(c.msg) == "" {
		reason = strings.TrimRight(err.Error(), ": ") + ": it fails without a message: a value that it needs is missing or wrong"
		hint = "set the value that this line of the template reads, or correct the template"
	}
	if _, ok := errors.AsType[*stopError](err); ok {
		code, hint = diag.CodeRenderLimits, "lower the values that set counts, or correct the template that the message names"
	}
	d := j.fault(code, hint, "chart %s does not render: %v", j.chart.Ref, reason)
	if code == diag.CodeTemplate {
		j.blame(d)
	}
	return d
}

// templateHint is the hint for a template that renders something else than objects.
const templateHint = "correct the template, or the values that it prints; helm template shows its text"

// An input holds the chart and values of a rendering. Templates may modify
// both.
type input struct {
	chart  *chart.Chart
	values chartutil.Values
}

// input returns the chart with its enabled dependencies, and the values that
// its templates see.
func (j *job) input() (*input, error) {
	r, ch := j.release, j.chart
	if err := j.source.err; err != nil {
		code, msg, hint := fleet.UnloadableChart(err)
		return nil, &diag.Diag{Code: code, At: []diag.Pos{r.Pos}, Path: r.Path(), Msg: "chart " + ch.Ref.String() + ": " + msg, Hint: hint, Cause: err}
	}
	loaded := instance(j.source.chart)
	caps, err := capabilities(j.cluster, j.apis)
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeKubernetesVersion, At: []diag.Pos{j.cluster.Pos}, Path: "cluster.kubernetes", Msg: err.Error(), Hint: "write a version such as 1.34", Cause: err}
	}
	if msg, hint := notInstallable(loaded, caps); msg != "" {
		return nil, j.fault(diag.CodeChartNotInstallable, hint, "chart %s %s", ch.Ref, msg)
	}
	user, _ := r.Values.Value().(map[string]any)
	values, lost, err := templateValues(loaded, r, user, caps)
	if err != nil {
		d := j.fault(diag.CodeChartType, "correct the values of the release", "chart %s does not accept the values: %v", ch.Ref, err)
		d.Path, d.Cause = r.Path("values"), err
		return nil, d
	}
	return &input{loaded, values}, j.lostValues(lost)
}

// copy returns the same input for another rendering.
func (in *input) copy() *input {
	values := maps.Clone(in.values)
	for _, k := range []string{"Release", "Values"} {
		switch v := values[k].(type) {
		case chartutil.Values:
			values[k] = chartutil.Values(fleet.Clone(v.AsMap()).(map[string]any))
		default:
			values[k] = fleet.Clone(v)
		}
	}
	return &input{instance(in.chart), values}
}

// documents renders the chart and returns the documents in the order of helm
// template --include-crds. known holds output that need not be rendered again.
// repeatable is the output that every rendering prints. nondeterministic
// reports whether a function was random or read the clock.
func (j *job) documents(ctx context.Context, in *input, l *entropy, known map[string]page) (docs []document, repeatable map[string]page, nondeterministic bool, err error) {
	rendered, e, err := j.pages(ctx, in, l, known)
	if err != nil {
		return nil, nil, false, j.doesNotRender(err)
	}
	manifests, err := documents(rendered, func(p page) []document { return j.readPage(ctx, p) })
	if err != nil {
		return nil, nil, false, j.fault(diag.CodeRenderedObject, templateHint, "chart %s %v", j.chart.Ref, err)
	}
	for _, crd := range in.chart.CRDObjects() {
		d := j.source.crds(crd.Filename, crd.File)
		d.crd = true
		docs = append(docs, d)
	}
	repeatable, nondeterministic = e.repeatable(rendered)
	return append(docs, manifests...), repeatable, nondeterministic, nil
}

// pages executes the templates with the returned engine, or takes their output from the
// cache. When a rendering with the cache fails, it executes all templates to report the
// error at its position.
func (j *job) pages(ctx context.Context, in *input, l *entropy, known map[string]page) (rendered map[string]page, e *engine, err error) {
	all := renderables(in.chart, in.values)
	limited, cancel := context.WithTimeoutCause(ctx, maxWall, errTooLong)
	defer cancel()
	var r *cacheSession
	if known == nil && l.previous == nil && !j.source.noCache { // a second rendering must not use the cache
		r = j.source.cacheSession(limited, j.limits, l, in, all)
	}
	if r != nil {
		defer r.end()
		rendered, e, err = j.execute(limited, l, all, nil, r)
		if err == nil || ctx.Err() != nil {
			return rendered, e, err
		}
		if in, err = j.input(); err != nil { // the templates may have modified it
			return nil, nil, err
		}
		all = renderables(in.chart, in.values)
		*l = *newEntropy(l.now)
		limited, cancel = context.WithTimeoutCause(ctx, maxWall, errTooLong)
		defer cancel()
	}
	return j.execute(limited, l, all, known, nil)
}

func (j *job) execute(ctx context.Context, l *entropy, all []renderable, known map[string]page, r *cacheSession) (rendered map[string]page, e *engine, err error) {
	if r != nil && r.engine != nil {
		e = r.engine
	} else if e, err = j.source.engine(ctx, j.limits, l, all); err != nil {
		return nil, nil, err
	}
	rendered, err = e.render(all, known, r)
	return rendered, e, err
}

// readPage reads the documents of a page, unless the page has them.
func (j *job) readPage(ctx context.Context, p page) []document {
	if p.docs != nil {
		return p.docs
	}
	docs := diag.Each(split(p.text), func(text string) document { return j.read(ctx, text) })
	p.shareDocuments(docs)
	return docs
}

// read decodes a document, unless it is cached.
func (j *job) read(ctx context.Context, text string) document {
	if d, ok := j.knownDocs[text]; ok {
		return d
	}
	if ctx.Err() != nil {
		return document{rejected: ctx.Err()}
	}
	d, kept := j.source.docs.get(text, readDocument)
	d.text, d.shared = text, kept
	return d
}

// DefaultAPIs returns the API versions that charts see by default: those that
// Helm knows, those that the cluster declares, and more.
func DefaultAPIs(c *fleet.Cluster, more ...string) []string {
	extra := slices.Clone(more)
	for _, a := range c.APIs {
		extra = append(extra, a.APIVersion, a.APIVersion+"/"+a.Kind)
	}
	return slices.Concat(chartutil.DefaultVersionSet, diag.Distinct(extra))
}

// capabilities returns the Kubernetes version and the API versions of the
// cluster as charts see them.
func capabilities(c *fleet.Cluster, apis []string) (*chartutil.Capabilities, error) {
	version, err := chartutil.ParseKubeVersion(c.KubeVersion)
	if err != nil {
		return nil, err
	}
	if apis == nil {
		apis = DefaultAPIs(c)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	caps.KubeVersion = *version
	caps.APIVersions = apis
	return caps, nil
}

// AllowsKubernetes reports whether the kubeVersion of a chart allows a version of
// Kubernetes, as Helm decides it. An empty kubeVersion allows all.
func AllowsKubernetes(kubeVersion, version string) bool {
	v, err := chartutil.ParseKubeVersion(version)
	return kubeVersion == "" || err != nil || chartutil.IsCompatibleRange(kubeVersion, v.String())
}

// notInstallable makes the checks of helm template before rendering. It returns the message
// of a fault and its hint; both are empty if the chart passes.
func notInstallable(ch *chart.Chart, caps *chartutil.Capabilities) (msg, hint string) {
	switch ch.Metadata.Type {
	case "", "application":
	default:
		return fmt.Sprintf("is a %s chart, which renders nothing by itself", ch.Metadata.Type), "list it as a dependency of a chart of your own, or use another chart"
	}
	var missing []string
	for _, d := range ch.Metadata.Dependencies {
		if !slices.ContainsFunc(ch.Dependencies(), func(c *chart.Chart) bool { return c.Name() == d.Name }) {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) > 0 {
		return "has dependencies in Chart.yaml that are missing in its charts directory: " + strings.Join(missing, ", "), "run helm dependency build in the directory of the chart, or fleetc chart add"
	}
	if v := ch.Metadata.KubeVersion; v != "" && !chartutil.IsCompatibleRange(v, caps.KubeVersion.String()) {
		return fmt.Sprintf("requires Kubernetes %s, but the cluster has %s", v, caps.KubeVersion.String()), "use another version of the chart, or correct cluster.kubernetes"
	}
	return "", ""
}
