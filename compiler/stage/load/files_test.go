package load

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const reads = `
-- environments/fleet.cue --
package fleet
import "example.com/infra/lib/a"
import "github.com/fleetc/fleetc/schema"
import "example.org/vendored/p"
import "example.org/generated/g"
x: a.x + p.x + g.x
cluster?: schema.#Cluster
-- environments/other.cue --
package fleet
-- environments/no_tag.cue --
@if(never)
package fleet
import "example.com/infra/lib/unused"
y: unused.y
-- environments/notes.txt --
nobody reads this
-- environments/prod/env.cue --
@extern(embed)
package fleet
z: _ @embed(file=data/one.json)
many: _ @embed(glob=many/*.yaml)
if false {
	never: _ @embed(file="data/two.json")
}
-- environments/prod/data/one.json --
{}
-- environments/prod/data/two.json --
{}
-- environments/prod/data/three.json --
{}
-- environments/prod/many/a.yaml --
a: 1
-- environments/prod/many/b.yaml --
b: 1
-- environments/prod/many/.c.yaml --
c: 1
-- environments/prod/many/d.json --
{}
-- environments/prod/many/e.yaml/f.yaml --
f: 1
-- environments/prod/eu/cluster.cue --
package fleet
cluster: name: "eu"
-- environments/prod/us/cluster.cue --
package fleet
cluster: name: "us"
w: 1
-- lib/a/a.cue --
package a
import "example.com/infra/lib/b"
x: b.x
-- lib/a/more.cue --
package a
-- lib/a/a_test.cue --
package a
-- lib/a/other.cue --
package other
-- lib/b/b.cue --
@extern(embed)
package b
x: 1
t: _ @embed(file=t.txt, type=text)
-- lib/b/t.txt --
text
-- lib/unused/u.cue --
package unused
y: 1
-- cue.mod/pkg/example.org/vendored/p/p.cue --
package p
x: int
-- cue.mod/usr/example.org/vendored/p/p.cue --
package p
x: 1
-- cue.mod/gen/example.org/generated/g/g.cue --
package g
x: 1
`

// TestFiles uses everything that the evaluation of a cluster reads, and files
// that it does not read.
func TestFiles(t *testing.T) {
	dir := write(t, reads)
	packages, err := VendoredPackages("example.com/infra")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range packages[0].Files {
		file := filepath.Join(dir, filepath.FromSlash(packages[0].Dir), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "environments/other.cue"), filepath.Join(dir, "lib/real.cue")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../lib/real.cue", filepath.Join(dir, "environments/other.cue")); err != nil {
		t.Fatal(err)
	}
	f, err := Load(dir, nil, nil)
	if err != nil || len(f.Clusters) != 2 {
		t.Fatal(f, err)
	}
	got, outside, err := f.Files(f.Clusters[0])
	if err != nil || len(outside) > 0 {
		t.Fatal(outside, err)
	}
	want := strings.Fields(`
cue.mod/gen/example.org/generated/g/g.cue
cue.mod/local-module.cue
cue.mod/module.cue
cue.mod/pkg/example.org/vendored/p/p.cue
cue.mod/usr/example.org/vendored/p/p.cue
environments/fleet.cue
environments/no_tag.cue
environments/other.cue
environments/prod/data/one.json
environments/prod/data/two.json
environments/prod/env.cue
environments/prod/eu/cluster.cue
environments/prod/many/a.yaml
environments/prod/many/b.yaml
lib/a/a.cue
lib/a/more.cue
lib/b/b.cue
lib/b/t.txt
`)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// A missing embedded file affects only its cluster.
	file := filepath.Join(dir, "environments/prod/us/cluster.cue")
	if err := os.WriteFile(file, []byte("@extern(embed)\npackage fleet\ncluster: name: \"us\"\nw: _ @embed(file=none.json)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err = Load(dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err = f.Files(f.Clusters[0]); err != nil {
		t.Error(err)
	}
	if _, _, err = f.Files(f.Clusters[1]); err == nil || !strings.HasPrefix(err.Error(), "environments/prod/us/cluster.cue:4:6: ") {
		t.Errorf("got %v", err)
	}
}

// TestFilesOfReplacedModules replaces a registry module by a directory: its
// requirements can change other versions.
func TestFilesOfReplacedModules(t *testing.T) {
	t.Setenv("CUE_REGISTRY", "none")
	dir := write(t, `
-- cue.mod/local-module.cue --
deps: "example.org/stacks@v0": {v: "v0.1.0", replaceWith: "./modules/stacks"}
-- modules/stacks/cue.mod/module.cue --
module: "example.org/stacks@v0"
language: version: "v0.17.0"
-- modules/stacks/s/s.cue --
package s
x: 1
-- environments/dev/cluster.cue --
package fleet
import "example.org/stacks/s"
cluster: {name: "dev", n: s.x}
`)
	f, err := Load(dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, outside, err := f.Files(f.Clusters[0])
	want := []string{"cue.mod/local-module.cue", "cue.mod/module.cue", "environments/dev/cluster.cue", "modules/stacks/cue.mod/module.cue", "modules/stacks/s/s.cue"}
	if err != nil || !slices.Equal(got, want) || len(outside) > 0 {
		t.Errorf("got %q, %q, %v", got, outside, err)
	}

	// The same module with its embedded files elsewhere in the repository.
	elsewhere := t.TempDir()
	if err := os.Mkdir(filepath.Join(filepath.Dir(elsewhere), ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "modules", "stacks"), filepath.Join(elsewhere, "stacks")); err != nil {
		t.Fatal(err)
	}
	away, err := filepath.Rel(dir, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	away = filepath.ToSlash(away)
	for _, with := range []string{away, filepath.ToSlash(elsewhere)} {
		for name, text := range map[string]string{
			filepath.Join(dir, "cue.mod", "local-module.cue"): `deps: "example.org/stacks@v0": {v: "v0.1.0", replaceWith: "` + with + `/stacks"}`,
			filepath.Join(elsewhere, "stacks", "s", "s.cue"):  "@extern(embed)\npackage s\nx: y.y\ny: _ @embed(file=data/y.json)\n",
		} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(elsewhere, "stacks", "s", "data"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(elsewhere, "stacks", "s", "data", "y.json"), []byte(`{"y": 1}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err = Load(dir, nil, nil); err != nil {
			t.Fatal(err)
		}
		_, outside, err = f.Files(f.Clusters[0])
		want = []string{away + "/stacks/cue.mod/module.cue", away + "/stacks/s/data/y.json", away + "/stacks/s/s.cue"}
		if err != nil || !slices.Equal(outside, want) {
			t.Errorf("got %q, want %q, %v", outside, want, err)
		}
	}
}
