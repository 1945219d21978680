package compiler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// benchRoot is the root layer of generated fleets: charts of the example, and
// a release of plain objects.
const benchRoot = `package fleet

import "github.com/fleetc/fleetc/schema"

cluster?:     schema.#Cluster
environment?: string
releases:     schema.#Releases
stages:       schema.#Stages & [{name: "base"}, {name: "apps"}]
releases: {
	base: {namespace: "base", stage: "base", objects: {for n in ["a", "b", "c"] {(n): {apiVersion: "v1", kind: "Namespace", metadata: name: n}}}}
	ingress: {namespace: "ingress", chart: path: "charts/ingress-controller", defaults: root: controller: replicaCount: 2}
	certs: {namespace: "certs", chart: path: "charts/cert-manager", defaults: root: crds: enabled: true}
	elasticsearch: {namespace: "logging", chart: path: "charts/elasticsearch", values: httpPort: *9200 | int, defaults: root: replicas: 1}
	fluentd: {namespace: "logging", chart: path: "charts/fluentd", values: output: port: releases.elasticsearch.values.httpPort}
}
if cluster.name != _|_ {
	releases: ingress: defaults: root: controller: service: annotations: "example.com/cluster": cluster.name
}
`

// generate writes a fleet of n clusters in three environments, with more for each.
func generate(tb testing.TB, n int, more ...func(j int) string) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, c := range []string{"ingress-controller", "cert-manager", "elasticsearch", "fluentd"} {
		if err := os.CopyFS(filepath.Join(dir, "charts", c), os.DirFS(filepath.Join("../testdata/charts", c))); err != nil {
			tb.Fatal(err)
		}
	}
	files := map[string]string{
		"cue.mod/module.cue":     "module: \"example.com/bench\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/fleet.cue": benchRoot,
	}
	for i, env := range []string{"dev", "staging", "prod"} {
		files["environments/"+env+"/env.cue"] = fmt.Sprintf("package fleet\n\nenvironment: %q\nreleases: ingress: defaults: %s: controller: replicaCount: %d\n", env, env, i+1)
		for j := i; j < n; j += 3 {
			name := fmt.Sprintf("environments/%s/c%03d/cluster.cue", env, j)
			files[name] = fmt.Sprintf(
				"package fleet\n\ncluster: {name: \"c%03d\", kubernetes: \"1.3%d\"}\nreleases: elasticsearch: defaults: c%03d: httpPort: %d\n", j, 4+i, j, 10000+j)
			for _, f := range more {
				files[name] += f(j)
			}
		}
		if n <= i {
			delete(files, "environments/"+env+"/env.cue")
		}
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// exportFleet compiles a fleet and exports it.
func exportFleet(tb testing.TB, dir, out string) export.Summary {
	tb.Helper()
	c := &compiler.Compiler{Dir: dir, Cache: tb.TempDir(), Offline: true}
	f, err := c.Load(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	session, err := (&export.Tree{Dir: out, Fleet: f.Module, Version: "test"}).Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer session.Close()
	for b, err := range f.Bundles(tb.Context()) {
		if err == nil {
			_, err = session.Stage(b)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	summary, err := session.Commit()
	if err != nil {
		tb.Fatal(err)
	}
	return summary
}

func BenchmarkExport(b *testing.B) {
	for _, n := range []int{1, 10, 200} {
		b.Run(fmt.Sprintf("clusters=%d", n), func(b *testing.B) {
			dir := generate(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if s := exportFleet(b, dir, filepath.Join(b.TempDir(), "out")); len(s.Clusters) != n {
					b.Fatalf("%d clusters, want %d", len(s.Clusters), n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(n), "ms/cluster")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 10, 200} {
		b.Run(fmt.Sprintf("clusters=%d", n), func(b *testing.B) {
			dir := generate(b, n)
			c := &compiler.Compiler{Dir: dir, Cache: b.TempDir(), Offline: true}
			for b.Loop() {
				if f, err := c.Load(b.Context()); err != nil || len(f.Clusters) != n {
					b.Fatalf("%v", err)
				}
			}
		})
	}
}
