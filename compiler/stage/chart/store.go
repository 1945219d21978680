package chart

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// tempPrefix starts the names of temporary files and directories.
const tempPrefix = ".tmp-"

// stale is the age after which a temporary file belongs to a killed run.
const stale = 24 * time.Hour

// A store has archives in files named by their sha256. It renames files into place,
// so readers see only complete ones.
type store struct {
	dir string
}

// store returns the store of the source. It creates no directory.
func (s *Source) store() (store, error) {
	if s.Cache != "" {
		return store{s.Cache}, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return store{}, &diag.Diag{
			Code: diag.CodeFileSystem,
			Msg:  "there is no folder for the chart store: " + err.Error(),
			Hint: "name one with --cache-dir", Cause: err,
		}
	}
	return store{filepath.Join(dir, "fleetc")}, nil
}

// state is the state of a file in the store.
type state int

const (
	absent  state = iota // not in the store
	damaged              // the content has another digest
	intact
)

func (s store) charts() string { return filepath.Join(s.dir, "charts", "sha256") }

func (s store) file(digest string) string {
	return filepath.Join(s.charts(), strings.TrimPrefix(digest, "sha256:"))
}

// read returns the bytes with the given digest. It never returns other bytes.
func (s store) read(want string) ([]byte, state, error) {
	f, err := os.Open(s.file(want))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent, nil
	}
	if err != nil {
		return nil, absent, storeFault("read", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStream+1))
	if err != nil {
		return nil, absent, storeFault("read", err)
	}
	if digest(data) != want {
		return nil, damaged, nil
	}
	return data, intact, nil
}

// write stores data under its digest. It is atomic for readers and writers of all
// processes.
func (s store) write(digest string, data []byte) error {
	err := os.MkdirAll(s.charts(), 0o755)
	if err == nil {
		// Sync before the rename, so that a crash leaves no incomplete file.
		err = fleet.Replacement{File: s.file(digest), Temp: tempPrefix + rand.Text(), Mode: 0o600, Sync: true}.Write(data)
	}
	if err != nil {
		return storeFault("write", err)
	}
	return nil
}

// tempDir creates a temporary directory. The caller must remove it.
func (s store) tempDir() (string, error) {
	if err := os.MkdirAll(s.work(), 0o755); err != nil {
		return "", storeFault("write", err)
	}
	dir, err := os.MkdirTemp(s.work(), tempPrefix+"*")
	if err != nil {
		return "", storeFault("write", err)
	}
	return dir, nil
}

// storeFault returns the fault for an error of the file system; verb names the action. The
// text of a fault never has the random name of a temporary file.
func storeFault(verb string, err error) error {
	text := err.Error()
	var file *fs.PathError
	if errors.As(err, &file) && strings.HasPrefix(filepath.Base(file.Path), tempPrefix) {
		text = file.Op + " " + filepath.Dir(file.Path) + ": " + file.Err.Error()
	}
	hint := "name a directory that can be written with --cache-dir"
	if errors.Is(err, syscall.ENOSPC) {
		hint = "free disk space, or name another directory with --cache-dir"
	}
	return &diag.Diag{Code: diag.CodeFileSystem, Msg: verb + " the chart store: " + text, Hint: hint, Cause: err}
}

func (s store) work() string { return filepath.Join(s.dir, "work") }

// sweep removes temporary files of killed runs. It ignores errors; a later run tries
// again.
func (s store) sweep() {
	for _, dir := range []string{s.charts(), s.work()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && strings.HasPrefix(e.Name(), tempPrefix) && time.Since(info.ModTime()) > stale {
				_ = os.RemoveAll(filepath.Join(dir, e.Name()))
			}
		}
	}
}
