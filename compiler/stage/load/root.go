package load

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// ErrNoFleet is the cause of the fault that [Root] returns outside of a fleet.
var ErrNoFleet = errors.New("no fleet")

// CheckModule returns a fault for a path that is not a valid CUE module path.
func CheckModule(path string) error {
	if err := module.CheckPathWithoutVersion(path); err != nil {
		return &diag.Diag{Code: diag.CodeModulePath, Msg: "CUE does not accept this module path: " + err.Error(), Hint: "write it like a URL without its scheme: example.com/infra", Cause: err}
	}
	return nil
}

// Root returns the root of the CUE module around dir, with links resolved, and
// the module's path.
func Root(dir string) (root, module string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", "", &diag.Diag{Code: diag.CodeNoFleet, Msg: fmt.Sprintf("no directory %s", dir), Hint: "name the fleet's directory with -C", Cause: err}
	}
	for at := abs; ; at = filepath.Dir(at) {
		file := filepath.Join(at, "cue.mod", "module.cue")
		if info, err := os.Stat(file); err == nil && isSpecial(info.Mode()) {
			return "", "", specialFile(diag.Pos{File: file}, file)
		}
		data, err := os.ReadFile(file)
		if err == nil {
			for _, name := range []string{moduleFile, localModule} {
				if err := checkLink(at, filepath.Join(at, name)); err != nil {
					return at, "", outsideFault(diag.Pos{File: name}, "this file", err)
				}
			}
			module, err := modulePath(data)
			return at, module, err
		}
		if !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
			return "", "", err
		}
		if at == filepath.Dir(at) {
			return "", "", &diag.Diag{
				Code:  diag.CodeNoFleet,
				Msg:   "no fleet: neither " + dir + " nor a directory above it has cue.mod/module.cue",
				Hint:  "run fleetc init in the fleet's directory, or name it with -C",
				Cause: ErrNoFleet,
			}
		}
	}
}

// isNotDir reports whether a part of the path is a file.
func isNotDir(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && strings.Contains(pe.Err.Error(), "not a directory")
}

func modulePath(data []byte) (string, error) {
	f, err := modfile.ParseNonStrict(data, moduleFile)
	if err != nil {
		return "", moduleFault(data, err)
	}
	for _, dep := range slices.Sorted(maps.Keys(f.Deps)) {
		if _, _, ok := ast.SplitPackageVersion(dep); !ok {
			return "", moduleFault(data, fmt.Errorf("no major version in %q", dep))
		}
	}
	module, _, _ := ast.SplitPackageVersion(f.QualifiedModule())
	return module, nil
}
