package load

import (
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// isSpecial reports whether a file is neither a regular file, a directory nor a link.
// Reading it may block, such as a named pipe.
func isSpecial(mode fs.FileMode) bool {
	return mode&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice|fs.ModeCharDevice|fs.ModeIrregular) != 0
}

// specialFile returns the fault of a special file, at a place.
func specialFile(at diag.Pos, name string) *diag.Diag {
	const what = "is a named pipe, a socket or a device, not a regular file"
	d := &diag.Diag{Code: diag.CodeFileSystem, At: []diag.Pos{at}, Msg: "this " + what, Hint: "remove it, or replace it with a regular file"}
	if at.File != name {
		d.Msg = "the embedded file " + diag.Visible(name, diag.MaxText) + " " + what
	}
	return d
}

// CheckRegular returns a fault if a file of the fleet is a special file.
func CheckRegular(name string, mode fs.FileMode) error {
	if !isSpecial(mode) {
		return nil
	}
	return specialFile(diag.Pos{File: name}, name)
}

// readByCUE are the extensions of files that CUE reads in the directories of packages and
// in the root (cuelang.org/go/internal/filetypes).
var readByCUE = []string{
	".cue", ".json", ".jsonl", ".ldjson", ".ndjson", ".yaml", ".yml", ".toml", ".xml", ".txt", ".go", ".wasm", ".proto", ".textproto", ".textpb",
}

// checkSpecial returns a fault for a special file in the root, of which CUE reads all data
// files, or in a package of the fleet's module that layers import, directly or not: CUE
// would wait for its content.
func checkSpecial(root, module string, imports map[string]bool) error {
	var faults diag.List
	seen := map[string]bool{}
	dirs := []string{"."}
	addImports := func(imports iter.Seq[string]) {
		for name := range imports {
			if dir, ok := directoryOf(module, name); ok {
				dirs = append(dirs, dir)
			}
		}
	}
	addImports(slices.Values(slices.Sorted(maps.Keys(imports))))
	for len(dirs) > 0 {
		dir := dirs[0]
		dirs = dirs[1:]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			continue // CUE reports it
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
			if err == nil && isSpecial(info.Mode()) && slices.Contains(readByCUE, path.Ext(name)) {
				faults.Add(specialFile(diag.Pos{File: name}, name))
			}
			if dir == "." || path.Ext(name) != ".cue" || err != nil || !info.Mode().IsRegular() {
				continue
			}
			file, _ := parser.ParseFile(filepath.Join(root, filepath.FromSlash(name)), nil, parser.ImportsOnly)
			addImports(importsOf(file))
		}
	}
	return faults.Err()
}

// directoryOf returns the directory of a package of the module by its import path.
func directoryOf(module, imported string) (dir string, ok bool) {
	module, _, _ = strings.Cut(module, "@")
	imported, _, _ = strings.Cut(imported, ":")
	dir, ok = strings.CutPrefix(imported, module+"/")
	return path.Clean(dir), ok && filepath.IsLocal(dir)
}

// importsOf returns the paths that a file imports; none for nil.
func importsOf(file *ast.File) iter.Seq[string] {
	return func(yield func(string) bool) {
		if file == nil {
			return
		}
		for spec := range file.ImportSpecs() {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil && !yield(name) {
				return
			}
		}
	}
}
