package load

import (
	"slices"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
)

// TestRepeatedTypes loads a cluster without the types that #Config repeats, and with others.
// Types of a schema that the user extends stay.
func TestRepeatedTypes(t *testing.T) {
	const files = `
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
`
	want := []string{
		"#Releases: {}", "_app: s.#Release", "cluster: name: \"one\"", "cluster?: _", "releases: #Releases", "releases: _",
		"secrets: s.#Releases", "stages: s.#Stages & [\"a\"]",
	}
	if got := loadedFields(t, files); !slices.Equal(got, want) {
		t.Errorf("loaded %q, want %q", got, want)
	}
	const extension = "-- cue.mod/usr/github.com/fleetc/fleetc/schema/more.cue --\npackage schema\n#Release: namespace: !=\"web\"\n"
	if got := loadedFields(t, files+extension); !slices.Contains(got, "releases: s.#Releases") {
		t.Errorf("loaded %q with an extension of the schema", got)
	}
}

// loadedFields returns the fields of the first cluster of a fleet, sorted.
func loadedFields(t *testing.T, archive string) []string {
	t.Helper()
	f, err := Load(write(t, archive), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range f.Clusters[0].Instance.Files {
		for _, d := range file.Decls {
			if field, ok := d.(*ast.Field); ok {
				text, err := format.Node(field)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, string(text))
			}
		}
	}
	slices.Sort(out)
	return out
}
