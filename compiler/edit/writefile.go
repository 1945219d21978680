package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces a file of the fleet atomically and keeps its mode. It removes the
// temporary file of a killed process, NAME.new, but not the target of a link there.
func WriteFile(tree *os.Root, name string, data []byte) error {
	file := filepath.FromSlash(name)
	if err := tree.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	next := file + ".new"
	if err := tree.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := tree.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	err = errors.Join(err, out.Close())
	if old, none := tree.Stat(file); none == nil && err == nil {
		err = tree.Chmod(next, old.Mode().Perm())
	}
	if err == nil {
		err = tree.Rename(next, file)
	}
	if err != nil {
		return errors.Join(err, tree.Remove(next))
	}
	return nil
}
