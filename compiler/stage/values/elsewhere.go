package values

import (
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Bounds of the search for a key at other places of a chart.
const (
	maxDepthElsewhere  = 6
	maxTypesElsewhere  = 1 << 15
	maxPlacesElsewhere = 8
	shownElsewhere     = 3
)

// elsewhere returns a hint with the paths at which the chart has the key that the map at path does
// not have, such as controller.replicas for replicas. It prefers paths below the same map, and
// those with the fewest keys. It returns "" if there are none, or too many to be of use.
func (c *checker) elsewhere(v *fleet.Tree, t *Type, path []string) string {
	above, key := path[:len(path)-1], path[len(path)-1]
	if parts := strings.Split(key, "."); len(parts) > 1 {
		if _, ok := c.root.At(slices.Concat(above, parts)...); ok {
			return fmt.Sprintf("write %s: the quotes make the dots a part of the name", strings.Join(parts, ": "))
		}
	}
	places := c.alike(v, path)
	if len(places) == 0 {
		places = pathsBelow(v, key, t, above)
	}
	if len(places) == 0 && len(above) > 0 {
		places = pathsBelow(v, key, c.root, nil)
	}
	return placesHint(places)
}

// alike returns the path with the key below a neighbour of its parent with nearly the same name,
// as kube-state-metrics has for kubeStateMetrics.
func (c *checker) alike(v *fleet.Tree, path []string) [][]string {
	if len(path) < 2 {
		return nil
	}
	above, parent, key := path[:len(path)-2], path[len(path)-2], path[len(path)-1]
	around, ok := c.root.At(above...)
	if !ok {
		return nil
	}
	for _, k := range around.Keys {
		if f := around.Fields[k].Fields[key]; k != parent && folded(k) == folded(parent) && f != nil && f.couldBe(v) {
			return [][]string{slices.Concat(above, []string{k, key})}
		}
	}
	return nil
}

// folded returns a name without its case and the signs between words.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// pathsBelow returns the paths below a map whose last key is key and that accept the value. It
// returns those with the fewest keys only.
func pathsBelow(v *fleet.Tree, key string, below *Type, at []string) (found [][]string) {
	type place struct {
		t    *Type
		path []string
	}
	level, seen := []place{{below, at}}, 0
	for depth := 0; depth < maxDepthElsewhere && len(found) == 0; depth++ {
		var next []place
		for _, p := range level {
			for _, k := range p.t.Keys {
				if seen++; seen > maxTypesElsewhere {
					return nil
				}
				f, path := p.t.Fields[k], append(slices.Clip(p.path), k)
				if k == key && f.couldBe(v) {
					found = append(found, path)
				}
				if depth == 0 || k != chartutil.GlobalKey {
					next = append(next, place{f, path})
				}
			}
		}
		level = next
	}
	return found
}

// couldBe reports whether the value could be meant for the type: it has an accepted kind and,
// as a map, one of the keys.
func (t *Type) couldBe(v *fleet.Tree) bool {
	k := kindOfTree(v)
	if t.Unread || k != Null && t.Kinds&k == 0 {
		return false
	}
	return len(v.Fields) == 0 || len(t.Fields) == 0 || slices.ContainsFunc(v.Keys(), func(k string) bool { return t.Fields[k] != nil })
}

// placesHint returns the hint that asks whether one of the places is meant.
func placesHint(places [][]string) string {
	n := len(places)
	if n == 0 || n > maxPlacesElsewhere {
		return ""
	}
	names := make([]string, n)
	for i, p := range places {
		names[i] = strings.TrimPrefix(pathText(p), "values.")
	}
	switch {
	case n == 1:
		return "did you mean " + names[0] + "?"
	case n <= shownElsewhere+1:
		return "did you mean " + strings.Join(names[:n-1], ", ") + " or " + names[n-1] + "?"
	}
	return fmt.Sprintf("did you mean %s or one of %d others?", strings.Join(names[:shownElsewhere], ", "), n-shownElsewhere)
}
