package load

import (
	"slices"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
)

// TestRepeatedTypes loads a cluster without the types that #Config repeats, and with others.
func TestRepeatedTypes(t *testing.T) {
	root := write(t, `
-- environments/fleet.cue --
package fleet

import s "github.com/fleetc/fleetc/schema"

cluster?: s.#Cluster
releases: s.#Releases
stages:   s.#Stages & ["a"]
_app:     s.#Release
secrets:  s.#Releases
-- environments/one/cluster.cue --
package fleet

#Releases: {}
cluster: name: "one"
releases: #Releases
`)
	f, err := Load(root, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range f.Clusters[0].Instance.Files {
		for _, d := range file.Decls {
			if field, ok := d.(*ast.Field); ok {
				text, err := format.Node(field)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(text))
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"#Releases: {}", "_app: s.#Release", "cluster: name: \"one\"", "cluster?: _", "releases: #Releases", "releases: _",
		"secrets: s.#Releases", "stages: s.#Stages & [\"a\"]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("loaded %q, want %q", got, want)
	}
}
