package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file merges values and enables dependencies as Helm does when it renders.
// Helm's own functions write warnings to the process's logger and copy all
// values at each step.

// A release is a chart with its dependencies, without a user's values.
type release struct {
	root *node
	own  ownUses // reads of dependencies' values by the chart's own templates

	missing []string // dependencies that Chart.yaml lists and the chart does not contain in any version
}

// A node is a chart in the tree of dependencies. It is immutable.
type node struct {
	name   string // the chart's name or alias
	values map[string]any
	schema *schema
	deps   []*node
	meta   *chart.Dependency // nil when Chart.yaml does not list the chart
}

// A dependency is a direct dependency of a chart, with the key of its values.
type dependency struct {
	name  string
	chart *chart.Chart
	meta  *chart.Dependency
}

// named returns the dependencies of a chart in Helm's order, and the names of
// those that Chart.yaml lists and the chart does not contain.
func named(c *chart.Chart) (deps []dependency, missing []string) {
	matches := func(d *chart.Dependency, sub *chart.Chart) bool {
		return d != nil && sub.Name() == d.Name && chartutil.IsCompatibleRange(d.Version, sub.Metadata.Version)
	}
	for _, sub := range c.Dependencies() {
		if !slices.ContainsFunc(c.Metadata.Dependencies, func(d *chart.Dependency) bool { return matches(d, sub) }) {
			deps = append(deps, dependency{name: sub.Name(), chart: sub})
		}
	}
	for _, d := range c.Metadata.Dependencies {
		if d == nil {
			continue
		}
		name := d.Name
		if d.Alias != "" {
			name = d.Alias
		}
		i := slices.IndexFunc(c.Dependencies(), func(sub *chart.Chart) bool { return matches(d, sub) })
		if i < 0 {
			missing = append(missing, name)
			continue
		}
		deps = append(deps, dependency{name, c.Dependencies()[i], d})
	}
	return deps, missing
}

// newRelease returns the tree of the chart and its dependencies with their
// schemas.
func newRelease(c *chart.Chart, schemas map[*chart.Chart]*schema) *release {
	r := &release{root: newNode(dependency{name: c.Name(), chart: c}, schemas, 0)}
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

func newNode(d dependency, schemas map[*chart.Chart]*schema, depth int) *node {
	n := &node{name: d.name, values: d.chart.Values, meta: d.meta, schema: schemas[d.chart]}
	if depth < maxLevels {
		deps, _ := named(d.chart)
		for _, sub := range deps {
			n.deps = append(n.deps, newNode(sub, schemas, depth+1))
		}
	}
	return n
}

// with returns the node without the dependencies that the values disable and
// with the values that it imports from the others, and the final values. It
// returns an error when the values of a dependency are not a map.
func (n *node) with(user map[string]any) (*node, map[string]any, error) {
	on, err := n.enabled(user, "")
	if err != nil {
		return nil, nil, err
	}
	if on, err = on.importing(); err != nil {
		return nil, nil, err
	}
	values, err := on.coalesce(user, false)
	return on, values, err
}

// enabled returns the node with only the enabled dependencies. The path ends in
// a dot or is empty.
func (n *node) enabled(values map[string]any, path string) (*node, error) {
	if len(n.deps) == 0 {
		return n, nil
	}
	values, err := n.coalesce(values, false)
	if err != nil {
		return nil, err
	}
	out := *n
	out.deps = nil
	off := map[string]bool{}
	for _, d := range n.deps {
		if d.meta != nil && !isOn(d.meta, values, path) {
			off[d.name] = true
		}
	}
	for _, d := range n.deps {
		if off[d.name] {
			continue
		}
		sub, err := d.enabled(values, path+d.name+".")
		if err != nil {
			return nil, err
		}
		out.deps = append(out.deps, sub)
	}
	return &out, nil
}

// isOn reports whether the values enable the dependency: by the first condition
// that is a bool, else by tags, where one tag that is true suffices.
func isOn(d *chart.Dependency, values map[string]any, path string) bool {
	if _, on, ok := condition(d, values, path); ok {
		return on
	}
	tags, _ := values["tags"].(map[string]any)
	hasFalse := false
	for _, tag := range d.Tags {
		if on, ok := tags[tag].(bool); ok && on {
			return true
		} else if ok {
			hasFalse = true
		}
	}
	return !hasFalse
}

// condition returns the path of the first condition that is a bool, and its
// value. Paths begin at the root of the values.
func condition(d *chart.Dependency, values map[string]any, path string) (at string, on, ok bool) {
	for cond := range strings.SplitSeq(strings.TrimSpace(d.Condition), ",") {
		if cond == "" {
			continue
		}
		var x any = values
		for key := range strings.SplitSeq(path+cond, ".") {
			m, _ := x.(map[string]any)
			x = m[key]
		}
		if on, ok := x.(bool); ok {
			return path + cond, on, true
		}
	}
	return "", false, false
}

// coalesce merges the values over the chart's defaults, and the values of
// dependencies over theirs. With merge, a null stays; without, it deletes the
// default.
func (n *node) coalesce(values map[string]any, merge bool) (map[string]any, error) {
	out := n.over(values, merge)
	for _, d := range n.deps {
		below, ok := out[d.name]
		if !ok {
			below = map[string]any{}
		}
		m, ok := below.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is not a map", d.name)
		}
		sub, err := d.coalesce(globals(m, out), merge)
		if err != nil {
			return nil, err
		}
		out[d.name] = sub
	}
	return out, nil
}

// over merges the values over the chart's own.
func (n *node) over(values map[string]any, merge bool) map[string]any {
	out := cloned(values)
	for key, own := range n.values {
		v, ok := values[key]
		if !ok {
			out[key] = own
			continue
		}
		if v == nil && !merge {
			delete(out, key)
		}
		dst, isMap := v.(map[string]any)
		src, ownMap := own.(map[string]any)
		if isMap && ownMap {
			child := slices.ContainsFunc(n.deps, func(d *node) bool { return d.name == key })
			out[key] = tables(dst, src, merge || child)
		}
	}
	return out
}

// tables merges dst over src. It modifies neither.
func tables(dst, src map[string]any, merge bool) map[string]any {
	out := cloned(dst)
	for key, s := range src {
		d, ok := dst[key]
		if !ok {
			out[key] = s
			continue
		}
		if d == nil && s != nil && !merge {
			delete(out, key)
			continue
		}
		dm, dIsMap := d.(map[string]any)
		if sm, ok := s.(map[string]any); ok && dIsMap {
			out[key] = tables(dm, sm, merge)
		}
	}
	return out
}

// cloned returns a copy of the map, which is never nil.
func cloned(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return maps.Clone(m)
}

// globals returns the values of a dependency merged with the global values of
// its parent.
func globals(values, parent map[string]any) map[string]any {
	own, ok := values[chartutil.GlobalKey].(map[string]any)
	if _, hasGlobals := values[chartutil.GlobalKey]; hasGlobals && !ok {
		return values
	}
	from, ok := parent[chartutil.GlobalKey].(map[string]any)
	if _, hasGlobals := parent[chartutil.GlobalKey]; hasGlobals && !ok {
		return values
	}
	merged := cloned(own)
	for key, v := range from {
		existing, ok := merged[key]
		existingMap, isMap := existing.(map[string]any)
		vm, vIsMap := v.(map[string]any)
		switch {
		case vIsMap && !ok:
			merged[key] = vm
		case vIsMap && isMap:
			merged[key] = tables(vm, existingMap, true)
		case !vIsMap && !isMap:
			merged[key] = v
		}
	}
	out := cloned(values)
	out[chartutil.GlobalKey] = merged
	return out
}

// importing returns the node with the values that it and its dependencies
// import.
func (n *node) importing() (*node, error) {
	if len(n.deps) == 0 {
		return n, nil
	}
	out := *n
	out.deps = nil
	for _, d := range n.deps {
		sub, err := d.importing()
		if err != nil {
			return nil, err
		}
		out.deps = append(out.deps, sub)
	}
	if !slices.ContainsFunc(out.deps, func(d *node) bool { return d.meta != nil }) {
		return &out, nil
	}
	values, err := out.coalesce(nil, true)
	if err != nil {
		return nil, err
	}
	imported := map[string]any{}
	for _, d := range out.deps {
		if d.meta == nil {
			continue
		}
		for _, iv := range d.meta.ImportValues {
			imported = tables(imported, importedBy(iv, values[d.name]), true)
		}
	}
	out.values = tables(values, imported, true)
	return &out, nil
}

// importedBy returns the part of a dependency's values that one import-values
// entry selects, under the path that the entry gives it in the parent.
func importedBy(entry, values any) map[string]any {
	child, parent := "", "."
	switch e := entry.(type) {
	case string:
		child = "exports." + e
	case map[string]any:
		child, parent = fmt.Sprint(e["child"]), fmt.Sprint(e["parent"])
	}
	for key := range strings.SplitSeq(child, ".") {
		m, _ := values.(map[string]any)
		values = m[key]
	}
	m, ok := values.(map[string]any)
	if !ok || parent == "." {
		return m
	}
	keys := strings.Split(parent, ".")
	for _, k := range slices.Backward(keys) {
		m = map[string]any{k: m}
	}
	return m
}
