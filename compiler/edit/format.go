package edit

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/format"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// A source is a CUE file of a module.
type source struct {
	root, name string // name is relative to the root, and slash-separated
	file       string // absolute
}

// Format brings CUE files into the standard format: those named, by their paths
// from the working directory, each with the module that it is in; when none is,
// all of the fleet around c.Dir. It returns those that are not in it, as
// [diag.Pos] names files, and writes them unless check is true. Nothing is
// written when there is a fault.
func Format(c *compiler.Compiler, check bool, files ...string) ([]string, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil && len(files) == 0 {
		return nil, err
	}
	var sources []source
	var faults diag.List
	if len(files) == 0 {
		names, err := format.Files(root)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			sources = append(sources, source{root, name, filepath.Join(root, filepath.FromSlash(name))})
		}
	}
	for _, file := range files {
		s, err := sourceOf(file)
		faults.Add(err)
		if err == nil && !slices.Contains(sources, s) {
			sources = append(sources, s)
		}
	}
	var changed []source
	var formatted [][]byte
	for _, s := range sources {
		text, err := os.ReadFile(s.file)
		if err != nil {
			return nil, err
		}
		out, err := format.Source(root, s.file, text)
		faults.Add(err)
		if err == nil && !bytes.Equal(out, text) {
			changed = append(changed, s)
			formatted = append(formatted, out)
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var names []string
	for i, s := range changed {
		if !check {
			if err := s.write(formatted[i]); err != nil {
				return nil, err
			}
		}
		names = append(names, s.seenFrom(root))
	}
	return names, nil
}

// sourceOf returns the source that a path of the command line leads to.
func sourceOf(file string) (source, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return source{}, &diag.Diag{Msg: "no file " + file, Hint: "name files by their paths from the working directory, or from that of -C", Cause: err}
	case err != nil:
		return source{}, err
	case !info.Mode().IsRegular():
		return source{}, &diag.Diag{Msg: file + " is no file", Hint: "name files, or none for all of the fleet"}
	}
	root, _, err := load.Root(filepath.Dir(file))
	if err != nil {
		return source{}, err
	}
	target, err := load.ResolvePath(file)
	if err != nil {
		return source{}, err
	}
	name, err := filepath.Rel(root, target)
	if err != nil || !filepath.IsLocal(name) {
		return source{}, &diag.Diag{Msg: file + " leads out of the fleet", Hint: "name the file itself, from the fleet that it is in"}
	}
	s := source{root, filepath.ToSlash(name), target}
	if !format.IsCUE(s.name) {
		return source{}, &diag.Diag{Msg: s.name + " is no CUE file of the fleet", Hint: "name files that end in .cue and are not in cue.mod"}
	}
	return s, nil
}

// seenFrom names the source as seen from the fleet's root, which is empty when
// there is none.
func (s source) seenFrom(root string) string {
	if s.root == root {
		return s.name
	}
	return s.file
}

func (s source) write(text []byte) error {
	tree, err := os.OpenRoot(s.root)
	if err != nil {
		return err
	}
	defer tree.Close()
	return WriteFile(tree, s.name, text)
}
