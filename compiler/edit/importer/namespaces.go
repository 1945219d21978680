package importer

import (
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// addNamespaceDependencies adds a dependency on the release that creates a release's
// Namespace, if it would be applied later. Other tools retry until the Namespace exists.
func (c *Cluster) addNamespaceDependencies() {
	for c.addNamespaceDependency() { // each can let another release be applied later
	}
}

// addNamespaceDependency adds dependencies once, and reports whether it added one.
func (c *Cluster) addNamespaceDependency() (added bool) {
	creators := map[string]string{} // releases by the namespace that they create
	for _, r := range c.Releases {
		for _, o := range r.Objects {
			if o.Value.Text("kind") == "Namespace" {
				creators[o.Value.Text("metadata", "name")] = r.Name
			}
		}
	}
	for _, r := range c.Releases {
		namespaces := []string{r.Namespace}
		for _, o := range r.Objects {
			namespaces = append(namespaces, o.Value.Text("metadata", "namespace"))
		}
		for _, namespace := range diag.Distinct(namespaces) {
			name := creators[namespace]
			if name == "" || name == r.Name || slices.Contains(r.Depends, name) || c.needs(name, r.Name) {
				continue
			}
			if steps := c.steps(); steps[name] > steps[r.Name] {
				r.Depends = append(r.Depends, name)
				slices.Sort(r.Depends)
				added = true
			}
		}
	}
	return added
}

// steps returns the number of steps before each release: the length of the longest chain of
// its dependencies. A chain that is a cycle ends.
func (c *Cluster) steps() map[string]int {
	byName := c.byName()
	steps := map[string]int{}
	var visit func(name string) int
	visit = func(name string) int {
		if n, ok := steps[name]; ok || byName[name] == nil {
			return n
		}
		steps[name] = 0
		most := 0
		for _, other := range byName[name].Depends {
			most = max(most, visit(other)+1)
		}
		steps[name] = most
		return most
	}
	for _, r := range c.Releases {
		visit(r.Name)
	}
	return steps
}

// byName returns the releases by name.
func (c *Cluster) byName() map[string]*Release {
	out := map[string]*Release{}
	for _, r := range c.Releases {
		out[r.Name] = r
	}
	return out
}

// needs reports whether a release depends on another one, also through others.
func (c *Cluster) needs(name, other string) bool {
	byName, seen := c.byName(), map[string]bool{}
	var visit func(name string) bool
	visit = func(name string) bool {
		r := byName[name]
		if r == nil || seen[name] {
			return false
		}
		seen[name] = true
		return slices.Contains(r.Depends, other) || slices.ContainsFunc(r.Depends, visit)
	}
	return visit(name)
}
