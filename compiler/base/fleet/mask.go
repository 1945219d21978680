package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// ownValue replaces texts that differ between clusters in messages: two faults at one
// position that differ only in such texts are one mistake.
const ownValue = "\x00"

// maskOf returns the mask for texts that differ between clusters: names, labels and facts
// of the cluster, and values of its releases. A masked value is replaced by the line that
// sets it, which several clusters may share.
func maskOf(c *Cluster) *diag.Mask {
	m := &diag.Mask{}
	for _, text := range []string{c.ID, c.Name, path.Base(c.ID), c.Environment, c.KubeContext, c.UID, c.KubeVersion} {
		m.Add(text, ownValue)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		m.Add(c.Labels[key], ownValue)
	}
	addFacts(m, c.Facts)
	for _, r := range c.Releases {
		for _, t := range append([]*Tree{r.Values}, r.Objects...) {
			t.EachScalar(func(_ []string, scalar *Tree) {
				if text, ok := scalar.Scalar.(string); ok && scalar.Pos.IsValid() {
					m.Add(text, ownValue+scalar.Pos.String())
				}
			})
		}
	}
	return m
}

// addFacts adds the texts and numbers in the facts of a cluster.
func addFacts(m *diag.Mask, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			addFacts(m, v[key])
		}
	case []any:
		for _, item := range v {
			addFacts(m, item)
		}
	case bool, nil:
	default:
		m.Add(ScalarText(v), ownValue)
	}
}

// WithForms returns faults of the clusters as [diag.Fold] takes them. evaluated is whether
// the faults are about values and at the lines that set them.
func WithForms(err error, clusters []*Cluster, evaluated bool) error {
	if err == nil {
		return nil
	}
	byID := map[string]*Cluster{}
	for _, c := range clusters {
		byID[c.ID] = c
	}
	masks := map[string]*diag.Mask{}
	var out diag.List
	for _, d := range diag.All(err) {
		if len(d.Clusters) > 0 {
			id := d.Clusters[0]
			if masks[id] == nil {
				masks[id] = &diag.Mask{}
				if c := byID[id]; c != nil {
					masks[id] = maskOf(c)
				}
			}
			d = d.Masked(masks[id], evaluated || isBlamed(d))
		}
		out = append(out, d)
	}
	return out
}

// InCluster marks faults in the objects of a cluster as faults of the cluster.
func InCluster(c *Cluster, err error) error {
	return WithForms(diag.In(c.ID, err), []*Cluster{c}, false)
}

// isBlamed reports whether the first place of a fault is the line that set the
// field, see [Fleet.blame].
func isBlamed(d *diag.Diag) bool {
	at, ok := errors.AsType[*FieldError](d.Cause)
	return ok && len(d.At) > 0 && d.At[0] != at.Object.Pos
}

// IDs returns the IDs of clusters, in their order.
func IDs(clusters []*Cluster) []string {
	return diag.Each(clusters, func(c *Cluster) string { return c.ID })
}

// FaultsOf returns the faults of a cluster and those of the whole fleet, as faults of the
// cluster.
func FaultsOf(cluster string, err error) error {
	var out diag.List
	for _, d := range diag.All(err) {
		if len(d.Clusters) == 0 || slices.Contains(d.Clusters, cluster) {
			of := *d
			of.Clusters = []string{cluster}
			out = append(out, &of)
		}
	}
	return out.Err()
}

// ScalarText returns a string, number or bool as text; empty for other values.
func ScalarText(v any) string {
	switch v.(type) {
	case string, bool, int64, float64, json.Number:
		return fmt.Sprint(v)
	}
	return ""
}
