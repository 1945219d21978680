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

	"github.com/fleetc/fleetc/compiler/stage/load"
)

// cueFile is a CUE file of a module.
type cueFile struct {
	root, name string // name is relative to the root, and slash-separated
	file       string // absolute
}

// Format formats CUE files. names are paths relative to the working directory; if there are
// none, it formats all files of the fleet. It returns the files that were not formatted,
// named as in [diag.Pos], and writes them unless check is true. It writes nothing if there
// is a fault.
func Format(c *compiler.Compiler, check bool, files ...string) ([]string, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil && len(files) == 0 {
		return nil, err
	}
	var sources []cueFile
	var faults diag.List
	if len(files) == 0 {
		names, err := cueFiles(root)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			sources = append(sources, cueFile{root, name, filepath.Join(root, filepath.FromSlash(name))})
		}
	}
	for _, file := range files {
		s, err := sourceOf(file)
		faults.Add(err)
		if err == nil && !slices.Contains(sources, s) {
			sources = append(sources, s)
		}
	}
	var changed []cueFile
	var formatted [][]byte
	for _, s := range sources {
		text, err := os.ReadFile(s.file)
		if err != nil {
			return nil, err
		}
		out, err := FormatSource(root, s.file, text)
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
			if err := WriteFile(s.root, s.name, formatted[i]); err != nil {
				return nil, err
			}
		}
		if s.root != root { // of another module
			s.name = s.file
		}
		names = append(names, s.name)
	}
	return names, nil
}

// sourceOf returns the source for a path of the command line.
func sourceOf(file string) (cueFile, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cueFile{}, &diag.Diag{Code: diag.CodeNoMatch, Msg: "no file " + file, Hint: "name files by their paths from the working directory, or from that of -C", Cause: err}
	case err != nil:
		return cueFile{}, err
	case !info.Mode().IsRegular():
		return cueFile{}, &diag.Diag{Code: diag.CodeNoMatch, Msg: file + " is not a file", Hint: "name files, or leave out the names to format the whole fleet"}
	}
	root, _, err := load.Root(filepath.Dir(file))
	if err != nil {
		return cueFile{}, err
	}
	target, err := load.ResolvePath(file)
	if err != nil {
		return cueFile{}, err
	}
	name, err := filepath.Rel(root, target)
	if err != nil || !filepath.IsLocal(name) {
		return cueFile{}, &diag.Diag{Code: diag.CodeOutsideFleet, Msg: file + " points outside of the fleet's directory", Hint: "name the file itself, from the fleet that it is in"}
	}
	s := cueFile{root, filepath.ToSlash(name), target}
	if !isCUE(s.name) {
		return cueFile{}, &diag.Diag{Code: diag.CodeNoMatch, Msg: s.name + " is not a CUE file of the fleet", Hint: "name files that end in .cue and are not in cue.mod"}
	}
	return s, nil
}
