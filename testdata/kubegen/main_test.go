package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFormat(t *testing.T) {
	got := format([]string{"v1.29.15", "v1.30.14"}, map[kind][]int{
		{"v1", "Pod", "Namespaced"}:         {30, 29},
		{"apps/v1", "Scale", "Cluster"}:     {29},
		{"apps/v1", "DaemonSet", "Cluster"}: {35, 29, 31, 30},
	})
	want := `# The kinds that Kubernetes serves, by minor version. Written by go generate; do not edit.
# k8s.io/kubernetes v1.29.15 v1.30.14
apps/v1 DaemonSet Cluster 1.29-1.31,1.35
apps/v1 Scale Cluster 1.29
v1 Pod Namespaced 1.29-1.30
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The table excludes subresources, reviews and read-only kinds.
func TestServed(t *testing.T) {
	dir := t.TempDir()
	discovery := filepath.Join(dir, "api", "discovery")
	if err := os.MkdirAll(discovery, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"api__v1.json": `{"groupVersion": "v1", "resources": [
			{"name": "pods", "kind": "Pod", "namespaced": true, "verbs": ["create", "get"]},
			{"name": "pods/log", "kind": "Pod", "namespaced": true, "verbs": ["create", "get"]},
			{"name": "bindings", "kind": "Binding", "namespaced": true, "verbs": ["create"]},
			{"name": "componentstatuses", "kind": "ComponentStatus", "verbs": ["get", "list"]}]}`,
		"apis__apps.json":        `{"kind": "APIGroup"}`,
		"apis__storage__v1.json": `{"groupVersion": "storage/v1", "resources": [{"name": "classes", "kind": "Class", "verbs": ["get", "create"]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(discovery, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := served(dir)
	if err != nil {
		t.Fatal(err)
	}
	pod, class := kind{"v1", "Pod", "Namespaced"}, kind{"storage/v1", "Class", "Cluster"}
	if len(got) != 2 || !got[pod] || !got[class] {
		t.Errorf("served: %v", got)
	}
	if _, err := served(t.TempDir()); err == nil {
		t.Error("a directory without discovery documents is not refused")
	}
}

func TestSplit(t *testing.T) {
	major, minor, patch, err := split("v1.36.5")
	if major != 1 || minor != 36 || patch != 5 || err != nil {
		t.Errorf("split: %d %d %d %v", major, minor, patch, err)
	}
	for _, v := range []string{"", "v1.36", "1.36.x", "v1.36.5.1"} {
		if _, _, _, err := split(v); err == nil {
			t.Errorf("split(%q) is not refused", v)
		}
	}
}
