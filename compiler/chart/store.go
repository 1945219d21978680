package chart

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
)

// tempPrefix begins the names of files and directories that are being written.
const tempPrefix = ".tmp-"

// stale is the age from which a temporary file belongs to a run that was
// killed: far beyond the time that a run may take.
const stale = 24 * time.Hour

// A store keeps archives by the sha256 of their bytes, in files that are
// complete from the moment at which they have their name.
type store struct {
	dir string
}

// store returns the source's store. Nothing is created before it is written to.
func (s *Source) store() (store, error) {
	if s.Cache != "" {
		return store{s.Cache}, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return store{}, &diag.Diag{
			Msg:  "there is no folder for the chart store: " + err.Error(),
			Hint: "name one with --cache-dir", Cause: err,
		}
	}
	return store{filepath.Join(dir, "fleetc")}, nil
}

// state is what a store knows about a digest.
type state int

const (
	absent  state = iota // there is no file
	damaged              // the file has other bytes than its name says
	intact
)

func (s store) charts() string { return filepath.Join(s.dir, "charts", "sha256") }

func (s store) file(digest string) string {
	return filepath.Join(s.charts(), strings.TrimPrefix(digest, "sha256:"))
}

// read returns the bytes with the given digest, and them only.
func (s store) read(want string) ([]byte, state, error) {
	f, err := os.Open(s.file(want))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent, nil
	}
	if err != nil {
		return nil, absent, fmt.Errorf("read the chart store: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStream+1))
	if err != nil {
		return nil, absent, fmt.Errorf("read the chart store: %w", err)
	}
	if digest(data) != want {
		return nil, damaged, nil
	}
	return data, intact, nil
}

// write stores data under its digest. Readers and other writers, in this
// process or another one, see all of it or nothing.
func (s store) write(digest string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the chart store: %w", err)
		}
	}()
	if err := os.MkdirAll(s.charts(), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.charts(), tempPrefix+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	// The name must not reach the disk before the bytes do.
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.file(digest))
}

// tempDir makes a directory that the caller removes.
func (s store) tempDir() (string, error) {
	if err := os.MkdirAll(s.work(), 0o755); err != nil {
		return "", fmt.Errorf("write the chart store: %w", err)
	}
	dir, err := os.MkdirTemp(s.work(), tempPrefix+"*")
	if err != nil {
		return "", fmt.Errorf("write the chart store: %w", err)
	}
	return dir, nil
}

func (s store) work() string { return filepath.Join(s.dir, "work") }

// sweep removes what killed runs left behind. It is housekeeping: what it
// cannot remove stays for the next run.
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
