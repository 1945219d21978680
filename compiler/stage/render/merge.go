package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file merges values and decides on dependencies by the rules of Helm, of
// which charts rely on the odd ones too. Helm's own functions copy all values of
// a chart by reflection several times for each release, and tell the standard
// logger alone what they lose, so that only one may run at a time. The tests
// compare the two.

// A merger merges the values of one release, and remembers those that are lost.
type merger struct{ lost []loss }

// coalesce decides which dependencies of the chart are enabled, and returns what
// its templates see and which values are lost. It modifies the chart, which is
// an [instance], and not the user's values.
func coalesce(loaded *chart.Chart, r *fleet.Release, user map[string]any, caps *chartutil.Capabilities) (chartutil.Values, []loss, error) {
	m := &merger{}
	err := m.enable(loaded, user, "")
	if err == nil {
		err = m.imports(loaded)
	}
	if err != nil {
		return nil, m.lost, err
	}
	values, err := m.merge(loaded, copyMap(user), false)
	if err != nil {
		return nil, m.lost, err
	}
	return chartutil.Values{
		"Chart":        loaded.Metadata,
		"Capabilities": caps,
		"Release": map[string]any{
			"Name": r.Name, "Namespace": r.Namespace, "IsUpgrade": false, "IsInstall": true, "Revision": 1, "Service": "Helm",
		},
		"Values": chartutil.Values(values),
	}, m.lost, nil
}

// enable removes the dependencies that the values disable, and names the others
// by their alias. path is where the values of the chart are, with a dot behind.
func (m *merger) enable(c *chart.Chart, values map[string]any, path string) error {
	if c.Metadata.Dependencies == nil {
		return nil
	}
	c.SetDependencies(declared(c)...)
	// Helm merges the values of a dependency over all values of its parent.
	merged, err := m.merge(c, copyMap(values), false)
	if err != nil {
		return err
	}
	disabled := map[string]bool{}
	var left []*chart.Dependency // nil when there are none
	for _, d := range c.Metadata.Dependencies {
		d.Enabled = isEnabled(d, merged, path)
		disabled[d.Name] = disabled[d.Name] || !d.Enabled
	}
	for _, d := range c.Metadata.Dependencies {
		if !disabled[d.Name] {
			left = append(left, d)
		}
	}
	deps := slices.DeleteFunc(slices.Clone(c.Dependencies()), func(d *chart.Chart) bool { return disabled[d.Name()] })
	for _, d := range deps {
		if err := m.enable(d, merged, path+d.Name()+"."); err != nil {
			return err
		}
	}
	c.Metadata.Dependencies = left
	c.SetDependencies(deps...)
	return nil
}

// declared returns the dependencies of a chart: those that its Chart.yaml does
// not name, and those that it does, as often as it does, under their aliases.
func declared(c *chart.Chart) []*chart.Chart {
	is := func(d *chart.Chart, req *chart.Dependency) bool {
		return d.Name() == req.Name && chartutil.IsCompatibleRange(req.Version, d.Metadata.Version)
	}
	all := slices.DeleteFunc(slices.Clone(c.Dependencies()), func(d *chart.Chart) bool {
		return slices.ContainsFunc(c.Metadata.Dependencies, func(req *chart.Dependency) bool { return is(d, req) })
	})
	for _, req := range c.Metadata.Dependencies {
		i := slices.IndexFunc(c.Dependencies(), func(d *chart.Chart) bool { return is(d, req) })
		if i >= 0 {
			named, meta := *c.Dependencies()[i], *c.Dependencies()[i].Metadata
			meta.Name = cmp.Or(req.Alias, meta.Name)
			named.Metadata = &meta
			all = append(all, &named)
		}
		req.Name = cmp.Or(req.Alias, req.Name)
	}
	return all
}

// isEnabled reports whether a dependency is enabled: by its first condition that
// is true or false, else by its tags. Without any of them it is.
func isEnabled(d *chart.Dependency, values chartutil.Values, path string) bool {
	for condition := range strings.SplitSeq(strings.TrimSpace(d.Condition), ",") {
		if condition == "" {
			continue
		}
		if v, err := values.PathValue(path + condition); err == nil {
			if on, ok := v.(bool); ok {
				return on
			}
		}
	}
	on, off := false, false
	if tags, err := values.Table("tags"); err == nil {
		for _, tag := range d.Tags {
			v, ok := tags[tag].(bool)
			on, off = on || ok && v, off || ok && !v
		}
	}
	return on || !off
}

// imports sets the values of a chart and of its dependencies to what they are
// with those of their dependencies, and with what they import from these.
func (m *merger) imports(c *chart.Chart) error {
	for _, d := range c.Dependencies() {
		if err := m.imports(d); err != nil {
			return err
		}
	}
	if c.Metadata.Dependencies == nil {
		return nil
	}
	merged, err := m.merge(c, map[string]any{}, true)
	if err != nil {
		return err
	}
	imported := map[string]any{}
	for _, d := range c.Metadata.Dependencies {
		var read []any
		for _, v := range d.ImportValues {
			child, parent, ok := importPaths(v)
			if !ok {
				continue
			}
			read = append(read, map[string]string{"child": child, "parent": parent})
			if table, err := chartutil.Values(merged).Table(d.Name + "." + child); err == nil {
				overlay(imported, under(parent, table.AsMap()), true, true)
			}
		}
		d.ImportValues = read
	}
	if len(imported) > 0 {
		merged = copyMap(merged) // parts of it were imported
		overlay(merged, imported, true, true)
	}
	c.Values = merged
	return nil
}

// importPaths returns from where in the values of a dependency to where in those
// of its parent one of the import-values of Chart.yaml imports, as dotted paths.
func importPaths(v any) (child, parent string, ok bool) {
	switch v := v.(type) {
	case string:
		return "exports." + v, ".", true
	case map[string]any:
		return fmt.Sprint(v["child"]), fmt.Sprint(v["parent"]), true
	}
	return "", "", false
}

// under returns values as they are at a dotted path.
func under(path string, values map[string]any) map[string]any {
	if path == "." {
		return values
	}
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		values = map[string]any{key: values}
	}
	return values
}

// merge puts the values of a chart and its dependencies beneath the given ones,
// which it modifies and returns. A null removes the value beneath, unless nulls
// are kept.
func (m *merger) merge(c *chart.Chart, values map[string]any, keepNull bool) (map[string]any, error) {
	beneath(c, values, keepNull)
	for _, d := range c.Dependencies() {
		name := d.Name()
		if _, ok := values[name]; !ok {
			values[name] = map[string]any{}
		}
		own, ok := values[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("type mismatch on %s: %t", name, values[name]) // as Helm has it
		}
		m.globals(own, values)
		if _, err := m.merge(d, own, keepNull); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// beneath puts the values of the chart itself beneath the given ones.
func beneath(c *chart.Chart, values map[string]any, keepNull bool) {
	for key, v := range c.Values {
		given, ok := values[key]
		if !ok {
			values[key] = deepCopy(v)
			continue
		}
		if given == nil && !keepNull {
			delete(values, key)
			continue
		}
		over, isMap := given.(map[string]any)
		table, isTable := v.(map[string]any)
		if isMap && isTable {
			isChart := slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return d.Name() == key })
			overlay(over, table, keepNull || isChart, false)
		}
	}
}

// overlay puts values beneath others, map by map. Those beneath are copied or,
// when they are nobody's, moved: Helm notes nulls in them then.
func overlay(over, table map[string]any, keepNull, move bool) {
	for key, v := range table {
		given, ok := over[key]
		switch {
		case !ok && move:
			over[key] = v
		case !ok:
			over[key] = deepCopy(v)
		case given == nil && !keepNull && v != nil:
			delete(over, key)
		default:
			above, isMap := given.(map[string]any)
			below, isTable := v.(map[string]any)
			if isMap && isTable {
				overlay(above, below, keepNull, move)
			}
		}
	}
	if !move {
		return
	}
	for key, v := range over {
		if v == nil {
			table[key] = nil
		}
	}
}

// globals hands the global values on to those of a dependency. Maps in them are
// shared from their second level on, so that what the dependency has by default
// gets to its parent, and to the dependencies behind it.
func (m *merger) globals(to, from map[string]any) {
	own, ok := tableAt(to, chartutil.GlobalKey)
	if !ok {
		m.lose(loss{why: noGlobals, below: true})
		return
	}
	above, ok := tableAt(from, chartutil.GlobalKey)
	if !ok {
		m.lose(loss{why: noGlobals})
		return
	}
	for key, v := range above {
		table, isTable := v.(map[string]any)
		given, ok := own[key]
		below, isMap := given.(map[string]any)
		switch {
		case isTable && ok && !isMap:
			m.lose(loss{why: noMap, key: key})
		case isTable:
			table = maps.Clone(table)
			if isMap {
				overlay(table, below, true, true)
			}
			own[key] = table
		case isMap:
			m.lose(loss{why: isAMap, key: key})
		default:
			own[key] = v
		}
	}
	to[chartutil.GlobalKey] = own
}

func (m *merger) lose(l loss) { m.lost = append(m.lost, l) }

// tableAt returns the map at a key, an empty one when there is nothing.
func tableAt(m map[string]any, key string) (table map[string]any, ok bool) {
	v, there := m[key]
	if !there {
		return map[string]any{}, true
	}
	table, ok = v.(map[string]any)
	return table, ok
}

// copyMap returns a copy of values that may be modified, never nil.
func copyMap(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return deepCopy(m).(map[string]any)
}
