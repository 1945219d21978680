package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"in": "a/b", "a/up": "..", "out": "../x", "abs": dir, "a/b/over": "../../..", "loop": "loop", "chain": "in/../up/a", "git": ".git/config",
	} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]string{
		".": ".", "a/b": "a/b", "in": "a/b", "a/up/a": "a", "chain": "a", "in/..": "a",
	} {
		if got, err := ResolveLink(root, name); got != want || err != nil {
			t.Errorf("%s is %q, %v, want %s", name, got, err, want)
		}
	}
	for _, name := range []string{"out", "abs", "in/over", "..", "a/../.."} {
		if got, err := ResolveLink(root, name); !errors.Is(err, ErrLeaves) {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for _, name := range []string{".git", ".git/config", "a/../.GIT", "git~1/config", "git"} {
		if got, err := ResolveLink(root, name); !errors.Is(err, ErrGit) {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"loop", "none", ".gitignore"} {
		if got, err := ResolveLink(root, name); err == nil || errors.Is(err, ErrLeaves) {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}
