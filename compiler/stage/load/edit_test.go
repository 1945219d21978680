package load

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestSetVersion(t *testing.T) {
	for name, test := range map[string]struct{ before, want string }{
		"replaced": {
			"package fleet\n\nreleases: \"web\": {\n\tchart: version: \"1.0.0\" // why\n\tvalues: x: 1\n}\n",
			"package fleet\n\nreleases: \"web\": {\n\tchart: version: \"2.0.0\" // why\n\tvalues: x: 1\n}\n",
		},
		"in the release": {
			"package fleet\n\n// about\nreleases: \"web\": c.#Release & {\n\t// a comment\n\tvalues: x:   1\n}\n",
			"package fleet\n\n// about\nreleases: \"web\": c.#Release & {\n\tchart: version: \"2.0.0\"\n\t// a comment\n\tvalues: x:   1\n}\n",
		},
		"in releases": {
			"package fleet\nreleases: {\n\tother: {a: 1}\n\tweb: {\n\t\tvalues: x: 1\n\t}\n}\n",
			"package fleet\nreleases: {\n\tother: {a: 1}\n\tweb: {\n\t\tchart: version: \"2.0.0\"\n\t\tvalues: x: 1\n\t}\n}\n",
		},
		"in the chart": {
			"package fleet\nreleases: web: {\n\tchart: {\n\t\tdigest: \"x\"\n\t}\n}\n",
			"package fleet\nreleases: web: {\n\tchart: {\n\t\tversion: \"2.0.0\"\n\t\tdigest: \"x\"\n\t}\n}\n",
		},
		"one line":     {"package fleet\nreleases: web: {values: x: 1}\n", "package fleet\nreleases: web: {chart: version: \"2.0.0\", values: x: 1}\n"},
		"empty":        {"package fleet\nreleases: web: {}\n", "package fleet\nreleases: web: {chart: version: \"2.0.0\"}\n"},
		"chain":        {"package fleet\nreleases: web: values: x: 1 // why\nb: 1\n", "package fleet\nreleases: web: values: x: 1 // why\nreleases: \"web\": chart: version: \"2.0.0\"\nb: 1\n"},
		"chain at end": {"package fleet\nreleases: web: values: x: 1", "package fleet\nreleases: web: values: x: 1\nreleases: \"web\": chart: version: \"2.0.0\"\n"},
		"other":        {"package fleet\nreleases: {\n\tother: {a: 1}\n}\nb: 1\n", "package fleet\nreleases: {\n\tother: {a: 1}\n}\nreleases: \"web\": chart: version: \"2.0.0\"\nb: 1\n"},
		"nothing":      {"package fleet\na: 1\n", "package fleet\na: 1\n\nreleases: \"web\": chart: version: \"2.0.0\"\n"},
		"first line":   {"package fleet\nreleases: web: {values: x: 1\n\ta: 1\n}\n", "package fleet\nreleases: web: {\n\tchart: version: \"2.0.0\"\n\tvalues: x: 1\n\ta: 1\n}\n"},
		"windows":      {"package fleet\r\nreleases: web: {\r\n\ta: 1\r\n}\r\n", "package fleet\r\nreleases: web: {\n\tchart: version: \"2.0.0\"\r\n\ta: 1\r\n}\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, "-- environments/prod/a.cue --\npackage fleet\nz: 1\n")
			if err := os.WriteFile(filepath.Join(dir, "environments/prod/b.cue"), []byte(test.before), 0o644); err != nil {
				t.Fatal(err)
			}
			if name == "nothing" {
				if err := os.Remove(filepath.Join(dir, "environments/prod/a.cue")); err != nil {
					t.Fatal(err)
				}
			}
			edits := Edits{}
			file, err := SetVersion(dir, fleet.Layer{Name: "prod", Dir: "environments/prod"}, "web", "2.0.0", edits)
			if err != nil {
				t.Fatal(err)
			}
			if file != "environments/prod/b.cue" || string(edits[file]) != test.want {
				t.Errorf("%s:\n%s\nwant\n%s", file, edits[file], test.want)
			}
			// Set the version of another release in the same file.
			if _, err := SetVersion(dir, fleet.Layer{Name: "prod", Dir: "environments/prod"}, "web", "3.0.0", edits); err != nil {
				t.Fatal(err)
			}
			if got := string(edits[file]); got != strings.ReplaceAll(test.want, "2.0.0", "3.0.0") {
				t.Errorf("the second time\n%s", got)
			}
		})
	}
	dir := write(t, "-- environments/prod/a.cue --\npackage fleet\nreleases: web: chart: version: _v\n")
	_, err := SetVersion(dir, fleet.Layer{Name: "prod", Dir: "environments/prod"}, "web", "2.0.0", Edits{})
	if d, ok := errors.AsType[*diag.Diag](err); !ok || d.At[0].String() != "environments/prod/a.cue:2:32" {
		t.Errorf("an expression gives %v", err)
	}
}

func TestFindLayer(t *testing.T) {
	dir := write(t, `
-- environments/fleet.cue --
package fleet
-- environments/prod/us/a.cue --
package fleet
-- environments/prod/a.cue --
package fleet
-- environments/dev/us/a.cue --
package fleet
-- environments/test/eu/one/a.cue --
package fleet
-- environments/charts/web/chart.cue --
package web
`)
	for name, want := range map[string]string{
		"root": "environments", "prod": "environments/prod", "prod/us": "environments/prod/us", "environments/prod/": "environments/prod",
	} {
		if l, err := FindLayer(dir, name); err != nil || l.Dir != want {
			t.Errorf("%s is %v, %v", name, l, err)
		}
	}
	empty := " is not a layer: it has no CUE file of package fleet"
	for name, want := range map[string]string{
		"us": "2 layers are called us", "pord": "the fleet has no layer pord", "../environments": "the fleet has no layer ../environments",
		"test": "environments/test" + empty, "eu": "environments/test/eu" + empty, "test/eu": "environments/test/eu" + empty, "environments/charts/": "environments/charts" + empty,
	} {
		if _, err := FindLayer(dir, name); err == nil || err.Error() != want {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

func TestPackages(t *testing.T) {
	sum := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	dir := write(t, `
-- environments/charts/web/chart.cue --
`+GeneratedBy+`
package web

import "github.com/fleetc/fleetc/schema"

#Release: schema.#Release & {
	chart: {
		repo:    "https://h/c"
		name:    "web"
		version: *"2.0.0" | "1.0.0"
		digest: {
			"2.0.0": "`+sum("a")+`"
			"1.0.0": "`+sum("b")+`"
		}[version]
	}
	if chart.version == "2.0.0" {
		values: #Values
	}
}
#Values: {}
-- environments/charts/local/chart.cue --
`+GeneratedBy+`
package local

import "github.com/fleetc/fleetc/schema"

#Release: schema.#Release & {
	chart: {
		path: "charts/local"
	}
}
-- environments/charts/git/chart.cue --
`+GeneratedBy+`
package git

import "github.com/fleetc/fleetc/schema"

#Release: schema.#Release & {
	chart: {
		version: "1.0.0"
		git: {
			url: "https://h/r"
			ref: "abc"
		}
		digest: "`+sum("c")+`"
	}
}
-- environments/charts/hand/chart.cue --
package hand
#Release: {chart: path: "x"}
-- environments/charts/broken/chart.cue --
`+GeneratedBy+`
package broken {
`)
	got, err := Packages(dir)
	if err != nil || len(got) != 3 {
		t.Fatalf("got %v, %v", got, err)
	}
	for i, want := range []Package{
		{"git", "environments/charts/git/chart.cue", []Pin{{"1.0.0", fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/r", Ref: "abc"}, Digest: sum("c")}}}},
		{"local", "environments/charts/local/chart.cue", []Pin{{"", fleet.ChartRef{Path: "charts/local"}}}},
		{"web", "environments/charts/web/chart.cue", []Pin{
			{"2.0.0", fleet.ChartRef{Repo: "https://h/c", Name: "web", Version: "2.0.0", Digest: sum("a")}},
			{"1.0.0", fleet.ChartRef{Repo: "https://h/c", Name: "web", Version: "1.0.0", Digest: sum("b")}},
		}},
	} {
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("got %+v, want %+v", got[i], want)
		}
	}
}
