package importer

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// fluxRepositoryOf writes files and reads them as the cluster main.
func fluxRepositoryOf(t *testing.T, archive string) (*Model, error) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return ReadFlux(context.Background(), FluxOptions{Dir: dir, Clusters: []ClusterSource{{ID: "main", Source: "main"}}, Kubernetes: "1.36", Source: offline})
}

// offline returns a source of charts that does not use the network.
func offline(root string) *chart.Source { return &chart.Source{Root: root, Offline: true} }

const fields = `
-- main/all.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: web, labels: {a: b}}
spec: {url: "https://charts.example.com", interval: 1h, secretRef: {name: x}, passCredentials: true, brandNew: 1}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: web}
spec:
  chart: {spec: {chart: web, version: 1.0.0, interval: 1h, reconcileStrategy: Revision, sourceRef: {kind: HelmRepository, name: charts}}}
  interval: 1h
  dependsOn: []
  install: {remediation: {retries: 3}, crds: Create, brandNew: {deep: [1, 2]}}
  values: {anything: {goes: here}}
  brandNew: true
`

// Each field that is not carried is listed with its line, also an unknown field.
func TestFieldsAreAccounted(t *testing.T) {
	m, err := fluxRepositoryOf(t, fields)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	unknown := 0
	for _, n := range m.NotCarried {
		kind, _, _ := strings.Cut(n.Doc, " ")
		got[kind+" "+n.Field] = n.Pos.Line
		if strings.Contains(n.Do, "does not know") {
			unknown++
		}
	}
	want := map[string]int{
		"HelmRepository metadata.labels": 3, "HelmRepository spec.interval": 4, "HelmRepository spec.secretRef": 4,
		"HelmRepository spec.passCredentials": 4, "HelmRepository spec.brandNew": 4,
		"HelmRelease spec.chart.spec.interval": 10, "HelmRelease spec.chart.spec.reconcileStrategy": 10, "HelmRelease spec.interval": 11,
		"HelmRelease spec.install.remediation": 13, "HelmRelease spec.install.brandNew.deep.0": 13, "HelmRelease spec.install.brandNew.deep.1": 13,
		"HelmRelease spec.brandNew": 15,
	}
	if !reflect.DeepEqual(got, want) || unknown != 4 {
		t.Errorf("got %v, %d unknown\nwant %v, 4 unknown", got, unknown, want)
	}
}

// Values merge as in helm-controller: valuesFrom in order, then values. A targetPath wins
// over values that only one of both has, such as an element of a list.
func TestValues(t *testing.T) {
	m, err := fluxRepositoryOf(t, `
-- main/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: web}
data:
  values.yaml: "{x: {a: 1, b: 1}, list: [1], gone: 1}"
  other: "{x: {b: 2, c: 2}, list: [2]}"
  count: "3"
  text: '"4"'
  flag: "true"
  zero: "007"
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: web}
spec: {url: "https://charts.example.com"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: web}
spec:
  chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: charts}}}
  valuesFrom:
    - {kind: ConfigMap, name: a}
    - {kind: ConfigMap, name: a, valuesKey: other}
    - {kind: ConfigMap, name: a, valuesKey: nothing, optional: true}
    - {kind: ConfigMap, name: nowhere, optional: true}
    - {kind: ConfigMap, name: a, valuesKey: count, targetPath: 'new.n[0]'}
    - {kind: ConfigMap, name: a, valuesKey: count, targetPath: x.c}
    - {kind: ConfigMap, name: a, valuesKey: text, targetPath: x.text}
    - {kind: ConfigMap, name: a, valuesKey: count, targetPath: 'x.dot\.ted', literal: true}
    - {kind: ConfigMap, name: a, valuesKey: flag, targetPath: flag}
    - {kind: ConfigMap, name: a, valuesKey: zero, targetPath: zero}
  values: {x: {c: 9, d: 9}, gone: null, new: {n: [0, 1]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for j, r := range m.Clusters[0].Releases {
		if r.Name == "web" {
			i = j
		}
	}
	got, _ := yaml.Marshal(m.Clusters[0].Releases[i].Values.Value())
	want := "flag: true\ngone: null\nlist:\n- 2\nnew:\n  \"n\":\n  - 3\n  - 1\nx:\n  a: 1\n  b: 2\n  c: 9\n  d: 9\n  dot.ted: \"3\"\n  text: \"4\"\nzero: \"007\"\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A file of any content gives a fault or a model, and no panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte(fields))
	f.Add([]byte("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {chart: [], values: 1, dependsOn: [1]}\n"))
	f.Add([]byte("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ./main, patches: [{patch: 1}], postBuild: 3}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "main"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "main", "a.yaml"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFlux(context.Background(), FluxOptions{Dir: dir, Clusters: []ClusterSource{{ID: "main", Source: "main"}}, Kubernetes: "1.36", Source: offline})
		for _, d := range diag.All(err) {
			if d.Msg == "" {
				t.Errorf("a fault without a message: %v", err)
			}
		}
	})
}
