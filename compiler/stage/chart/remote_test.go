package chart

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestRemoteDigest downloads a pinned git directory twice with the same digest, and
// refuses another digest. The archive has only directories that were read.
func TestRemoteDigest(t *testing.T) {
	s, g := source(t), newGit(t)
	commit := g.commit(t, map[string]string{"app/a.yaml": "a", "app/b.yaml": "b", "app/in/c.yaml": "c", "other/d.yaml": "d"})
	fetch := s.Fetch()
	got, err := fetch.Get(t.Context(), g.server.URL+"/repo.git//app?ref=main")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := got.Files.Read("app/a.yaml"); err != nil || !got.Files.IsDir("app/in") || got.Files.IsDir("none") {
		t.Fatal(err)
	}
	pins, err := fetch.Pins(t.Context())
	if err != nil || len(pins) != 1 || pins[0].Git.Ref != commit || !slices.Equal(pins[0].Dirs, []string{"app"}) {
		t.Fatalf("%+v, %v", pins, err)
	}
	if err := fetch.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(store{s.Cache}.work(), "*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	g.commit(t, map[string]string{"app/a.yaml": "changed"})
	fresh := &Source{Cache: t.TempDir()}
	files, err := fresh.Remote(t.Context(), pins[0])
	if err != nil || len(files) != 2 || string(files["app/a.yaml"]) != "a" || string(files["app/b.yaml"]) != "b" {
		t.Errorf("%v, %v", files, err)
	}
	pin := pins[0]
	pin.Digest = "sha256:" + strings.Repeat("0", 64)
	_, err = fresh.Remote(t.Context(), pin)
	wantFault(t, err, "has the digest "+pins[0].Digest, "its pin says "+pin.Digest, "fleetc source add")

	for name, wrong := range map[string]func(*fleet.RemoteSource){
		"is for another address":                 func(s *fleet.RemoteSource) { s.Git.URL = "https://other.example.com/repo.git" },
		`"main" is not a commit`:                 func(s *fleet.RemoteSource) { s.Git.Ref = "main" },
		"is not a directory of a git repository": func(s *fleet.RemoteSource) { s.Dirs = []string{"../app"} },
	} {
		pin := pins[0]
		wrong(&pin)
		_, err = fresh.Remote(t.Context(), pin)
		wantFault(t, err, name, "run fleetc source add again")
	}
}
