package fleet

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Replacement replaces a file by renaming a temporary file in its place, so that readers of
// the file see the old content or the new one. If File is a symbolic link, it replaces the link.
type Replacement struct {
	File string
	Temp string      // a path in the directory of File; an existing file is removed
	Mode fs.FileMode // less the umask; 0 for that of the old file, and 0644 without one
	Sync bool        // whether the content is on disk before the rename
}

// Write replaces a file by its path. It adds the directory to the name of the temporary file.
func (r Replacement) Write(data []byte) error {
	file := r.File
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return WriteError(file, err)
	}
	defer dir.Close()
	r.File = filepath.Base(file)
	return WriteError(file, r.WriteIn(dir, data))
}

// WriteIn replaces a file below a root.
func (r Replacement) WriteIn(root *os.Root, data []byte) error {
	if err := r.Stage(root, data); err != nil {
		return err
	}
	if err := root.Rename(r.Temp, r.File); err != nil {
		return errors.Join(err, root.Remove(r.Temp))
	}
	return nil
}

// Stage only writes the temporary file. It removes it after an error.
func (r Replacement) Stage(root *os.Root, data []byte) error {
	if err := root.Remove(r.Temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(r.Temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(r.Mode, 0o644))
	if err != nil {
		return err
	}
	if old, statErr := root.Stat(r.File); r.Mode == 0 && statErr == nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil && r.Sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(r.Temp))
	}
	return nil
}

// WriteError returns an error of the file system that names the file instead of its temporary
// file or its directory. It returns faults and other errors as they are.
func WriteError(name string, err error) error {
	if _, ok := errors.AsType[*diag.Diag](err); ok {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: name, Err: e.Err}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "write", Path: name, Err: e.Err}
	}
	return err
}
