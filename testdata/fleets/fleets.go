// Package fleets writes fleets for tests: the example of this repository, one that
// reads files in every way, and generated ones of any size.
package fleets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Root returns the root of this repository.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	tb.Fatal("the working directory is in no Go module")
	return ""
}

// copyCharts copies charts of the repository to a fleet.
func copyCharts(tb testing.TB, dir string, charts ...string) {
	tb.Helper()
	for _, c := range charts {
		if err := os.CopyFS(filepath.Join(dir, "charts", c), os.DirFS(filepath.Join(Root(tb), "testdata/charts", c))); err != nil {
			tb.Fatal(err)
		}
	}
}

// ExampleParts are the directories of the example fleet in the repository.
var ExampleParts = []string{"cue.mod", "schema", "lib", "environments", "testdata/charts", "testdata/components"}

// Example writes the example fleet and returns its root.
func Example(tb testing.TB) string {
	tb.Helper()
	root, dir := Root(tb), tb.TempDir()
	for _, part := range ExampleParts {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, part))); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// Small is a fleet whose clusters read files in every way, and in ways that look
// like others: a layer as text, a layer behind a link.
var Small = map[string]string{
	"cue.mod/module.cue":     "module: \"example.com/small\"\nlanguage: version: \"v0.17.0\"\n",
	"environments/fleet.cue": "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\ncluster?: schema.#Cluster\nreleases: schema.#Releases\n",
	"environments/one/cluster.cue": "package fleet\n\ncluster: {name: \"one\", kubernetes: \"1.36\"}\n" +
		"releases: text: {namespace: \"a\", jsonnet: \"text.jsonnet\"}\n",
	"environments/two/cluster.cue": "package fleet\n\ncluster: {name: \"two\", kubernetes: \"1.36\"}\n" +
		"releases: plain: {namespace: \"a\", manifests: \"plain\"}\n",
	"environments/three/cluster.cue": "package fleet\n\ncluster: {name: \"three\", kubernetes: \"1.36\"}\n",
	"environments/three/more.cue":    "-> ../../shared/more.cue",
	"shared/more.cue":                "package fleet\n",
	"text.jsonnet":                   "function(params, cluster) {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {a: importstr 'environments/two/cluster.cue'}}\n",
	"plain/a.yaml":                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	"notes.txt":                      "nobody reads this\n",
}

// Write writes files to a directory. A text that begins with an arrow makes a link; an
// empty one removes the file.
func Write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		target, isLink := strings.CutPrefix(text, "-> ")
		switch {
		case err != nil:
		case text == "":
			err = os.Remove(file)
		case isLink:
			err = os.Symlink(target, file)
		default:
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

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

// Generate writes a fleet of n clusters in three environments, with more for each.
func Generate(tb testing.TB, n int, more ...func(j int) string) string {
	tb.Helper()
	dir := tb.TempDir()
	copyCharts(tb, dir, "ingress-controller", "cert-manager", "elasticsearch", "fluentd")
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
	Write(tb, dir, files)
	return dir
}

// Shared writes a fleet of n clusters that have equal releases, and one release with
// values of which there are so many variants.
func Shared(tb testing.TB, n, ways int) string {
	tb.Helper()
	dir := tb.TempDir()
	copyCharts(tb, dir, "ingress-controller", "cert-manager", "elasticsearch")
	files := map[string]string{
		"cue.mod/module.cue": "module: \"example.com/alike\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/fleet.cue": `package fleet

import "github.com/fleetc/fleetc/schema"

cluster?: schema.#Cluster
releases: schema.#Releases
stages:   schema.#Stages & [{name: "base"}, {name: "apps"}]
releases: {
	spaces: {namespace: "base", stage: "base", objects: {for n in ["ingress", "certs", "logging"] {(n): {apiVersion: "v1", kind: "Namespace", metadata: name: n}}}}
	certs: {namespace: "certs", chart: path: "charts/cert-manager", defaults: root: crds: enabled: true}
	ingress: {namespace: "ingress", chart: path: "charts/ingress-controller", defaults: root: controller: replicaCount: 2
		patches: scaled: {target: kinds: ["Deployment"], strategic: spec: replicas: 7}}
	search: {namespace: "logging", chart: path: "charts/elasticsearch", defaults: root: replicas: 1}
}
`,
	}
	for i := range n {
		files[fmt.Sprintf("environments/c%d/cluster.cue", i)] = fmt.Sprintf("package fleet\n\ncluster: {name: \"c%d\", kubernetes: \"1.3%d\"}\n"+
			"releases: search: defaults: c%[1]d: httpPort: %[3]d\n", i, 5+i%2, 9200+i%ways)
	}
	Write(tb, dir, files)
	return dir
}
