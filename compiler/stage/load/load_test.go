package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// write writes the files of a txtar archive and a module file into a new
// directory.
func write(t testing.TB, archive string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := txtar.Parse([]byte(archive)).Files
	files = append(files, txtar.File{Name: "cue.mod/module.cue", Data: []byte("module: \"example.com/infra@v0\"\nlanguage: version: \"v0.17.0\"\n")})
	for _, f := range files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const deep = `
-- environments/fleet.cue --
package fleet
cluster?: {name: string}
-- environments/prod/a/b/eu/env.cue --
package fleet
cluster?: facts: {}
-- environments/prod/a/b/eu/one/cluster.cue --
package fleet
cluster: {name: "one"} & {kubernetes: "1.36"}
-- environments/prod/a/b/eu/two/cluster.cue --
package fleet
if true {cluster: name: "two"}
-- environments/prod/a/b/eu/two/more.cue --
package fleet
cluster: labels: {}
-- environments/prod/three/cluster.cue --
package fleet
#shared: {name: "three"}
cluster: #shared
-- environments/prod/three/_hidden/x.cue --
package other
-- environments/prod/three/x_test.cue --
package other
-- environments/charts/app/chart.cue --
package app
-- environments/lib/lib.cue --
package lib
X: 1
-- environments/prod/three/use.cue --
package fleet
import "example.com/infra/environments/lib"
_x: lib.X
`

func TestLoad(t *testing.T) {
	dir := write(t, deep)
	for _, from := range []string{dir, filepath.Join(dir, "environments/prod/a")} {
		f, err := Load(from, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Root != dir || f.Module != "example.com/infra" {
			t.Errorf("root %s, module %s", f.Root, f.Module)
		}
		var got []string
		for _, c := range f.Clusters {
			var layers []string
			for _, l := range c.Layers {
				layers = append(layers, l.Name+"="+l.Dir)
			}
			got = append(got, fmt.Sprintf("%s: %s: %d files", c.ID, strings.Join(layers, " "), len(c.Instance.BuildFiles)))
		}
		want := `prod/a/b/eu/one: root=environments eu=environments/prod/a/b/eu one=environments/prod/a/b/eu/one: 3 files
prod/a/b/eu/two: root=environments eu=environments/prod/a/b/eu two=environments/prod/a/b/eu/two: 4 files
prod/three: root=environments three=environments/prod/three: 3 files`
		if g := strings.Join(got, "\n"); g != want {
			t.Errorf("got\n%s\nwant\n%s", g, want)
		}
	}
}

// TestLoadKeepsTheOthers checks that faults in some directories do not affect
// other clusters.
func TestLoadKeepsTheOthers(t *testing.T) {
	dir := write(t, deep+`
-- environments/prod/import/cluster.cue --
package fleet
import "example.com/infra/nowhere"
cluster: name: nowhere.X
-- environments/prod/syntax/cluster.cue --
package fleet
cluster: name: "
`)
	f, err := Load(dir, nil, nil)
	if len(f.Clusters) != 3 {
		t.Errorf("%d clusters are left", len(f.Clusters))
	}
	var got []string
	for _, d := range diag.All(err) {
		got = append(got, fmt.Sprintf("%s %v", d.At[0], d.Clusters))
	}
	want := "environments/prod/import/cluster.cue:2:8 [prod/import]\nenvironments/prod/syntax/cluster.cue:2:16 [prod/syntax]"
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

// FuzzLoad loads trees with a broken file: it must not panic, and must find
// the other cluster.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", "package fleet", "package fleeet", "package", "cluster: {", "package fleet\ncluster: name: \"x\"", "package fleet\nimport \"a\"", "\xff\x00", "package fleet\n@if(x)", "@ignore()\npackage fleet"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := write(t, "-- environments/good/cluster.cue --\npackage fleet\ncluster: name: \"good\"\n")
		if err := os.MkdirAll(filepath.Join(dir, "environments/bad"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "environments/bad/cluster.cue"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		fleet, err := Load(dir, nil, nil)
		if fleet == nil || len(fleet.Clusters) == 0 {
			t.Fatalf("the good cluster is not found: %v", err)
		}
		if len(fleet.Clusters) == 1 && err == nil {
			t.Fatal("the file is passed over in silence")
		}
	})
}
