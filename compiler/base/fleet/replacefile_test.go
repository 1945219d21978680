package fleet

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A replacement has the mode of the old file or its own, replaces links, and leaves no temporary
// file after a failure.
func TestReplacement(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"old": "a", "target": "a", "left.new": "of a killed process", "taken/inner": ""} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("target", at("link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		own  fs.FileMode
		want fs.FileMode
	}{{"old", 0, 0o640}, {"old", 0o600, 0o600}, {"link", 0o600, 0o600}, {"left", 0o600, 0o600}} {
		if err := (Replacement{File: at(c.name), Temp: c.name + ".new", Mode: c.own, Sync: true}).Write([]byte("b")); err != nil {
			t.Error(err)
		}
		info, err := os.Lstat(at(c.name))
		if err != nil || info.Mode() != c.want {
			t.Errorf("%s: mode %v, want %v, %v", c.name, info.Mode(), c.want, err)
		}
	}
	if text, _ := os.ReadFile(at("target")); string(text) != "a" {
		t.Errorf("the target of the link is %q", text)
	}
	for _, name := range []string{"taken", "missing/file"} {
		if err := (Replacement{File: at(name), Temp: ".new"}).Write(nil); err == nil || !strings.HasPrefix(err.Error(), "write "+at(name)+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, pattern := range []string{"*.new", ".new"} {
		if left, _ := filepath.Glob(at(pattern)); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
}
