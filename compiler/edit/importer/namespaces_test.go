package importer

import (
	"slices"
	"testing"
)

// A release depends on the one that creates its Namespace, also where a new dependency of
// that one lets it be applied later.
func TestNamespaceDependencies(t *testing.T) {
	creates := func(name, namespace, created string, depends ...string) *Release {
		r := &Release{Name: name, Namespace: namespace, Depends: depends}
		if created != "" {
			r.Objects = []Field{{Value: mapNode(Field{Key: "kind", Value: textNode("Namespace")}, Field{Key: "metadata", Value: mapNode(Field{Key: "name", Value: textNode(created)})})}}
		}
		return r
	}
	c := &Cluster{Releases: []*Release{creates("a", "two", ""), creates("b", "three", "two"), creates("c", "four", "three", "d"), creates("d", "four", "")}}
	c.addNamespaceDependencies()
	for name, want := range map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": nil} {
		if got := c.byName()[name].Depends; !slices.Equal(got, want) {
			t.Errorf("%s depends on %q, want %q", name, got, want)
		}
	}
}
