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
	maxDepthElsewhere  = 7
	maxTypesElsewhere  = 1 << 15
	maxPlacesElsewhere = 8
	shownElsewhere     = 3
)

// elsewhere returns a hint with the paths at which the chart has the key that the map at path does
// not have, or one with the same stem, such as controller.replicaCount for replicas. It prefers
// paths below the same map, those with the fewest keys, and the same key. It returns "" if there
// are none, or too many to be of use.
func (c *checker) elsewhere(v *fleet.Tree, path []string) string {
	above, key := path[:len(path)-1], path[len(path)-1]
	if parts := strings.Split(key, "."); len(parts) > 1 {
		if _, ok := c.root.At(slices.Concat(above, parts)...); ok {
			return fmt.Sprintf("write %s: ... instead: in quotes, the dots are a part of the name", strings.Join(parts, ": "))
		}
	}
	if alike := c.alike(v, path); alike != nil {
		return placesHint([][]string{alike})
	}
	if c.places == nil {
		c.places = placesOf(c.root)
	}
	for _, around := range [][]string{above, nil} {
		var exact, similar [][]string
		for _, p := range c.places[stem(key)] {
			isBelow := len(p.path) > len(around) && slices.Equal(p.path[:len(around)], around)
			switch {
			case !isBelow, !p.t.couldBe(v), len(similar) > 0 && len(p.path) > len(similar[0]):
				continue
			case p.path[len(p.path)-1] == key:
				exact = append(exact, p.path)
			}
			similar = append(similar, p.path)
		}
		if len(exact) > 0 {
			return placesHint(exact)
		}
		if len(similar) > 0 {
			return placesHint(similar)
		}
	}
	return ""
}

// stem returns what similar keys have in common, such as replicas and replicaCount.
func stem(key string) string {
	return strings.TrimSuffix(strings.TrimSuffix(folded(key), "count"), "s")
}

// A chartValue is a value of a chart and its path.
type chartValue struct {
	t    *Type
	path []string
}

// placesOf returns the values of a chart by the stems of their last keys, those with the fewest
// keys first.
// Global values count once: a dependency has the same ones.
func placesOf(root *Type) map[string][]chartValue {
	out := map[string][]chartValue{}
	level, seen := []chartValue{{t: root}}, 0
	for depth := 0; depth < maxDepthElsewhere && seen < maxTypesElsewhere; depth++ {
		var next []chartValue
		for _, p := range level {
			for _, k := range p.t.Keys {
				if depth > 0 && k == chartutil.GlobalKey {
					continue
				}
				below := chartValue{p.t.Fields[k], append(slices.Clip(p.path), k)}
				out[stem(k)] = append(out[stem(k)], below)
				next = append(next, below)
			}
		}
		seen += len(next)
		level = next
	}
	return out
}

// alike returns the path with the key below a neighbour of its parent with nearly the same name,
// as kube-state-metrics has for kubeStateMetrics.
func (c *checker) alike(v *fleet.Tree, path []string) []string {
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
			return slices.Concat(above, []string{k, key})
		}
	}
	return nil
}

// folded returns a name without its case and the signs between words.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
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
	if n <= shownElsewhere+1 {
		return "did you mean " + joinOr(names) + "?"
	}
	return fmt.Sprintf("did you mean %s or one of %d others?", strings.Join(names[:shownElsewhere], ", "), n-shownElsewhere)
}
