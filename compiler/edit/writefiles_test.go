package edit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/stage/load"
)

// Files are replaced together: with their modes, over what a killed process left, and not
// at all if one of them changed or cannot be replaced.
func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	before := map[string][]byte{"a.cue": []byte("a"), "sub/b.yaml": []byte("b")}
	after := map[string][]byte{"a.cue": []byte("a2"), "sub/b.yaml": []byte("b2")}
	reset := func() {
		t.Helper()
		for name, text := range map[string]string{"a.cue": "a", "sub/b.yaml": "b", "a.cue.new": "left by a killed process"} {
			if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(what, a, b string) {
		t.Helper()
		for name, want := range map[string]string{"a.cue": a, "sub/b.yaml": b} {
			got, err := os.ReadFile(filepath.Join(dir, name))
			info, _ := os.Stat(filepath.Join(dir, name))
			if err != nil || string(got) != want || info.Mode().Perm() != 0o640 {
				t.Errorf("%s: %s is %q, want %q; %v", what, name, got, want, err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", "*.new")); len(left) > 0 {
			t.Errorf("%s: left %v", what, left)
		}
	}
	reset()
	if err := writeFiles(dir, before, after); err != nil {
		t.Error(err)
	}
	check("all", "a2", "b2")
	reset()
	if err := os.WriteFile(filepath.Join(dir, "sub/b.yaml"), []byte("changed"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, before, after); err == nil || !strings.Contains(err.Error(), "another program changed the file") {
		t.Errorf("a changed file: %v", err)
	}
	check("a changed file", "a", "changed")
	reset()
	if err := os.Remove(filepath.Join(dir, "sub/b.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, before, after); err == nil {
		t.Error("a removed file: no error")
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "a.cue")); string(got) != "a" {
		t.Errorf("a removed file: a.cue is %q", got)
	}
}

// An error names the file, not its temporary file or its directory.
func TestWriteFileError(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"file", "held.cue", "held.cue.new/inner"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file/a.cue", "held.cue"} {
		if err := WriteFile(dir, name, []byte("a")); err == nil || !strings.HasPrefix(err.Error(), "write "+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := writeFiles(dir, map[string][]byte{"held.cue": {}}, map[string][]byte{"held.cue": []byte("a")})
	if err == nil || !strings.HasPrefix(err.Error(), "write held.cue: ") {
		t.Errorf("held.cue: %v", err)
	}
}

// A lift writes nothing if another one has already removed a file.
func TestWriteLiftedFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.cue"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := &lifter{tree: &tree{root: dir, texts: map[string][]byte{"a.cue": []byte("a"), "b.cue": []byte("b")}}}
	err := l.write(load.Edits{"a.cue": []byte("a2"), "b.cue": []byte("b2")}, []string{"b.cue"})
	if err == nil || !strings.Contains(err.Error(), "b.cue: another program changed the file") {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "a.cue")); string(got) != "a" {
		t.Errorf("a.cue is %q", got)
	}
}
