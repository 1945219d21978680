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

// stateDir creates a directory for a fleet, which stays locked while the fleet
// runs. It removes the directories of killed processes.
func stateDir(parent string) (dir string, unlock func() error, err error) {
	if err := sweep(parent); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(parent, statePrefix)
	if err != nil {
		return "", nil, err
	}
	// The lock exists only while it is held, so no other process sweeps in between.
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

// sweep removes the files of killed processes.
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
			continue // being swept by another process, or another user's
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

// keepLogs removes the files of a fleet that has ended, except its logs.
func (f *Fleet) keepLogs() error {
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
