package compiler

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/stage/objects"
)

// TestIdentical checks that bundles do not depend on sharing between clusters, stored
// results and parallelism. The fleets are the example, one whose clusters share most
// releases, and one with Istio's charts.
func TestIdentical(t *testing.T) {
	// With sixteen clusters, outputs of templates are reused.
	for name, dir := range map[string]string{"example": "..", "alike": fleets.Shared(t, 16, 13), "real": realFleet(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cached := t.TempDir()
			want := texts(t, &Compiler{Dir: dir, Jobs: 1, Cache: t.TempDir(), Offline: true, unshared: true})
			for _, c := range []*Compiler{
				{Jobs: 1},
				{Jobs: 8, Build: "test"},
				{Jobs: 1, Build: "test"},
				{Jobs: 8, Build: "test"},
				{Jobs: 8, Build: "test", NoCache: true},
			} {
				c.Dir, c.Cache, c.Offline = dir, cached, true
				got := texts(t, c)
				if len(got) != len(want) || len(got) == 0 {
					t.Errorf("with %d jobs and build %q, %d texts: want %d", c.Jobs, c.Build, len(got), len(want))
				}
				for name, text := range want {
					if got[name] != text {
						t.Errorf("with %d jobs and build %q, %s is\n%s\nwant\n%s", c.Jobs, c.Build, name, got[name], text)
						break
					}
				}
			}
		})
	}
}

// realFleet writes a fleet of public charts, with many sets of values.
func realFleet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "run", ".", filepath.Join(dir, "charts"))
	cmd.Dir = "../testdata/realcharts"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write the charts: %v\n%s", err, out)
	}
	// The number of value sets with which a chart renders without faults on its own.
	charts := map[string]int{"base": 3, "istiod": 3, "istio-cni": 1, "gateway": 1, "ztunnel": 2}
	root := `package fleet

import "github.com/fleetc/fleetc/schema"

cluster?: schema.#Cluster
releases: schema.#Releases
stages:   schema.#Stages & [{name: "mesh"}]
releases: space: {namespace: "istio-system", stage: "mesh", objects: [{apiVersion: "v1", kind: "Namespace", metadata: name: "istio-system"}]}
`
	for c := range charts {
		root += fmt.Sprintf("releases: %q: {namespace: \"istio-system\", stage: \"mesh\", chart: path: \"charts/%[1]s\"}\n", c)
	}
	files := map[string]string{
		"cue.mod/module.cue":     "module: \"example.com/real\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/fleet.cue": root,
	}
	for i := range 6 {
		text := fmt.Sprintf("package fleet\n\ncluster: {name: \"c%d\", kubernetes: \"1.36\"}\n", i)
		for c, sets := range charts {
			data, err := os.ReadFile(fmt.Sprintf("../testdata/realcharts/values/%s-%d.yaml", c, 1+i%sets))
			if err == nil {
				data, err = yaml.YAMLToJSON(data)
			}
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprintf("releases: %q: defaults: c%d: %s\n", c, i, data)
		}
		files[fmt.Sprintf("environments/c%d/cluster.cue", i)] = text
	}
	fleets.Write(t, dir, files)
	return dir
}

// texts compiles a fleet twice and returns the texts of both bundles by name.
func texts(t *testing.T, c *Compiler) map[string]string {
	t.Helper()
	f, err := c.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for round := range 2 {
		for b, err := range f.Bundles(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			id := b.Cluster.ID
			if round == 1 && out[id] != b.Digest {
				t.Errorf("%s is another bundle the second time", id)
			}
			out[id] = b.Digest
			for i, o := range b.Objects {
				name := fmt.Sprintf("%s %d %s %s %s", id, i, o.Release.Name, o.ID(), o.Template)
				out[name] = b.YAML[i].String()
				text, err := objects.Encode(o.Object)
				if err != nil || string(text) != out[name] {
					t.Errorf("%s is\n%s\nand its text\n%s", name, text, out[name])
				}
				if o.Release.Name == "" || reflect.DeepEqual(o.Pos, o.Release.SourcePos) && o.Template != "" && !o.Pos.IsValid() {
					t.Errorf("%s has no place", name)
				}
			}
			for i, o := range b.Hooks {
				text, err := objects.Encode(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				out[fmt.Sprintf("%s hook %d %s %s", id, i, o.Release.Name, o.ID())] = string(text)
			}
		}
	}
	return out
}
