package load

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFaultFiles names a file of a fleet that is below the top of a checkout,
// of a work tree, and of none.
func TestFaultFiles(t *testing.T) {
	for name, git := range map[string]func(at string) error{
		"checkout":  func(at string) error { return os.Mkdir(at, 0o755) },
		"work tree": func(at string) error { return os.WriteFile(at, []byte("gitdir: elsewhere\n"), 0o644) },
		"none":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			fleet := filepath.Join(top, "a", "fleet")
			layers := filepath.Join(fleet, "environments")
			for _, dir := range []string{filepath.Join(fleet, "cue.mod"), layers} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write := func(file, text string) {
				if err := os.WriteFile(filepath.Join(fleet, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("cue.mod/module.cue", "module: \"example.com/infra\"\nlanguage: version: \"v0.15.0\"\n")
			write("environments/a.cue", "one\n\nthree")
			want := "environments/a.cue"
			if git != nil {
				want = "a/fleet/environments/a.cue"
				if err := git(filepath.Join(top, ".git")); err != nil {
					t.Fatal(err)
				}
			}
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(fleet, link); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{fleet, layers, link} {
				files := FaultFiles(dir)
				if got, ok := files.Repository("environments/a.cue"); got != want || !ok {
					t.Errorf("from %s: %q, %v", dir, got, ok)
				}
				if got, ok := files.Repository("/elsewhere/a.cue"); ok {
					t.Errorf("from %s: a file of elsewhere is %q", dir, got)
				}
				for line, want := range map[int]string{1: "one", 2: "", 3: "three"} {
					if got, ok := files.Line("environments/a.cue", line); got != want || !ok {
						t.Errorf("line %d is %q, %v", line, got, ok)
					}
				}
				for _, line := range []int{-1, 0, 4} {
					if got, ok := files.Line("environments/a.cue", line); ok {
						t.Errorf("line %d is %q", line, got)
					}
				}
				for _, file := range []string{"environments", "environments/none.cue", "/dev/zero"} {
					if got, ok := files.Line(file, 1); ok {
						t.Errorf("%s begins with %q", file, got)
					}
				}
			}
		})
	}
}
