package diff

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestFold checks which changes are folded into one line, and that All shows
// them.
func TestFold(t *testing.T) {
	const before = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: web, labels: {helm.sh/chart: app-1.0.0, app.kubernetes.io/version: "1", tier: low}, annotations: {checksum/config: aa}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: web, labels: {chart: app-1.0.0}}
data: {version: "1", app.kubernetes.io/version: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: web, labels: {app.kubernetes.io/version: "1"}}
`
	after := strings.NewReplacer("1.0.0", "1.1.0", "aa", "bb", `version: "1"`, `version: "2"`, "tier: low", "tier: high").Replace(before)
	after = strings.Replace(after, `{app.kubernetes.io/version: "2"}}`, `{}}`, 1) // removed, not changed
	result := groupOf(map[string][]Change{"one": changed(t, before, after), "two": changed(t, before, after)})
	for _, want := range []struct {
		all  bool
		text string
	}{
		{false, `the same changes in all 2 clusters
  ~ ConfigMap web/a
    ~ metadata.labels.tier: low -> high
  ~ ConfigMap web/b
    ~ data."app.kubernetes.io/version": "1" -> "2"
    ~ data.version: "1" -> "2"
  ~ ConfigMap web/c
    - metadata.labels."app.kubernetes.io/version": "1"
  ~ version labels and checksums of 2 objects: app.kubernetes.io/version "1" -> "2", chart app-1.0.0 -> app-1.1.0, checksum/config, helm.sh/chart app-1.0.0 -> app-1.1.0
`},
		{true, `the same changes in all 2 clusters
  ~ ConfigMap web/a
    ~ metadata.annotations."checksum/config": aa -> bb
    ~ metadata.labels."app.kubernetes.io/version": "1" -> "2"
    ~ metadata.labels."helm.sh/chart": app-1.0.0 -> app-1.1.0
    ~ metadata.labels.tier: low -> high
`},
	} {
		var b bytes.Buffer
		if err := WriteText(&b, result, Style{All: want.all}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), want.text) {
			t.Errorf("all %v:\n%s\nwant\n%s", want.all, &b, want.text)
		}
	}
}

// TestFoldClusters checks that changed checksums of clusters are one line.
func TestFoldClusters(t *testing.T) {
	changes := map[string][]Change{}
	for i := range 3 {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {checksum/config: v%d}}\n"
		changes[fmt.Sprint("c", i)] = changed(t, fmt.Sprintf(text, i), fmt.Sprintf(text, i+10))
	}
	var b bytes.Buffer
	if err := WriteText(&b, groupOf(changes), Style{}); err != nil {
		t.Fatal(err)
	}
	want := "~ version labels and checksums of ConfigMap a in 3 clusters: checksum/config\n\n1 object updated in 3 of 3 clusters\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

// changed compares two streams of YAML.
func changed(t *testing.T, before, after string) []Change {
	return Objects(objects(t, before), objects(t, after), nil)
}

// groupOf groups the changes of clusters.
func groupOf(changes map[string][]Change) Result {
	var g Grouper
	for cluster, c := range changes {
		g.Add(cluster, c)
	}
	return g.Result()
}
