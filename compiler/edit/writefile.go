package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// ReadFile reads a file of the fleet at root.
func ReadFile(root, name string) ([]byte, error) {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	return tree.ReadFile(filepath.FromSlash(name))
}

// WriteFile replaces a file of the fleet at root atomically and keeps its mode. It removes
// the temporary file of a killed process, NAME.new, but not the target of a link there.
func WriteFile(root, name string, data []byte) error {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer tree.Close()
	return writeError(name, replaceFile(tree, name, data))
}

// writeError returns an error that names the file of the fleet instead of its temporary
// file or its directory. A fault stays as it is.
func writeError(name string, err error) error {
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

// replaceFile is [WriteFile] without the name of the file in errors.
func replaceFile(tree *os.Root, name string, data []byte) error {
	file, err := linkTarget(tree, filepath.FromSlash(name))
	if err != nil {
		return err
	}
	if err := tree.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	next, err := writeBeside(tree, file, data, false)
	if err != nil {
		return err
	}
	if err := tree.Rename(next, file); err != nil {
		return errors.Join(err, tree.Remove(next))
	}
	return nil
}

// writeBeside writes the new content of a file to NAME.new, with the mode of the file. sync
// says whether to wait until it is on disk.
func writeBeside(tree *os.Root, file string, data []byte, sync bool) (next string, err error) {
	next = file + ".new"
	if err := removeIfExists(tree, next); err != nil {
		return "", err
	}
	out, err := tree.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	if _, err = out.Write(data); sync {
		err = errors.Join(err, out.Sync())
	}
	err = errors.Join(err, out.Close())
	if old, none := tree.Stat(file); none == nil && err == nil {
		err = tree.Chmod(next, old.Mode().Perm())
	}
	if err != nil {
		return "", errors.Join(err, tree.Remove(next))
	}
	return next, nil
}

// removeIfExists removes a file.
func removeIfExists(tree *os.Root, file string) error {
	if err := tree.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// linkTarget returns the file to which a symbolic link leads below the root; the name itself
// if it is not a link.
func linkTarget(tree *os.Root, file string) (string, error) {
	const maxLinks = 10
	for range maxLinks {
		info, err := tree.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return file, nil
		}
		if err != nil {
			return "", err
		}
		to, err := tree.Readlink(file)
		if err != nil {
			return "", err
		}
		link := file
		if file = filepath.Join(filepath.Dir(file), to); filepath.IsAbs(to) || !filepath.IsLocal(file) {
			return "", fmt.Errorf("%s is a symbolic link to %s: use a relative link to a file in the repository", link, to)
		}
	}
	return "", fmt.Errorf("%s: too many symbolic links", file)
}
