package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A LostValue is a value that Helm ignores.
type LostValue struct {
	Why   string
	Key   string // of the global value; empty for all of them
	Below bool   // whether the dependency's own global value is not a map
}

// Reasons for losses.
const (
	NoGlobalMap = "this global value is a map, but a dependency has a value of another type for it"
	IsGlobalMap = "a dependency ignores this global value, because it has a map for it"
	NoGlobals   = "global is not a map, so dependencies ignore it"
)

// Keys returns the last keys of the value's path.
func (l LostValue) Keys() []string {
	if l.Key == "" {
		return []string{chartutil.GlobalKey}
	}
	return []string{chartutil.GlobalKey, l.Key}
}

// A merger merges the values of one release and collects the values that are
// lost.
type merger struct{ lost []LostValue }

// CoalesceValues enables the dependencies of the chart and returns the values that its templates
// see, and the values that are lost. It modifies the chart and its dependencies, but no
// map of values. It returns Helm's error when the values of a dependency
// are not a map.
func CoalesceValues(c *chart.Chart, user map[string]any) (values map[string]any, lost []LostValue, err error) {
	m := &merger{}
	err = m.enable(c, user, "")
	if err == nil {
		err = m.imports(c)
	}
	if err == nil {
		values, err = m.merge(c, copyMap(user), false)
	}
	return values, m.lost, err
}

// enable removes disabled dependencies and renames the others to their alias.
// path is the dotted path of the chart's values, with a dot at the end.
func (m *merger) enable(c *chart.Chart, values map[string]any, path string) error {
	if c.Metadata.Dependencies == nil {
		return nil
	}
	c.SetDependencies(declaredDependencies(c)...)
	// Helm merges the values of a dependency over all values of its parent.
	merged, err := m.merge(c, copyMap(values), false)
	if err != nil {
		return err
	}
	disabled := map[string]bool{}
	for _, d := range c.Metadata.Dependencies {
		d.Enabled = isEnabled(d, merged, path)
		disabled[d.Name] = disabled[d.Name] || !d.Enabled
	}
	left := diag.Filter(c.Metadata.Dependencies, func(d *chart.Dependency) bool { return !disabled[d.Name] }) // nil when empty
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

// declaredDependencies returns the dependencies of a chart: those that
// Chart.yaml does not list, and one for each entry of Chart.yaml, under its
// alias.
func declaredDependencies(c *chart.Chart) []*chart.Chart {
	all := slices.DeleteFunc(slices.Clone(c.Dependencies()), func(d *chart.Chart) bool {
		return slices.ContainsFunc(c.Metadata.Dependencies, func(req *chart.Dependency) bool { return FitsDependency(req, d) })
	})
	for _, req := range c.Metadata.Dependencies {
		i := slices.IndexFunc(c.Dependencies(), func(d *chart.Chart) bool { return FitsDependency(req, d) })
		if i >= 0 {
			named, meta := *c.Dependencies()[i], *c.Dependencies()[i].Metadata
			meta.Name = DependencyKey(req)
			named.Metadata = &meta
			all = append(all, &named)
		}
		req.Name = DependencyKey(req)
	}
	return all
}

// isEnabled reports whether a dependency is enabled: by its first condition
// that is true or false, else by its tags. The default is true.
func isEnabled(d *chart.Dependency, values chartutil.Values, path string) bool {
	if _, on, ok := DependencyCondition(d, values, path); ok {
		return on
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

// DependencyCondition returns the path of the first condition of a dependency that is true or false,
// and its value. path is the dotted path of the parent's values, with a dot at the end;
// paths begin at the root of the values.
func DependencyCondition(d *chart.Dependency, values chartutil.Values, path string) (at string, on, ok bool) {
	for condition := range strings.SplitSeq(strings.TrimSpace(d.Condition), ",") {
		if condition == "" {
			continue
		}
		if v, err := values.PathValue(path + condition); err == nil {
			if on, ok := v.(bool); ok {
				return path + condition, on, true
			}
		}
	}
	return "", false, false
}

// DependencyKey returns the key of the values of an entry of Chart.yaml.
func DependencyKey(d *chart.Dependency) string { return cmp.Or(d.Alias, d.Name) }

// FitsDependency reports whether an entry of Chart.yaml is for a chart in charts/.
func FitsDependency(d *chart.Dependency, c *chart.Chart) bool {
	return c.Name() == d.Name && chartutil.IsCompatibleRange(d.Version, c.Metadata.Version)
}

// imports merges the values of dependencies and import-values into the values
// of a chart and its dependencies.
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
				overlay(imported, nestAt(parent, table.AsMap()), true, true)
			}
		}
		d.ImportValues = read
	}
	if len(imported) > 0 {
		merged = copyMap(merged) // imported shares parts of it
		overlay(merged, imported, true, true)
	}
	c.Values = merged
	return nil
}

// importPaths returns the source path in the dependency's values and the
// target path in the parent's values of an import-values entry.
func importPaths(v any) (child, parent string, ok bool) {
	switch v := v.(type) {
	case string:
		return "exports." + v, ".", true
	case map[string]any:
		return fmt.Sprint(v["child"]), fmt.Sprint(v["parent"]), true
	}
	return "", "", false
}

// nestAt returns a map with the values at a dotted path.
func nestAt(path string, values map[string]any) map[string]any {
	if path == "." {
		return values
	}
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		values = map[string]any{key: values}
	}
	return values
}

// merge adds the default values of a chart and its dependencies to values,
// which it modifies and returns. A null removes the default, unless keepNull
// is set.
func (m *merger) merge(c *chart.Chart, values map[string]any, keepNull bool) (map[string]any, error) {
	addDefaults(c, values, keepNull)
	for _, d := range c.Dependencies() {
		name := d.Name()
		if _, ok := values[name]; !ok {
			values[name] = map[string]any{}
		}
		own, ok := values[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("type mismatch on %s: %t", name, values[name]) // Helm's message
		}
		m.globals(own, values)
		if _, err := m.merge(d, own, keepNull); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// addDefaults adds the default values of the chart itself.
func addDefaults(c *chart.Chart, values map[string]any, keepNull bool) {
	for key, v := range c.Values {
		given, ok := values[key]
		if !ok {
			values[key] = Clone(v)
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

// overlay adds the values of table to over, map by map. It copies them unless
// move is set; with move, nulls of over are also set in table, as Helm does.
func overlay(over, table map[string]any, keepNull, move bool) {
	for key, v := range table {
		given, ok := over[key]
		switch {
		case !ok && move:
			over[key] = v
		case !ok:
			over[key] = Clone(v)
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

// globals adds the global values of a chart to those of a dependency. As in
// Helm, maps are shared from the second level on, so that defaults of the
// dependency reach its parent and later dependencies.
func (m *merger) globals(to, from map[string]any) {
	own, ok := tableAt(to, chartutil.GlobalKey)
	if !ok {
		m.lose(LostValue{Why: NoGlobals, Below: true})
		return
	}
	above, ok := tableAt(from, chartutil.GlobalKey)
	if !ok {
		m.lose(LostValue{Why: NoGlobals})
		return
	}
	for key, v := range above {
		table, isTable := v.(map[string]any)
		given, ok := own[key]
		below, isMap := given.(map[string]any)
		switch {
		case isTable && ok && !isMap:
			m.lose(LostValue{Why: NoGlobalMap, Key: key})
		case isTable:
			table = maps.Clone(table)
			if isMap {
				overlay(table, below, true, true)
			}
			own[key] = table
		case isMap:
			m.lose(LostValue{Why: IsGlobalMap, Key: key})
		default:
			own[key] = v
		}
	}
	to[chartutil.GlobalKey] = own
}

func (m *merger) lose(l LostValue) { m.lost = append(m.lost, l) }

// tableAt returns the map at a key, or an empty map when the key is missing.
func tableAt(m map[string]any, key string) (table map[string]any, ok bool) {
	v, there := m[key]
	if !there {
		return map[string]any{}, true
	}
	table, ok = v.(map[string]any)
	return table, ok
}

// copyMap returns a deep copy of values that may be modified. It is never nil.
func copyMap(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return Clone(m).(map[string]any)
}
