package edit

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

const environments = "environments" // directory of the layers

// filesToFix returns the CUE files of the fleet at the paths, all without paths.
func filesToFix(root, module string, links map[string]string, paths []string) ([]string, error) {
	all, err := loadedFiles(root, module, links)
	if err != nil || len(paths) == 0 {
		return all, err
	}
	chosen := map[string]bool{}
	for _, p := range paths {
		target, err := load.ResolvePath(p)
		if errors.Is(err, fs.ErrNotExist) {
			if to, err := os.Readlink(p); err == nil {
				return nil, linkFault(p, to, "which does not exist")
			}
			return nil, &diag.Diag{Code: diag.CodeNoMatch, Msg: "no file " + p, Hint: "name files by their paths from the working directory, or from that of -C", Cause: err}
		}
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, target)
		if err != nil {
			return nil, err
		}
		dir, found := filepath.ToSlash(rel), false
		for _, name := range all {
			if dir == "." || fleet.IsWithin(name, dir) {
				chosen[name], found = true, true
			}
		}
		if to, err := os.Readlink(p); err == nil && !found {
			return nil, linkFault(p, to, "which has no CUE files of the fleet")
		}
		if !found {
			return nil, &diag.Diag{
				Code: diag.CodeNoMatch, Msg: p + " has no CUE files of the fleet",
				Hint: "name files that end in .cue, or directories with them, below environments or in a package that they import",
			}
		}
	}
	return slices.Sorted(maps.Keys(chosen)), nil
}

// linkFault returns the fault of a symbolic link without a file to fix.
func linkFault(link, to, why string) error {
	return &diag.Diag{Code: diag.CodeNoMatch, Msg: link + " is a symbolic link to " + to + ", " + why, Hint: "point it to a CUE file of the fleet, or name another file"}
}

// loadedFiles returns the CUE files of the module at root that the compiler can load: those
// below environments, and those of packages that they import. A library without environments
// has all files of its module. links are the symbolic links of layers, see [layerLinks].
func loadedFiles(root, module string, links map[string]string) ([]string, error) {
	all, err := cueFiles(root)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, environments)); errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	headers := headersOf(root, all)
	loaded := map[string]bool{}
	var todo []string
	add := func(name string) {
		if !loaded[name] {
			loaded[name] = true
			todo = append(todo, name)
		}
	}
	for _, name := range all {
		if fleet.IsWithin(name, environments) && !strings.Contains(name, "/testdata/") {
			add(name)
		}
	}
	for _, target := range links {
		if slices.Contains(all, target) {
			add(target)
		}
	}
	read := map[string]bool{} // imports
	for ; len(todo) > 0; todo = todo[1:] {
		for spec := range headers[todo[0]].ImportSpecs() {
			at := ast.ParseImportPath(stringOf(spec.Path))
			if !fleet.IsWithin(at.Path, module) || read[at.String()] {
				continue
			}
			read[at.String()] = true
			dir := strings.TrimPrefix(strings.TrimPrefix(at.Path, module), "/")
			for _, name := range all { // CUE also reads the package's files of the directories above
				if above := path.Dir(name); (above == "." || fleet.IsWithin(dir, above)) && headers[name].PackageName() == at.Qualifier {
					add(name)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(loaded)), nil
}

// layerLinks returns the targets of the symbolic links in layers to files of the fleet.
func layerLinks(root string) (map[string]string, error) {
	out := map[string]string{}
	if _, err := os.Stat(filepath.Join(root, environments)); errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	layers, err := load.Layers(root)
	if err != nil {
		return nil, err
	}
	for _, l := range layers {
		for _, name := range l.Files {
			target, err := load.ResolvePath(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(root, target)
			if rel = filepath.ToSlash(rel); err == nil && rel != name {
				out[name] = rel
			}
		}
	}
	return out, nil
}

// headersOf returns the files up to their imports. A file that does not parse has none.
func headersOf(root string, names []string) map[string]*ast.File {
	out := map[string]*ast.File{}
	for _, name := range names {
		file, err := parser.ParseFile(filepath.Join(root, filepath.FromSlash(name)), nil, parser.ImportsOnly)
		if err != nil {
			file = &ast.File{}
		}
		out[name] = file
	}
	return out
}
