package export

import (
	"strings"
	"testing"
)

// Commit changes only the clusters that are kept, and removes clusters that are gone.
func TestKeep(t *testing.T) {
	tree := newTree(t)
	mustExport(t, tree, false, bundle("a", "web/Pod/x/y=1"), bundle("b", "web/Pod/x/y=1"), bundle("gone", "web/Pod/x/y=1"))
	before := listing(t, tree.Dir+"/b")
	s, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var old []string
	for _, id := range []string{"a", "b", "new"} {
		r, err := s.Stage(bundle(id, "web/Pod/x/y=2"))
		if err != nil {
			t.Fatal(err)
		}
		old = append(old, r.Before)
	}
	if old[0] == "" || old[2] != "" {
		t.Errorf("the bundles before are %q", old)
	}
	if err := s.Retire(func(id string) bool { return id == "gone" }); err != nil {
		t.Fatal(err)
	}
	s.Keep(func(id string) bool { return id == "a" })
	sum, err := s.Commit()
	if err != nil || len(sum.Clusters) != 2 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, tree.Dir, "a/web/pod-x-y.yaml", "b/web/pod-x-y.yaml")
	if after := listing(t, tree.Dir+"/b"); after != before {
		t.Errorf("b was\n%sand is\n%s", before, after)
	}
	if text := files(t, tree.Dir)["a/web/pod-x-y.yaml"]; !strings.Contains(text, "2") {
		t.Errorf("a has %q", text)
	}
}
