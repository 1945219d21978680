package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/mod/modfile"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

const (
	mainModule  = "cue.mod/module.cue"
	localModule = "cue.mod/local-module.cue"
)

// replacedModules returns the directories that replace modules, as written, by
// module file.
func replacedModules(root string) map[string][]string {
	// CUE reports errors in these files.
	data, _ := os.ReadFile(filepath.Join(root, mainModule))
	module, err := modfile.ParseNonStrict(data, mainModule)
	if err != nil {
		return nil
	}
	modules := map[string]*modfile.File{mainModule: module}
	if data, err = os.ReadFile(filepath.Join(root, localModule)); err == nil {
		if local, err := modfile.ParseLocal(data, localModule, module); err == nil {
			modules[localModule] = local
		}
	}
	out := map[string][]string{}
	for name, m := range modules {
		for _, d := range m.Deps {
			if d.ReplaceWith != "" {
				out[name] = append(out[name], d.ReplaceWith)
			}
		}
	}
	return out
}

// checkReplaced reports replacing directories outside of the repository or in
// a .git directory.
func checkReplaced(root string) error {
	var faults diag.List
	top := git.Top(root)
	for file, all := range replacedModules(root) {
		for _, with := range all {
			if file == mainModule {
				faults.Add(&diag.Diag{
					Code: diag.CodeModulePath,
					At:   []diag.Pos{lineOf(root, file, with)}, Msg: "module.cue cannot replace a module by another",
					Hint: "move the line with replaceWith to " + localModule,
				})
				continue
			}
			if !filepath.IsAbs(with) && !strings.HasPrefix(with, ".") {
				continue // a registry module
			}
			dir := filepath.FromSlash(with)
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(root, dir)
			}
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				dir = real
			}
			rel, err := filepath.Rel(top, dir)
			if err == nil && filepath.IsLocal(rel) && !git.IsDotGit(filepath.ToSlash(rel)) {
				continue
			}
			d := &diag.Diag{
				Code: diag.CodeModulePath,
				At:   []diag.Pos{lineOf(root, file, with)},
				Msg:  fmt.Sprintf("the module in %q is outside of the repository", diag.Visible(with, diag.MaxText)),
				Hint: "name a directory of the repository in replaceWith",
			}
			if err == nil && filepath.IsLocal(rel) {
				d.Msg = fmt.Sprintf("the module in %q is in git's own directory", diag.Visible(with, diag.MaxText))
			}
			faults.Add(d)
		}
	}
	return faults.Err()
}

// lineOf returns the position of a quoted text in a file.
func lineOf(root, file, text string) diag.Pos {
	data, _ := os.ReadFile(filepath.Join(root, file))
	before, _, found := strings.Cut(string(data), `"`+text+`"`)
	if !found {
		return diag.Pos{File: file}
	}
	return diag.Pos{File: file, Line: 1 + strings.Count(before, "\n"), Col: len(before) - strings.LastIndexByte(before, '\n')}
}
