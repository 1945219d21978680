package source

import (
	"strings"
	"testing"
)

// TestServe holds the tree to giving out no kustomization that was not checked.
func TestServe(t *testing.T) {
	b := &build{checked: map[string]*kustomizeFile{"app": {name: "app/kustomization.yaml"}, "bad": nil}}
	if got, err := b.serve("app/kustomization.yaml", []byte("a: b")); string(got) != "a: b" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, name := range []string{"bad/kustomization.yaml", "other/kustomization.yaml", "app/Kustomization"} {
		if _, err := b.serve(name, nil); err == nil || !strings.Contains(err.Error(), "was not checked") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
