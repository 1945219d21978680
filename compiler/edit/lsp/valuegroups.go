package lsp

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// valueGroup is the clusters in which a field has the same value.
type valueGroup struct {
	value    any
	isSet    bool // by a layer or the chart
	text     string
	tree     *fleet.Tree // of the first cluster, nil for a field that is not a value of a release
	clusters []string    // IDs, sorted
}

// groups returns the clusters below a layer by the value of a field, the largest group
// first. It returns false for fields that the snapshot does not know.
func (s *snapshot) groups(layer string, field []string) ([]*valueGroup, bool) {
	byText := map[string]*valueGroup{}
	var out []*valueGroup
	for _, c := range s.below(layer) {
		g := &valueGroup{}
		var exists, known bool
		if g.value, g.tree, exists, known = s.valueIn(c, field); !known {
			return nil, false
		}
		if !exists {
			continue
		}
		if g.isSet = g.value != nil || g.tree != nil; g.isSet {
			g.text = jsonText(g.value)
		}
		if byText[g.text] == nil {
			byText[g.text] = g
			out = append(out, g)
		}
		byText[g.text].clusters = append(byText[g.text].clusters, c.ID)
	}
	slices.SortStableFunc(out, func(a, b *valueGroup) int { return cmp.Compare(len(b.clusters), len(a.clusters)) })
	return out, true
}

// below returns the clusters below the directory of a layer; all of them without one.
func (s *snapshot) below(layer string) []*fleet.Cluster {
	prefix, ok := strings.CutPrefix(layer, "environments/")
	if !ok {
		return s.clusters
	}
	return slices.DeleteFunc(slices.Clone(s.clusters), func(c *fleet.Cluster) bool { return !fleet.IsWithin(c.ID, prefix) })
}

// valueIn returns the value of a field in a cluster, with its tree if it is a value of a
// release; whether the cluster has the field; and whether the snapshot knows such fields.
func (s *snapshot) valueIn(c *fleet.Cluster, field []string) (v any, t *fleet.Tree, exists, known bool) {
	switch {
	case len(field) >= 3 && field[0] == "releases" && field[2] == "values":
		r := c.Release(field[1])
		if r == nil {
			return nil, nil, false, true
		}
		if t = r.Values.At(field[3:]...); t != nil {
			return t.Value(), t, true, true
		}
		if t := s.typeOf(r, field[3:]); t != nil && t.Known&values.Defaults != 0 {
			v = t.Default
		}
		return v, nil, true, true
	case len(field) >= 3 && field[0] == "releases":
		r := c.Release(field[1])
		of := cmp.Or(r, &fleet.Release{})
		v, known = textField(field[2:], map[string]string{
			"namespace": of.Namespace, "stage": of.Stage, "jsonnet": of.Jsonnet, "kustomize": of.Kustomize, "manifests": of.Manifests, "chart.path": of.Chart.Path,
			"chart.repo": of.Chart.Repo, "chart.name": of.Chart.Name, "chart.version": of.Chart.Version, "chart.digest": of.Chart.Digest,
		})
		return v, nil, r != nil, known
	case len(field) == 3 && field[0] == "cluster" && field[1] == "labels":
		label, ok := c.Labels[field[2]]
		return label, nil, ok, true
	case len(field) > 2 && field[0] == "cluster" && field[1] == "facts":
		v, ok := fleet.Lookup(map[string]any(c.Facts), field[2:])
		return v, nil, ok, true
	}
	v, known = textField(field, map[string]string{
		"environment": c.Environment, "cluster.name": c.Name, "cluster.kubernetes": c.KubeVersion, "cluster.context": c.KubeContext, "cluster.uid": c.UID,
	})
	return v, nil, true, known
}

// textField returns one of several texts by the path of its field, nil for an empty one, and
// whether there is such a field.
func textField(field []string, texts map[string]string) (any, bool) {
	text, known := texts[fleet.FieldText(field)]
	if text == "" {
		return nil, known
	}
	return text, known
}

// typeOf returns the type of a release's value in its chart; nil when it is unknown.
func (s *snapshot) typeOf(r *fleet.Release, path []string) *values.Type {
	types := s.fleet.Charts[r.Chart].Types
	if types == nil {
		return nil
	}
	if t, ok := types.At(path...); ok {
		return t
	}
	return nil
}

func jsonText(v any) string {
	if text := diag.AsJSON(v); text != "" {
		return text
	}
	return fmt.Sprint(v)
}

// clustersText describes some clusters of a fleet in one line of Markdown. all holds the IDs
// of all clusters of the fleet.
func clustersText(ids, all []string) string {
	const few = 3
	prefix := ids[0]
	for prefix != "." && slices.ContainsFunc(ids, func(id string) bool { return !fleet.IsWithin(id, prefix) }) {
		prefix = path.Dir(prefix)
	}
	of := ""
	if prefix != "." {
		of = " of " + codeSpan(prefix)
	}
	whole := 0
	for _, id := range all {
		if prefix == "." || strings.HasPrefix(id, prefix+"/") {
			whole++
		}
	}
	names := make([]string, min(few, len(ids)))
	for i := range names {
		names[i] = codeSpan(ids[i])
	}
	switch n := len(ids); {
	case n == 1:
		return names[0]
	case n == whole:
		return fmt.Sprintf("all %d clusters%s", n, of)
	case n <= few:
		return strings.Join(names, ", ")
	default:
		return fmt.Sprintf("%d of %d clusters%s: %s, ...", n, whole, of, strings.Join(names, ", "))
	}
}
