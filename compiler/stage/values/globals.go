package values

import (
	"reflect"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// OuterGlobals returns a function that returns the path of the global value that overrides the
// value at a path: Helm passes a chart's global values to its dependencies. The function returns
// nil if nothing overrides the value.
func (t *Type) OuterGlobals(v *fleet.Tree) func(path []string) []string {
	user, _ := v.Value().(map[string]any)
	_, merged, _ := t.chart.root.with(user) // without values, nothing overrides
	return func(path []string) []string { return t.chart.outerGlobal(user, merged, path) }
}

// outerGlobal returns the path of the global value that overrides the value at a path; nil if
// there is none.
func (r *release) outerGlobal(user, merged map[string]any, path []string) []string {
	i := slices.Index(path, chartutil.GlobalKey)
	if i < 1 || r.nodeAt(path[:i]) == nil {
		return nil
	}
	final, _ := fleet.Lookup(merged, path)
	if own, ok := fleet.Lookup(user, path); ok && reflect.DeepEqual(own, final) {
		return nil
	}
	for n := range i {
		outer := slices.Concat(path[:n], path[i:])
		if v, ok := fleet.Lookup(merged, outer); ok && reflect.DeepEqual(v, final) {
			return outer
		}
	}
	return nil
}

// globals reports global values of dependencies that a parent chart overrides. It skips values
// of outer layers, because other clusters may use them.
func (c *checker) globals(v *fleet.Tree, user, merged map[string]any, path []string) {
	for _, key := range v.Keys() {
		f, below := v.Fields[key], append(slices.Clone(path), key)
		if f.IsMap() { // an empty one overrides nothing
			c.globals(f, user, merged, below)
			continue
		}
		outer := c.root.chart.outerGlobal(user, merged, below)
		by := c.values.At(outer...)
		if outer == nil || kindOfTree(f) == Null || by != nil && above(f, by) {
			continue
		}
		msg := "has no effect: " + pathText(outer) + " overrides it"
		if by == nil {
			msg = "has no effect: the chart's default of " + pathText(outer) + " overrides it"
		}
		c.add(diag.CodeUnreadValue, below, f, msg, "set "+pathText(outer)+" instead, or remove it")
		if by != nil && by.Pos.IsValid() {
			last := c.found[len(c.found)-1].fault
			last.At = append(last.At, by.Pos)
		}
	}
}
