package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestAddCRDs has two files with CRDs of one kind; the program keeps the larger
// schema of the stored version, without status.
func TestAddCRDs(t *testing.T) {
	const crd = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: monitoring.coreos.com
  names:
    kind: Probe
  versions:
  - name: v2
    schema:
      openAPIV3Schema: {type: object}
  - name: v1
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object}
          spec:
            type: object
            properties:
              port: {x-kubernetes-int-or-string: true}
`
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": crd,
		"b.yaml": crd + "              mode: {type: string, enum: [A, B], description: x}\n",
		"c.yaml": crd,
		"d.yaml": "{{ if .Values.crds }}\n" + crd + "              more: {type: string}\n              most: {type: string}\n",
		"e.txt":  "kind: CustomResourceDefinition\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kinds := map[string]*definition{}
	if err := addCRDs(kinds, dir); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(kinds["Probe"])
	want := `{"kind":"monitoring.coreos.com/v1 Probe","type":"object","properties":{"spec":{"type":"object","properties":{"mode":{"type":"string"},"port":{"format":"int-or-string"}}}}}`
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}
