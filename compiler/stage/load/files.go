package load

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// Files returns the files that the evaluation of a cluster reads: files of its
// layers and imported packages, embedded files, and module files. They are
// sorted, relative to the fleet's root and slash-separated, and need not
// exist. Copies of embedded packages are excluded, because they are not read.
//
// Files outside of the root are returned separately: those of registry
// modules, whose versions are pinned, and of modules in local directories.
//
// The error contains a fault for each @embed that finds no file.
func (f *Fleet) Files(c Cluster) (inside, outside []string, err error) {
	packages, err := VendoredPackages(f.Module)
	if err != nil {
		return nil, nil, err
	}
	carried := map[string]bool{}
	for _, p := range packages {
		carried[p.Dir] = true
	}
	files := map[string]bool{}
	for _, name := range slices.Concat(moduleFiles(f.Root), c.files) {
		files[name] = true
	}
	var faults diag.List
	for _, in := range append(c.Instance.Dependencies(), c.Instance) {
		if in.Err != nil {
			faults.Add(cuediag.Faults(f.Root, in.Err, cue.Value{}).Err())
			continue // not all of its files are parsed
		}
		for i, file := range in.BuildFiles {
			name, err := filepath.Rel(f.Root, file.Filename)
			if err != nil {
				faults.Add(err)
				continue
			}
			local := filepath.IsLocal(name)
			if name = filepath.ToSlash(name); local && carried[path.Dir(name)] {
				continue
			}
			// An external module embeds files of its directory.
			root, below := f.Root, ""
			if !local {
				root, below = filepath.Dir(file.Filename), path.Dir(name)
			}
			files[name] = true
			embeds, err := cuediag.Embeds(root, in.Files[i])
			faults.Add(err)
			for _, e := range embeds {
				files[path.Join(below, e.Name)] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.IsLocal(filepath.FromSlash(name)) {
			inside = append(inside, name)
		} else {
			outside = append(outside, name)
		}
	}
	return inside, outside, diag.In(c.ID, faults.Err())
}

// moduleFiles returns the module files of the fleet and of the directories
// that replace modules.
func moduleFiles(root string) []string {
	out := []string{mainModule, localModule}
	for _, replaced := range replacedModules(root) {
		for _, with := range replaced {
			with = filepath.FromSlash(with)
			if filepath.IsAbs(with) {
				with, _ = filepath.Rel(root, with)
			}
			if with != "" {
				out = append(out, path.Join(filepath.ToSlash(with), mainModule))
			}
		}
	}
	return out
}

// checkLinks reports source files and embedded files of an instance that are
// links out of the fleet or into a .git directory, because CUE follows links.
func checkLinks(root string, in *build.Instance) error {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer tree.Close()
	top := git.Top(root)
	whole, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer whole.Close()
	var faults diag.List
	for _, i := range append(in.Dependencies(), in) {
		for _, file := range i.Files {
			name, err := filepath.Rel(root, file.Filename)
			if err != nil || !filepath.IsLocal(name) {
				faults = append(faults, moduleLinks(top, whole, file, cuediag.Pos(root, file.Pos()).File)...)
				continue // of another module
			}
			// A missing file is a package that fleetc embeds.
			if _, err := git.ResolveLink(tree, filepath.ToSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				faults.Add(outsideFault(diag.Pos{File: filepath.ToSlash(name)}, "this", err))
				continue
			}
			embeds, err := cuediag.Embeds(root, file)
			if err != nil {
				continue // CUE reports it if the field is needed
			}
			for _, e := range embeds {
				if _, err := git.ResolveLink(tree, e.Name); err != nil {
					faults.Add(outsideFault(e.Pos, e.Name, err))
				}
			}
		}
	}
	return faults.Err()
}

// moduleLinks is checkLinks for a file of another module, which faults show by name. A
// directory of the repository may replace the module.
func moduleLinks(top string, tree *os.Root, file *ast.File, name string) diag.List {
	var faults diag.List
	embeds, _ := cuediag.Embeds(top, file)
	for _, e := range embeds {
		if _, err := git.ResolveLink(tree, e.Name); err != nil {
			e.Pos.File = name
			faults.Add(outsideFault(e.Pos, e.Name, err))
		}
	}
	return faults
}

// outsideFault returns the fault of a file that must not be read.
func outsideFault(at diag.Pos, what string, err error) *diag.Diag {
	if errors.Is(err, git.ErrGit) {
		return &diag.Diag{At: []diag.Pos{at}, Msg: what + " " + err.Error(), Hint: "read another file", Cause: err}
	}
	return &diag.Diag{At: []diag.Pos{at}, Msg: what + " leads out of the fleet", Hint: "copy what it leads to into the fleet", Cause: err}
}
