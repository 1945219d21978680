package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
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
	next, err := OpenRemote(t.Context(), used.url, ".")
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

// A full disk of the temporary copy is one fault, which names the directory.
func TestFullDisk(t *testing.T) {
	s := serve(t, map[string]string{"a": "a"})
	full := &fs.PathError{Op: "write", Path: "web.yaml", Err: syscall.ENOSPC}
	r := s.open(t)
	_, err := r.Push(t.Context(), false, BranchUpdate{Branch: "main", Write: func(context.Context, string, string) (BranchChange, error) {
		return BranchChange{}, errors.Join(diag.In("dev/one", fmt.Errorf("write web.yaml: %w", full)), diag.In("dev/two", full))
	}})
	a := attempt{Remote: r}
	said := &git.Error{Text: "error: unable to write loose object file: No space left on device"}
	for _, err := range []error{err, a.unwritable(said), a.fault(said)} {
		wantFault(t, err, "the temporary copy of "+r.Name+" does not fit on the disk of "+os.TempDir(), "set TMPDIR")
		if n := len(diag.All(err)); n != 1 {
			t.Errorf("%d faults: %v", n, err)
		}
	}
	said = &git.Error{Text: "remote: fatal: unable to write loose object file: No space left on device\nerror: remote unpack failed: unpack-objects abnormal exit\n"}
	wantFault(t, a.refused(said), "rejects the push", "free disk space on the machine that has the repository")
}
