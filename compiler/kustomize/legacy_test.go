package kustomize

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
)

// TestCurrent holds what kustomize is given to having no deprecated field, and
// to being what the user wrote when there is none.
func TestCurrent(t *testing.T) {
	f := &file{data: []byte("resources: [a]  # as it is\n")}
	if err := f.k.Unmarshal(f.data); err != nil {
		t.Fatal(err)
	}
	if got, err := f.current(); string(got) != string(f.data) || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	f = &file{
		data:  []byte("bases: [a]\ncommonLabels: {}\nimageTags: [{name: a}]\npatchesStrategicMerge: ['{kind: A}', p.yaml]\npatchesJson6902: [{path: j.yaml, target: {name: a}}]\nlabels: [{pairs: {c: d}}]\n"),
		texts: map[string]bool{"{kind: A}": true},
	}
	if err := f.k.Unmarshal(f.data); err != nil {
		t.Fatal(err)
	}
	before := f.k
	got, err := f.current()
	if err != nil {
		t.Fatal(err)
	}
	var k types.Kustomization
	if err := k.Unmarshal(got); err != nil {
		t.Fatal(err)
	}
	if warnings := k.CheckDeprecatedFields(); warnings != nil && len(*warnings) > 0 {
		t.Errorf("%v of\n%s", *warnings, got)
	}
	if len(k.Resources) != 1 || len(k.Images) != 1 || len(k.Labels) != 2 || len(k.Patches) != 2 || k.Patches[0].Patch == "" || k.Patches[1].Path != "p.yaml" || len(k.Transformers) != 1 {
		t.Errorf("kustomize is given\n%s", got)
	}
	if len(before.Labels) != len(f.k.Labels) || len(f.k.Patches) != 0 {
		t.Error("the file is changed")
	}
}

// TestServe holds the tree to giving out no kustomization that was not checked.
func TestServe(t *testing.T) {
	b := &build{checked: map[string]*file{"app": {name: "app/kustomization.yaml", data: []byte("a: b")}, "bad": nil}}
	if got, err := b.serve("app/kustomization.yaml", nil); string(got) != "a: b" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, name := range []string{"bad/kustomization.yaml", "other/kustomization.yaml", "app/Kustomization"} {
		if _, err := b.serve(name, nil); err == nil || !strings.Contains(err.Error(), "was not checked") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
