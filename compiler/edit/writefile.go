package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/fleet"
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
	file, err := linkTarget(tree, filepath.FromSlash(name))
	if err == nil {
		err = tree.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = replacement(file).WriteIn(tree, data)
	}
	return fleet.WriteError(name, err)
}

// replacement returns a replacement of a file that keeps its mode.
func replacement(file string) fleet.Replacement {
	return fleet.Replacement{File: file, Temp: file + ".new"}
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
