package render

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file does what helm template does around its engine, in the same order,
// so that what comes out is the same to the byte. Only the chart's
// values.schema.json is not looked at: package values has checked it, without
// fetching what it refers to, as Helm's check would.

// A job is one release that is to be rendered.
type job struct {
	cluster *fleet.Cluster
	release *fleet.Release
	chart   *fleet.Chart
	source  *source
	apis    []string
	most    limits
	known   map[string]document // that an earlier rendering had, by their text
}

// fault returns a fault of the release.
func (j *job) fault(format string, args ...any) error {
	return &diag.Diag{At: []diag.Pos{j.release.Pos}, Path: j.release.Path(), Msg: fmt.Sprintf(format, args...)}
}

// An input is a chart and its values, as a rendering takes them. Templates may
// modify both.
type input struct {
	chart  *chart.Chart
	values chartutil.Values
}

// input returns what the chart is rendered with: its enabled dependencies and
// what its templates see.
func (j *job) input() (*input, error) {
	r, ch := j.release, j.chart
	if err := j.source.err; err != nil {
		return nil, j.fault("chart %s does not load: %v", ch.Ref, err)
	}
	loaded := instance(j.source.chart)
	caps, err := capabilities(j.cluster, j.apis)
	if err != nil {
		return nil, &diag.Diag{At: []diag.Pos{j.cluster.Pos}, Path: "cluster.kubernetes", Msg: err.Error(), Cause: err}
	}
	if err := installable(loaded, caps); err != nil {
		return nil, j.fault("chart %s %v", ch.Ref, err)
	}
	user, _ := r.Values.Value().(map[string]any)
	values, err := j.values(loaded, user, caps)
	return &input{loaded, values}, err
}

// copy returns the same input for another rendering.
func (in *input) copy() *input {
	values := maps.Clone(in.values)
	for _, k := range []string{"Release", "Values"} {
		switch v := values[k].(type) {
		case chartutil.Values:
			values[k] = chartutil.Values(deepCopy(v.AsMap()).(map[string]any))
		default:
			values[k] = deepCopy(v)
		}
	}
	return &input{instance(in.chart), values}
}

// documents renders the chart. Documents are in the order in which helm
// template --include-crds prints them. known is what templates are known to print.
// It also returns what another rendering prints as well, and whether there is
// more: the chart called something that is random or reads the clock.
func (j *job) documents(ctx context.Context, in *input, l *luck, known map[string]page) (docs []document, again map[string]page, chance bool, err error) {
	rendered, again, chance, err := j.pages(ctx, in, l, known)
	if err != nil {
		return nil, nil, false, j.fault("chart %s does not render: %v", j.chart.Ref, err)
	}
	manifests, err := documents(rendered, func(p page) []document { return j.readPage(ctx, p) })
	if err != nil {
		return nil, nil, false, j.fault("chart %s %v", j.chart.Ref, err)
	}
	for _, crd := range in.chart.CRDObjects() {
		d := j.source.crds(crd.Filename, crd.File)
		d.crd = true
		docs = append(docs, d)
	}
	return append(docs, manifests...), again, chance, nil
}

// pages executes the templates, or recalls what they print where others have printed
// it. Where that leads to an error, all are executed: that says what is wrong, and
// where.
func (j *job) pages(ctx context.Context, in *input, l *luck, known map[string]page) (rendered, again map[string]page, chance bool, err error) {
	all := renderables(in.chart, in.values)
	limited, cancel := context.WithTimeoutCause(ctx, maxWall, errTooLong)
	defer cancel()
	if r := j.recalling(limited, l, in, all, known); r != nil {
		defer r.end()
		rendered, again, chance, err = j.execute(limited, l, all, nil, r)
		if err == nil || ctx.Err() != nil {
			return rendered, again, chance, err
		}
		if in, err = j.input(); err != nil { // the templates may have modified that
			return nil, nil, false, err
		}
		all = renderables(in.chart, in.values)
		*l = *newLuck(l.now)
		limited, cancel = context.WithTimeoutCause(ctx, maxWall, errTooLong)
		defer cancel()
	}
	return j.execute(limited, l, all, known, nil)
}

// recalling is [source.recalling] of a first rendering. A second one is there to be
// another.
func (j *job) recalling(ctx context.Context, l *luck, in *input, all []renderable, known map[string]page) *recalling {
	if known != nil || l.first != nil || j.source.plain {
		return nil
	}
	return j.source.recalling(ctx, j.most, l, in, all)
}

func (j *job) execute(ctx context.Context, l *luck, all []renderable, known map[string]page, r *recalling) (rendered, again map[string]page, chance bool, err error) {
	var e *engine
	if r != nil && r.engine != nil {
		e = r.engine
	} else if e, err = j.source.engine(ctx, j.most, l, all); err != nil {
		return nil, nil, false, err
	}
	if rendered, err = e.render(all, known, r); err != nil {
		return nil, nil, false, err
	}
	again, chance = e.again(rendered)
	e.source.giveBack(e)
	return rendered, again, chance, nil
}

// readPage reads the documents of a page, unless that was done before.
func (j *job) readPage(ctx context.Context, p page) []document {
	if p.docs != nil {
		return p.docs
	}
	var docs []document
	for _, text := range split(p.text) {
		docs = append(docs, j.read(ctx, text))
	}
	p.share(docs)
	return docs
}

// read reads a document, unless that was done before.
func (j *job) read(ctx context.Context, text string) document {
	if d, ok := j.known[text]; ok {
		return d
	}
	if ctx.Err() != nil {
		return document{refused: ctx.Err()}
	}
	d, kept := j.source.docs.get(text, readDocument)
	d.text, d.shared = text, kept
	return d
}

// DefaultAPIs returns the API versions that charts see of a cluster as long as
// nobody knows better: as helm template does, those that Helm knows, with
// those that the cluster declares and the given ones.
func DefaultAPIs(c *fleet.Cluster, more ...string) []string {
	extra := slices.Clone(more)
	for _, a := range c.APIs {
		extra = append(extra, a.APIVersion, a.APIVersion+"/"+a.Kind)
	}
	slices.Sort(extra)
	return slices.Concat(chartutil.DefaultVersionSet, slices.Compact(extra))
}

// capabilities returns what charts see of the cluster: its Kubernetes version,
// and the API versions that it serves.
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

// AsksForAPIs reports whether a template of the chart or of its dependencies
// can depend on the API versions that the cluster serves. It may say so of a
// chart that does not ask, and never misses one that does.
func AsksForAPIs(ch *fleet.Chart) bool {
	return slices.ContainsFunc(ch.Files, func(f fleet.File) bool {
		// Dependencies may be archives, which are not looked into.
		return strings.HasSuffix(f.Name, ".tgz") || bytes.Contains(f.Data, []byte("Capabilities")) && asksForAPIs.Match(f.Data)
	})
}

// TextAsksForAPIs reports the same of a text that a chart may use as a template,
// such as a value that it gives to tpl.
func TextAsksForAPIs(text string) bool {
	return strings.Contains(text, "Capabilities") && asksForAPIs.MatchString(text)
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

// values returns what the templates see: the user's values over those of the
// chart and its dependencies, the release and the capabilities.
func (j *job) values(loaded *chart.Chart, user map[string]any, caps *chartutil.Capabilities) (chartutil.Values, error) {
	values, lost, err := coalesce(loaded, j.release, user, caps)
	if err != nil {
		r := j.release
		return nil, &diag.Diag{At: []diag.Pos{r.Pos}, Path: r.Path("values"), Msg: fmt.Sprintf("chart %s does not take the values: %v", j.chart.Ref, err), Cause: err}
	}
	var faults diag.List
	faults.Add(j.lostValues(lost, caps))
	return values, faults.Err()
}
