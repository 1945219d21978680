package compiler

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// RemoteReader reads the pinned remote sources of kustomizations, and renders their charts.
type RemoteReader struct {
	source    *chart.Source
	pins      func() (map[string]fleet.RemoteSource, error)
	templates *render.Charts
}

// NewRemoteReader returns a reader for the fleet with the given root.
func NewRemoteReader(root string, source *chart.Source, templates *render.Charts) *RemoteReader {
	return &RemoteReader{source, sync.OnceValues(func() (map[string]fleet.RemoteSource, error) { return load.Sources(root) }), templates}
}

// A Kustomization is the result of building a kustomization.
type Kustomization struct {
	Objects []fleet.Object
	Reads   []string // files of the fleet, sorted, with those that pin and contain remote sources

	// Kubernetes is the version that the charts of the kustomization saw; empty if none of
	// them saw the version of the cluster.
	Kubernetes string
}

// Build builds a kustomization for a version of Kubernetes; an empty one is the newest.
func (r *RemoteReader) Build(ctx context.Context, root string, release *fleet.Release, kubernetes string) (k Kustomization, err error) {
	charts := &KustomizeCharts{Templates: r.templates, Kubernetes: kubernetes, Get: func(ctx context.Context, ref fleet.ChartRef) (*fleet.Chart, error) {
		pin := ref
		if ref.Path == "" {
			k.Reads = append(k.Reads, load.SourcesFile)
			pins, err := r.pins()
			if pin = pins[chart.ChartAddress(ref)].Chart; err != nil || pin == (fleet.ChartRef{}) {
				return nil, err
			}
		}
		files, err := r.source.Files(ctx, pin)
		if err != nil {
			return nil, err
		}
		k.Reads = append(k.Reads, files...)
		return r.source.Chart(ctx, pin)
	}}
	remotes := func(ctx context.Context, address string) (*fleet.RemoteFiles, error) {
		k.Reads = append(k.Reads, load.SourcesFile)
		pins, err := r.pins()
		if err != nil {
			return nil, err
		}
		pin, ok := pins[address]
		if !ok || pin.IsChart() {
			return nil, chart.CheckAddress(address)
		}
		k.Reads = append(k.Reads, r.source.RemoteFiles(pin)...)
		return r.source.Pinned(ctx, pin)
	}
	objs, reads, err := source.BuildKustomization(ctx, root, release.Kustomize, release, source.KustomizeInputs{Remotes: remotes, Charts: charts})
	k.Objects = objs
	if k.Reads = append(k.Reads, reads...); charts.seen {
		k.Kubernetes = kubernetes
	}
	k.Reads = diag.Distinct(k.Reads)
	return k, err
}

// KustomizeCharts renders the charts of a kustomization.
type KustomizeCharts struct {
	Templates  *render.Charts
	Kubernetes string // version; the newest when empty
	Get        func(ctx context.Context, ref fleet.ChartRef) (*fleet.Chart, error)

	seen bool // whether a chart saw the version
}

// Chart implements [source.KustomizeCharts].
func (k *KustomizeCharts) Chart(ctx context.Context, ref fleet.ChartRef) (*fleet.Chart, error) {
	return k.Get(ctx, ref)
}

// Render implements [source.KustomizeCharts].
func (k *KustomizeCharts) Render(ctx context.Context, r *fleet.Release, ch *fleet.Chart, version string, apis []string) ([]fleet.Object, error) {
	switch {
	case version != "":
		if err := kube.CheckVersion(version); err != nil {
			return nil, err
		}
	case k.Kubernetes != "":
		version, k.seen = k.Kubernetes, true
	default:
		all := kube.Versions()
		version = all[len(all)-1].String()
	}
	c := &fleet.Cluster{KubeVersion: version}
	result, err := k.Templates.Release(ctx, c, r, ch, slices.Concat(render.DefaultAPIs(c), apis))
	switch {
	case err != nil:
		return nil, err
	case len(result.Nondeterministic) > 0:
		err = &diag.Diag{Code: diag.CodeNondeterministic, Msg: fmt.Sprintf("chart %s renders a different %s every time", ch.Ref, result.Nondeterministic[0].ID), Hint: "set a value of the chart that fixes it"}
	case result.UsesClock:
		err = &diag.Diag{Code: diag.CodeNondeterministic, Msg: fmt.Sprintf("chart %s reads the clock, so the result depends on the day", ch.Ref), Hint: "make the chart a separate release"}
	}
	return slices.Concat(result.Objects, result.Hooks), err // all hooks, as helm template prints them
}
