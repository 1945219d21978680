package branch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The next run removes the copy of a killed process, and leaves copies that are in use.
func TestSweep(t *testing.T) {
	used := serve(t, nil).open(t)
	temp := os.TempDir()
	killed, started := filepath.Join(temp, "fleetc-git-1"), filepath.Join(temp, "fleetc-git-2")
	for _, dir := range []string{killed, started} {
		if err := os.MkdirAll(filepath.Join(dir, "tree"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{killed, used.dir} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := Open(t.Context(), used.url, ".")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(next.Close(), os.RemoveAll(started)); err != nil {
			t.Error(err)
		}
	}()
	for dir, want := range map[string]bool{killed: false, started: true, used.dir: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
