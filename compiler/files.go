package compiler

import (
	"cmp"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/load"
)

// FileNames returns how files in faults are named for a user in the working
// directory, when the fleet is that around dir: relative to the working
// directory.
// Those of a git commit have its name in front: main:environments/fleet.cue.
func FileNames(dir string) func(file string) string {
	root, _, err := load.Root(cmp.Or(dir, "."))
	if err != nil {
		root = ""
	}
	here, err := filepath.Abs(".")
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	return func(file string) string {
		if of, ok := strings.CutPrefix(file, commitFile); ok {
			return of
		}
		if !path.IsAbs(file) && root != "" {
			file = filepath.Join(root, filepath.FromSlash(file))
		}
		if rel, relErr := filepath.Rel(here, file); err == nil && relErr == nil && filepath.IsAbs(file) {
			return rel
		}
		return file
	}
}

// write writes a file of the fleet at once: a kill leaves the old or the new.
func write(tree *os.Root, name string, data []byte) error {
	file := filepath.FromSlash(name)
	if err := tree.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	next := file + ".new"
	if err := tree.WriteFile(next, data, 0o644); err != nil {
		return err
	}
	if err := tree.Rename(next, file); err != nil {
		return errors.Join(err, tree.Remove(next))
	}
	return nil
}
