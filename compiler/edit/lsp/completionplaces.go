package lsp

import (
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// keys returns the keys that fit at the position: those of the map around it, or of the map
// that is the value of the field whose value is typed.
func (c *completer) keys() []proposal {
	path := c.path
	if c.part == onLabel {
		path = path[:len(path)-1]
	}
	if c.part == onValue && c.isInQuotes() && !c.isAlone() {
		return c.names(path) // the value of these fields cannot be a text
	}
	if names := c.names(path); names != nil {
		return names
	}
	switch n := len(path); {
	case n >= 4 && path[0] == "releases" && path[2] == "patches":
		if n == 4 || path[4] != "merge" && path[4] != "strategic" {
			return nil
		}
		return c.objectKeys(append(slices.Clone(path[:4]), "target"), path[5:])
	case n >= 3 && path[0] == "policies" && path[2] == "object":
		return c.objectKeys(append(slices.Clone(path[:2]), "match"), path[3:])
	}
	if value, layer := valuePath(path); len(value) >= 3 && value[0] == "releases" && value[2] == "values" && (layer != "" || path[2] == "values") {
		return c.chartKeys(value[1], value[3:])
	}
	return nil
}

// names returns the keys of maps by the names of things.
func (c *completer) names(path []string) []proposal {
	switch n := len(path); {
	case n == 1 && path[0] == "releases":
		return words("release", c.releaseNames())
	case n == 1 && path[0] == "health", n == 3 && path[0] == "releases" && path[2] == "health":
		return c.kinds()
	case n == 3 && path[0] == "releases" && path[2] == "depends":
		return words("release", slices.DeleteFunc(c.releaseNames(), func(name string) bool { return name == path[1] }))
	case n == 3 && path[2] == "defaults" && (path[0] == "releases" || path[0] == "secrets"):
		return words("layer of this file", c.layers(false))
	case n == 3 && path[0] == "releases" && path[2] == "overridden":
		return words("layer", c.layers(true))
	case isSelector(path, n-1) && path[n-1] == "labels":
		return words("label", c.ofClusters(func(c *fleet.Cluster) []string { return slices.Collect(maps.Keys(c.Labels)) }))
	}
	return nil
}

// values returns the texts that fit at the position as the value of a field, or in a list.
func (c *completer) values() []proposal {
	path, n := c.path, len(c.path)
	if c.isInList() {
		path, n = append(slices.Clone(path), "0"), n+1 // in front of an element, or behind the last one
	} else if c.part != onValue {
		return nil
	}
	if n < 2 {
		return nil
	}
	last, above := path[n-1], path[n-2]
	switch {
	case last == "stage":
		return words("stage", c.ofClusters(func(c *fleet.Cluster) []string { return c.Stages }))
	case isSelector(path, n-2) && above == "ids":
		return c.clusterPatterns()
	case above == "between" && path[0] == "differences":
		return c.clusterPatterns()
	case above == "environments" && (isSelector(path, n-2) || path[0] == "images"):
		return words("environment", c.ofClusters(func(c *fleet.Cluster) []string { return []string{c.Environment} }))
	case isSelector(path, n-2) && above == "labels":
		return words("label "+last, c.ofClusters(func(c *fleet.Cluster) []string { return []string{c.Labels[last]} }))
	case above == "kinds", above == "replace" && path[0] == "releases":
		return c.kinds()
	case above == "releases" && n >= 3 && (path[n-3] == "match" || path[n-3] == "target"):
		return words("release", c.releaseNames())
	case above == "namespaces" && n >= 3 && (path[n-3] == "match" || path[n-3] == "target"):
		var namespaces []string
		c.each("", func(_ *fleet.Cluster, r *fleet.Release) { namespaces = append(namespaces, r.Namespace) })
		return words("namespace", namespaces)
	case n == 5 && path[0] == "differences" && path[2] == "allow" && (above == "releases" || above == "charts"):
		return words("release", c.releaseNames())
	case above == "fields" && n >= 4:
		return c.fieldPaths(path[:n-2], c.typed())
	case n == 7 && path[0] == "releases" && path[2] == "patches" && path[4] == "json" && (last == "path" || last == "from"):
		return c.pointers(path[:4], c.typed())
	}
	return nil
}
