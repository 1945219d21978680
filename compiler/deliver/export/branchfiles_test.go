package export

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Files reads a file of each branch, except missing and large ones.
func TestFiles(t *testing.T) {
	s := serve(t, map[string]string{"x": "0"})
	for branch, files := range map[string]map[string]string{
		"r/a": {"f": "one\n"}, "r/b": {"g": "1"}, "r/c": {"f": strings.Repeat("x", 9)}, "r/d": {"f/g": "a directory"}, "r/e": {"f": "12345678"},
	} {
		s.mustPush(t, BranchUpdate{Branch: branch, Detached: true, Write: writes(files)}, BranchCommitted)
	}
	got, err := s.open(t).Files(t.Context(), []string{"r/a", "r/b", "r/c", "r/d", "r/e", "r/none"}, "f", 8)
	want := map[string]BranchFile{"r/a": {Data: []byte("one\n")}, "r/b": {}, "r/c": {}, "r/d": {}, "r/e": {Data: []byte("12345678")}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.open(t).Files(t.Context(), []string{"none"}, "f", 8); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// Find reads the first of the files that each selected branch has.
func TestFind(t *testing.T) {
	s := serve(t, map[string]string{"top/a/f": "0"})
	for branch, files := range map[string]map[string]string{
		"b": {"top/b/f": "1", "top/a/g": "1"}, "c": {"top/a/f": "2", "top/b/f": "2"}, "d": {"f": "3", "top/a/f/x": "3"}, "e": {"top/a/f": "4"},
	} {
		s.mustPush(t, BranchUpdate{Branch: branch, Detached: true, Write: writes(files)}, BranchCommitted)
	}
	got, err := s.open(t).Find(t.Context(), []string{"top/a/f", "top/b/f"}, func(branch string) bool { return branch != "e" })
	if want := []TipFile{{"b", []byte("1")}, {"c", []byte("2")}, {"main", []byte("0")}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.open(t).Find(t.Context(), []string{"f"}, func(string) bool { return false }); got != nil || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A branch that cannot be fetched does not affect the others.
func TestFilesOfBadBranch(t *testing.T) {
	s := serve(t, map[string]string{"x": "0"})
	for branch, text := range map[string]string{"r/a": "1", "r/bad": "2", "r/c": "3"} {
		s.mustPush(t, BranchUpdate{Branch: branch, Detached: true, Write: writes(map[string]string{"f": text})}, BranchCommitted)
	}
	tree := strings.TrimSpace(s.git(t, "-C", s.bare, "rev-parse", "r/bad^{tree}"))
	if err := os.Remove(filepath.Join(s.bare, "objects", tree[:2], tree[2:])); err != nil {
		t.Fatal(err)
	}
	got, err := s.open(t).Files(t.Context(), []string{"r/a", "r/bad", "r/c"}, "f", 8)
	if err != nil || string(got["r/a"].Data) != "1" || string(got["r/c"].Data) != "3" {
		t.Errorf("%q, %v", got, err)
	}
	if bad := got["r/bad"]; bad.Err == nil || bad.Data != nil {
		t.Errorf("of the bad branch: %q", bad)
	}
}

// Files refuses names of branches that git would read as a pattern or as an option.
func TestFilesOfBadName(t *testing.T) {
	r := serve(t, map[string]string{"x": "0"}).open(t)
	for _, name := range []string{"r/*", "a..b", "-x", "a b"} {
		if got, err := r.Files(t.Context(), []string{name}, "f", 8); err == nil || !strings.Contains(err.Error(), "is not a valid branch name") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
