package clusters

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	statePrefix = "fleetc-clusters-"
	lockName    = "lock"
	keepName    = "kept"
)

// stateDir makes a directory for a fleet. The directory is locked for as long
// as the fleet runs; those of processes that were killed are removed.
func stateDir(parent string) (dir string, unlock func() error, err error) {
	if err := sweep(parent); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(parent, statePrefix)
	if err != nil {
		return "", nil, err
	}
	// The lock is there only when it is held, so nobody sweeps in between.
	early := filepath.Join(dir, lockName+".new")
	unlock, ok, err := tryLock(early)
	if err == nil && !ok {
		err = fmt.Errorf("%s is locked", early)
	}
	if err == nil {
		err = os.Rename(early, filepath.Join(dir, lockName))
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, unlock, nil
}

// sweep removes what fleets left that nobody stopped.
func sweep(parent string) error {
	dirs, err := filepath.Glob(filepath.Join(parent, statePrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		lock := filepath.Join(dir, lockName)
		if !exists(lock) || exists(filepath.Join(dir, keepName)) {
			continue
		}
		unlock, ok, err := tryLock(lock)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // another one is sweeping, or it is another user's
		}
		if err != nil {
			return err
		}
		if ok {
			if err := errors.Join(os.RemoveAll(dir), unlock()); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep leaves the logs of a fleet that has ended, without keys and data.
func (f *Fleet) keep() error {
	err := filepath.WalkDir(f.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".log") {
			return err
		}
		return os.Remove(path)
	})
	return errors.Join(err, os.WriteFile(f.file(keepName), nil, 0o600))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
