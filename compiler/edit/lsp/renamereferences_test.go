package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Texts in the rules of a fleet are names of releases, and those in values and objects are
// not.
func TestIsReleaseList(t *testing.T) {
	for path, want := range map[string]bool{
		"policies named match releases 0":                 true,
		"releases web health Job match releases 0":        true,
		"releases web patches a target releases 0":        true,
		"differences same allow releases 0":               true,
		"differences same allow charts 1":                 true,
		"differences same allow values 0":                 true,
		"differences same allow objects 0":                false,
		"releases web values match releases 0":            false,
		"releases web defaults prod target releases 0":    false,
		"releases web objects rule spec match releases 0": false,
		"releases web values differences allow releases":  false,
	} {
		if got := isReleaseList(strings.Fields(path)); got != want {
			t.Errorf("%s is a list of releases: %t, want %t", path, got, want)
		}
	}
}

// The edits of a rename are stale after a change of an open file, or of one on disk.
func TestStaleRename(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.cue")
	if err := os.WriteFile(file, []byte("a: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &server{docs: map[string]*document{}}
	r := &renamer{s: s, texts: s.newTexts(), edits: map[string][]replacement{file: nil}}
	if r.texts.text(file); r.isStale() {
		t.Error("an unchanged file is stale")
	}
	s.docs[file] = &document{text: "a: 2\n"}
	if !r.isStale() {
		t.Error("a change of an open file is not found")
	}
	delete(s.docs, file)
	if err := os.WriteFile(file, []byte("a: 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !r.isStale() {
		t.Error("a change on disk is not found")
	}
}
