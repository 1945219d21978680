package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// The files of a CUE module.
const (
	moduleFile  = "cue.mod/module.cue"
	localModule = "cue.mod/local-module.cue"
)

// replacedModules returns the directories that replace modules, as written, by
// module file. It returns those of module.cue if local-module.cue is invalid.
func replacedModules(root string) (map[string][]string, error) {
	data, _ := os.ReadFile(filepath.Join(root, moduleFile))
	base, err := modfile.ParseNonStrict(data, moduleFile)
	if err != nil {
		return nil, nil // Root reports it
	}
	modules := map[string]*modfile.File{moduleFile: base}
	data, err = os.ReadFile(filepath.Join(root, localModule))
	if err == nil {
		modules[localModule], err = modfile.ParseLocal(data, localModule, base)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
		delete(modules, localModule)
		d := &diag.Diag{
			Code: diag.CodeModulePath, At: []diag.Pos{{File: localModule}}, Msg: diag.Brief(err),
			Hint: `replace modules with directories of the repository: deps: "MODULE@v0": replaceWith: "./DIRECTORY"`, Cause: err,
		}
		if at := cueerrors.Positions(err); len(at) > 0 {
			d.At = []diag.Pos{{File: localModule, Line: at[0].Line(), Col: at[0].Column()}}
		}
		err = d
	}
	out := map[string][]string{}
	for name, m := range modules {
		for _, d := range m.Deps {
			if d.ReplaceWith != "" {
				out[name] = append(out[name], d.ReplaceWith)
			}
		}
	}
	return out, err
}

// checkReplaced reports replacing directories outside of the repository or in
// a .git directory, and faults in local-module.cue.
func checkReplaced(root string) error {
	var faults diag.List
	top := git.Top(root)
	replaced, err := replacedModules(root)
	faults.Add(err)
	for file, all := range replaced {
		for _, with := range all {
			if file == moduleFile {
				faults.Add(&diag.Diag{
					Code: diag.CodeModulePath,
					At:   []diag.Pos{lineOf(root, file, with)}, Msg: "module.cue cannot replace modules",
					Hint: "move the line with replaceWith to " + localModule,
				})
				continue
			}
			if !filepath.IsAbs(with) && !strings.HasPrefix(with, ".") {
				if _, err := module.ParseVersion(with); err != nil {
					faults.Add(&diag.Diag{
						Code: diag.CodeModulePath, At: []diag.Pos{lineOf(root, file, with)}, Msg: fmt.Sprintf("%q is not a directory", diag.Visible(with, diag.MaxText)),
						Hint: "name a directory of the repository in replaceWith, which begins with ./ or ../", Cause: err,
					})
				}
				continue
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
				if err := checkLink(root, filepath.Join(dir, moduleFile)); err != nil {
					faults.Add(outsideFault(lineOf(root, file, with), moduleFile+" of this module", err))
				}
				continue
			}
			d := &diag.Diag{
				Code: diag.CodeModulePath,
				At:   []diag.Pos{lineOf(root, file, with)},
				Msg:  fmt.Sprintf("the module in %q is outside of the repository", diag.Visible(with, diag.MaxText)),
				Hint: "name a directory of the repository in replaceWith",
			}
			if err == nil && filepath.IsLocal(rel) {
				d.Msg = fmt.Sprintf("the module in %q is inside .git", diag.Visible(with, diag.MaxText))
			}
			faults.Add(d)
		}
	}
	return faults.Err()
}

// lineOf returns the position of a quoted text in a file.
func lineOf(root, file, text string) diag.Pos {
	data, _ := os.ReadFile(filepath.Join(root, file))
	return quotedPos(data, file, `"`+text+`"`)
}
