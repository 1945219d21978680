package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// writeFiles replaces existing files below a root, and keeps their modes. before has their
// contents; a file with another content is a fault, because another program changed it.
// All new contents are on disk before the first file is replaced: a process that is killed
// leaves each file as it was or as it will be, and no partial one. If a file cannot be
// replaced, the files before it get their contents back.
func writeFiles(root string, before, after map[string][]byte) error {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer tree.Close()
	names := slices.Sorted(maps.Keys(after))
	var staged []fleet.Replacement
	for _, name := range names {
		var s fleet.Replacement
		if s, err = stage(tree, name, before[name], after[name]); err != nil {
			err = fleet.WriteError(name, err)
			break
		}
		staged = append(staged, s)
	}
	done := 0
	for err == nil && done < len(staged) {
		err = tree.Rename(staged[done].Temp, staged[done].File)
		switch {
		case err == nil:
			done++
		case errors.Is(err, fs.ErrNotExist): // another fleetc writes the same files
			err = changedFile(names[done], err)
		default:
			err = fleet.WriteError(names[done], err)
		}
	}
	if err == nil {
		return nil
	}
	for i, s := range staged {
		if i < done {
			err = errors.Join(err, WriteFile(root, names[i], before[names[i]]))
		} else {
			if missing := tree.Remove(s.Temp); !errors.Is(missing, fs.ErrNotExist) {
				err = errors.Join(err, missing)
			}
		}
	}
	return err
}

// stage writes the new content of a file beside it.
func stage(tree *os.Root, name string, before, after []byte) (r fleet.Replacement, err error) {
	file, err := linkTarget(tree, filepath.FromSlash(name))
	if err != nil {
		return r, err
	}
	if now, err := tree.ReadFile(file); err != nil || !bytes.Equal(now, before) {
		return r, changedFile(name, err)
	}
	r = replacement(file)
	r.Sync = true
	return r, r.Stage(tree, after)
}

// changedFile returns the fault of a file that another program has changed.
func changedFile(name string, err error) error {
	return &diag.Diag{
		Code: diag.CodeChangedFile, At: []diag.Pos{{File: name}},
		Msg:   "another program changed the file during the command; nothing was written",
		Hint:  "run the command again",
		Cause: err,
	}
}

// ReadFiles reads the files of edits below the root as they are now, for [writeFiles].
func ReadFiles(root string, edits load.Edits) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name := range edits {
		var err error
		if out[name], err = ReadFile(root, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

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
