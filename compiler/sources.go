package compiler

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// Source renders a release from its source. A chart sees the given API versions.
func (f *Fleet) Source(ctx context.Context, c *fleet.Cluster, r *fleet.Release, apis []string) (render.Result, error) {
	switch {
	case r.Jsonnet != "":
		return f.EvaluateJsonnet(ctx, c, r, apis)
	case r.Kustomize != "":
		return f.kustomization(ctx, c, r)
	case r.Manifests != "":
		k, err := f.read.Get("manifests "+r.Manifests, func() (Kustomization, error) {
			objs, _, err := source.ReadManifests(f.Dir, r.Manifests, r)
			return Kustomization{Objects: objs}, err
		})
		return render.Result{Objects: shareObjects(k.Objects, r)}, err
	}
	return f.chart(ctx, c, r, apis)
}

// kustomization builds a kustomization once, or once for each version of Kubernetes if its
// charts see the version.
func (f *Fleet) kustomization(ctx context.Context, c *fleet.Cluster, r *fleet.Release) (render.Result, error) {
	build := func() (Kustomization, error) { return f.remotes.Build(ctx, f.Dir, r, c.KubeVersion) }
	k, err := f.read.Get("kustomize "+r.Kustomize, build)
	if k.Kubernetes != "" && k.Kubernetes != c.KubeVersion {
		k, err = f.read.Get("kustomize "+r.Kustomize+" "+c.KubeVersion, build)
	}
	return render.Result{Objects: shareObjects(k.Objects, r)}, err
}

// shareObjects returns objects as those of the release, with the same content.
func shareObjects(objs []fleet.Object, r *fleet.Release) []fleet.Object {
	out := make([]fleet.Object, len(objs))
	for i, o := range objs {
		out[i] = fleet.Object{Unstructured: o.Unstructured, Release: r, Shared: true, Template: o.Template, Pos: o.Pos}
	}
	return out
}

// initJsonnet prepares the evaluation of Jsonnet. It reads the packages of charts only if a
// release uses Jsonnet.
func (f *Fleet) initJsonnet(all *fleet.Fleet) error {
	library, err := fs.ReadFile(fleetc.Library, "fleetc.libsonnet")
	if err != nil {
		return err
	}
	f.jsonnet = &source.JsonnetRenderer{Dir: all.Dir, Library: library}
	for _, c := range all.Clusters {
		if slices.ContainsFunc(c.Releases, func(r *fleet.Release) bool { return r.Jsonnet != "" }) {
			f.packages, err = load.Packages(all.Dir)
			return err
		}
	}
	return nil
}

// ChartUsers returns the charts of the releases, and all pinned charts if a Jsonnet file may
// render charts by name.
func (f *Fleet) ChartUsers(ctx context.Context, all *fleet.Fleet) map[fleet.ChartRef]*fleet.ChartUse {
	users := fleet.ChartUsers(all)
	usesCharts := map[string]bool{} // by Jsonnet file
	for _, c := range all.Clusters {
		for _, r := range c.Releases {
			if r.Jsonnet == "" || len(f.packages) == 0 {
				continue
			}
			if _, ok := usesCharts[r.Jsonnet]; !ok {
				_, charts, err := f.jsonnet.Dependencies(ctx, r.Jsonnet)
				usesCharts[r.Jsonnet] = charts || err != nil
			}
			if !usesCharts[r.Jsonnet] {
				continue
			}
			for _, p := range f.packages {
				if ref := p.Pins[0].Ref; users[ref] == nil {
					users[ref] = &fleet.ChartUse{Release: r, Clusters: []string{c.ID}}
				}
			}
		}
	}
	return users
}

// EvaluateJsonnet renders a release of Jsonnet. Charts in it see the given API versions.
func (f *Fleet) EvaluateJsonnet(ctx context.Context, c *fleet.Cluster, r *fleet.Release, apis []string) (render.Result, error) {
	result, err := f.jsonnet.Render(ctx, source.JsonnetRequest{
		File: r.Jsonnet, Params: r.Values.Value(), Release: r,
		Cluster: map[string]any{
			"id": c.ID, "name": c.Name, "environment": c.Environment, "kubernetes": c.KubeVersion, "labels": c.Labels, "facts": c.Facts,
		},
		HelmTemplate: func(ctx context.Context, call source.HelmCall) ([]fleet.Object, error) {
			return f.helmTemplate(ctx, c, r, call, apis)
		},
	})
	return render.Result{Objects: result.Objects}, err
}

// helmTemplate renders a chart for a release of Jsonnet. It checks the values as for any
// release.
func (f *Fleet) helmTemplate(ctx context.Context, c *fleet.Cluster, r *fleet.Release, call source.HelmCall, apis []string) ([]fleet.Object, error) {
	i := slices.IndexFunc(f.packages, func(p load.Package) bool { return p.Name == call.Chart })
	if i < 0 {
		names := diag.Each(f.packages, func(p load.Package) string { return p.Name })
		hint := "run fleetc chart add, which pins it"
		if len(names) > 0 {
			hint = diag.OneOf(call.Chart, names)
		}
		return nil, &diag.Diag{Code: diag.CodeUnpinnedSource, Msg: "no chart is pinned as " + strconv.Quote(call.Chart), Hint: hint}
	}
	ch, ok := f.Charts[f.packages[i].Pins[0].Ref]
	if !ok {
		return nil, &diag.Diag{Code: diag.CodeUnpinnedSource, Msg: "the chart of the package " + call.Chart + " is missing", Hint: "run fleetc chart add, which pins it"}
	}
	values, err := fleet.TreeOf(call.Values)
	if err != nil {
		return nil, err
	}
	inner := &fleet.Release{Name: call.Name, Namespace: call.Namespace, Stage: r.Stage, Chart: ch.Ref, Values: values, Pos: r.Pos}
	if err := ch.Types.Check(inner.Values, nil).Err(); err != nil {
		return nil, diag.Changed(err, func(d *diag.Diag) { d.At, d.Path = nil, call.Chart+": "+d.Path })
	}
	result, err := f.Templates.Release(ctx, c, inner, ch.Chart, apis)
	if result.UsesClock {
		f.UsesClock.Store(c.ID, true)
	}
	if err == nil && len(result.Nondeterministic) > 0 {
		err = &diag.Diag{Code: diag.CodeNondeterministic, Msg: fmt.Sprintf("the chart %s renders a different %s every time", call.Chart, result.Nondeterministic[0].ID), Hint: "set a value of the chart that fixes it"}
	}
	return result.Objects, err
}
