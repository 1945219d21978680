package values

import (
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A release is a chart with its dependencies, without a user's values.
type release struct {
	root *node
	own  ownUses // reads of dependencies' values by the chart's own templates

	missing []string // dependencies that Chart.yaml lists and the chart does not contain in any version
}

// A node is a chart in the tree of dependencies. It is immutable.
type node struct {
	name    string // the chart's name or alias
	version string
	values  map[string]any
	schema  *schema
	deps    []*node
	entries []*chart.Dependency // of its Chart.yaml, also for charts that it does not contain
}

// newRelease returns the tree of the chart and its dependencies with their
// schemas.
func newRelease(c *chart.Chart, schemas map[*chart.Chart]*schema) *release {
	r := &release{root: newNode(subchart{name: c.Name(), chart: c}, schemas, 0)}
	for _, d := range c.Metadata.Dependencies {
		if d != nil && !slices.ContainsFunc(c.Dependencies(), func(sub *chart.Chart) bool { return sub.Name() == d.Name }) {
			r.missing = append(r.missing, d.Name)
		}
	}
	return r
}

// Complete returns a fault when the chart lacks dependencies that its Chart.yaml
// lists. Helm cannot render such a chart, and its types say little about values.
func (t *Type) Complete(ch *fleet.Chart) error {
	if t.chart == nil || len(t.chart.missing) == 0 {
		return nil
	}
	hint := "run fleetc chart add again, which pins them"
	if ch.Ref.Path != "" {
		hint = "run fleetc chart add ./" + ch.Ref.Path + ", which pins them, or helm dependency build in the directory of the chart"
	}
	name, version := ch.Ref.Request()
	return &diag.Diag{
		Code: diag.CodeChartDependencies,
		Path: ch.Ref.String(),
		Msg:  "the chart lacks dependencies that its Chart.yaml lists: " + strings.Join(t.chart.missing, ", "),
		Hint: hint, Fixes: []diag.Fix{{Kind: diag.FixChart, Old: name, New: version}},
	}
}

func newNode(d subchart, schemas map[*chart.Chart]*schema, depth int) *node {
	n := &node{
		name: d.name, version: d.chart.Metadata.Version, values: d.chart.Values, schema: schemas[d.chart],
		entries: slices.DeleteFunc(slices.Clone(d.chart.Metadata.Dependencies), func(d *chart.Dependency) bool { return d == nil }),
	}
	if depth < maxLevels {
		for _, sub := range subcharts(d.chart) {
			if sub.chart != nil {
				n.deps = append(n.deps, newNode(sub, schemas, depth+1))
			}
		}
	}
	return n
}

// with returns the node without the dependencies that the values disable, and the final
// values. It returns an error when the values of a dependency are not a map.
func (n *node) with(user map[string]any) (*node, map[string]any, error) {
	c := n.chart()
	values, _, err := fleet.CoalesceValues(c, user)
	if err != nil {
		return nil, nil, err
	}
	return n.only(c), values, nil
}

// RemoveKeys removes the keys of a release's values that a null of a nearer layer removes. A
// null stays if the chart has a default, which Helm deletes for it.
func (t *Type) RemoveKeys(v *fleet.Tree) {
	var nulls [][]string
	v.EachScalar(func(path []string, scalar *fleet.Tree) {
		if removesDefault(scalar) {
			nulls = append(nulls, path)
		}
	})
	if len(nulls) == 0 {
		return
	}
	user := v.Value()
	for _, path := range nulls {
		around, _ := fleet.Lookup(user, path[:len(path)-1])
		m, _ := around.(map[string]any)
		delete(m, path[len(path)-1])
	}
	root := t.chart.root
	_, merged, _ := root.with(user.(map[string]any)) // check reports the error
	for _, path := range nulls {
		_, inMerged := fleet.Lookup(merged, path) // also what the chart imports from dependencies
		if !root.hasDefault(path) && (!inMerged || t.chart.nodeAt(path) != nil) {
			delete(v.At(path[:len(path)-1]...).Fields, path[len(path)-1])
		}
	}
}

// hasDefault reports whether the chart or a dependency has a default that a null deletes.
func (n *node) hasDefault(path []string) bool {
	_, ok := fleet.Lookup(n.values, path)
	for _, d := range n.deps {
		ok = ok || path[0] == chartutil.GlobalKey && d.hasDefault(path) || path[0] == d.name && len(path) > 1 && d.hasDefault(path[1:])
	}
	return ok
}

// chart returns the chart with all that decides which values it gets.
func (n *node) chart() *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: n.name, Version: n.version}, Values: n.values}
	for _, d := range n.deps {
		c.AddDependency(d.chart())
	}
	for _, e := range n.entries {
		entry := *e
		entry.Name, entry.Alias = fleet.DependencyKey(e), ""
		c.Metadata.Dependencies = append(c.Metadata.Dependencies, &entry)
	}
	return c
}

// entry returns the entry of Chart.yaml for a dependency; nil when there is none.
func (n *node) entry(d *node) *chart.Dependency {
	if i := slices.IndexFunc(n.entries, func(e *chart.Dependency) bool { return fleet.DependencyKey(e) == d.name }); i >= 0 {
		return n.entries[i]
	}
	return nil
}

// only returns the node with the dependencies that the chart has.
func (n *node) only(c *chart.Chart) *node {
	out := *n
	out.deps = nil
	for _, sub := range c.Dependencies() {
		if i := slices.IndexFunc(n.deps, func(d *node) bool { return d.name == sub.Name() }); i >= 0 {
			out.deps = append(out.deps, n.deps[i].only(sub))
		}
	}
	return &out
}
