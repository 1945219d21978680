package query

import (
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// compareLayers compares the clusters, releases, charts and values in the layers.
func (c *comparer) compareLayers() *Comparison {
	all := fleet.IDs(c.clusters)
	facts, releases, charts, values := diff.NewTable(all), diff.NewTable(all), diff.NewTable(all), diff.NewTable(all)
	for i, cluster := range c.clusters {
		if len(c.patterns) == 0 {
			c.addFacts(facts, i, cluster)
		}
		for name, r := range c.releases[i] {
			releases.Add(name, nil, i, diff.Cell{Value: true, Exists: true, Origin: originAt(r.Pos)})
			c.addFields(releases, i, r)
			if r.Chart != (fleet.ChartRef{}) {
				charts.Add(name, nil, i, diff.Cell{Value: r.Chart.String(), Exists: true, Origin: originAt(r.SourcePos)})
			}
			c.addValues(values, i, r, r.Values, nil)
		}
	}
	return &Comparison{
		Clusters: all,
		Facts:    facts.Differences(c.missingCell),
		Releases: releases.Differences(func(release string, path []string, i int) (diff.Cell, bool) {
			return diff.Cell{}, len(path) == 0 || c.releases[i][release] != nil
		}),
		Charts: charts.Differences(c.missingCell),
		Values: values.Differences(c.chartDefault),
	}
}

// originAt returns a position as an origin, and no origin for a position in a schema.
func originAt(pos diag.Pos) diff.Origin {
	if diag.IsTypeFile(pos.File) {
		return diff.Origin{}
	}
	return diff.Origin{Pos: pos}
}

// addFacts adds the fields of a cluster, missingCell its releases.
func (c *comparer) addFacts(t *diff.Table, i int, cluster *fleet.Cluster) {
	add := func(v any, origin diff.Origin, path ...string) {
		t.Add("", path, i, diff.Cell{Value: c.secrets.Mask(v), Exists: true, Origin: origin})
	}
	add(cluster.Name, originAt(cluster.Pos), "name")
	add(cluster.KubeVersion, originAt(cluster.KubePos), "kubernetes")
	if cluster.Environment != "" {
		add(cluster.Environment, diff.Origin{}, "environment")
	}
	if cluster.KubeContext != "" {
		add(cluster.KubeContext, diff.Origin{}, "context")
	}
	for k, v := range cluster.Labels {
		add(v, diff.Origin{}, "labels", k)
	}
	for _, a := range cluster.APIs {
		add(map[bool]string{true: "Namespaced", false: "Cluster"}[a.Namespaced], diff.Origin{}, "apis", a.APIVersion, a.Kind)
	}
	add(diff.List(cluster.CRDs), diff.Origin{}, "crds")
	add(diff.List(cluster.Stages), diff.Origin{}, "stages")
	var walk func(v any, path []string)
	walk = func(v any, path []string) {
		m, ok := v.(map[string]any)
		if !ok {
			add(v, diff.Origin{}, path...)
			return
		}
		for k, e := range m {
			walk(e, append(path[:len(path):len(path)], k))
		}
	}
	walk(cluster.Facts, []string{"facts"})
}

// addFields adds the fields of a release, missingCell its chart and values.
func (c *comparer) addFields(t *diff.Table, i int, r *fleet.Release) {
	add := func(v any, at diff.Origin, path ...string) {
		t.Add(r.Name, path, i, diff.Cell{Value: c.secrets.Mask(v), Exists: true, Origin: at})
	}
	at := originAt(r.Pos)
	add(r.Namespace, at, "namespace")
	add(r.Stage, at, "stage")
	if len(r.Depends) > 0 {
		add(diff.List(r.Depends), at, "depends")
	}
	add(string(r.Delivery), at, "delivery")
	add(r.Tests, at, "tests")
	for field, source := range map[string]string{"jsonnet": r.Jsonnet, "kustomize": r.Kustomize, "manifests": r.Manifests} {
		if source != "" {
			add(source, at, field)
		}
	}
	for _, p := range r.Patches {
		add(patchValue(p), originAt(p.Pos), "patches", p.Name)
	}
}

// patchValue returns a patch as a JSON value.
func patchValue(p fleet.Patch) any {
	switch {
	case p.Strategic != nil:
		return map[string]any{"strategic": p.Strategic}
	case p.Merge != nil:
		return map[string]any{"merge": p.Merge}
	case p.Images != nil:
		images := map[string]any{}
		for from, to := range p.Images {
			images[from] = to
		}
		return map[string]any{"images": images}
	}
	var operations []any
	for _, o := range p.JSON {
		op := map[string]any{"op": o.Op, "path": o.Path}
		if o.From != "" {
			op["from"] = o.From
		}
		if o.Value != nil {
			op["value"] = o.Value
		}
		operations = append(operations, op)
	}
	return map[string]any{"json": operations}
}

// addValues adds the values of a release below a path. It ignores empty maps.
func (c *comparer) addValues(t *diff.Table, i int, r *fleet.Release, v *fleet.Tree, path []string) {
	if !v.IsMap() {
		t.Add(r.Name, path, i, diff.Cell{
			Value: c.secrets.Mask(v.Native()), Exists: true, Origin: diff.Origin{Pos: v.Pos, Layer: v.Layer},
		})
		return
	}
	for _, k := range v.Keys() {
		c.addValues(t, i, r, v.Fields[k], append(slices.Clip(path), k))
	}
}

// chartDefault returns the cell for a value that no layer of the cluster sets: the default
// of the chart, unless a layer replaces a map around it.
func (c *comparer) chartDefault(release string, path []string, cluster int) (diff.Cell, bool) {
	r := c.releases[cluster][release]
	if r == nil {
		return diff.Cell{}, false
	}
	if at, depth := r.Values.Lookup(path...); depth < len(path) && !at.IsMap() {
		return diff.Cell{Origin: diff.Origin{Pos: at.Pos, Layer: at.Layer}}, true
	}
	ch, ok := c.f.Charts[r.Chart]
	if !ok {
		return diff.Cell{}, true
	}
	if t, ok := ch.Types.At(path...); ok && t.Default != nil {
		return diff.Cell{Value: c.secrets.Mask(t.Default), Exists: true, Origin: diff.Origin{Chart: r.Chart.Location()}}, true
	}
	return diff.Cell{}, true
}
