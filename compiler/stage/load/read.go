package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/load"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// ReadPackage loads a CUE file or the package of a directory that is not a
// layer, in the context of the fleet of dir, so that it may import the same
// packages. name is relative to the working directory. It also returns the
// fleet's root.
func ReadPackage(dir, name string) (root string, in *build.Instance, err error) {
	root, module, err := Root(dir)
	if err != nil {
		return "", nil, err
	}
	overlay, err := overlay(root, module, nil)
	if err != nil {
		return "", nil, err
	}
	abs, err := filepath.Abs(name)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, &diag.Diag{Code: diag.CodeNoMatch, Msg: "no file " + name, Hint: "name a CUE file, or a directory of the fleet with a package"}
	}
	if err != nil {
		return "", nil, err
	}
	config := &load.Config{Dir: root, ModuleRoot: root, Package: "*", Overlay: overlay, ParseFile: parseFile}
	if info, err := os.Stat(abs); err != nil {
		return "", nil, err
	} else if info.IsDir() {
		rel, err := filepath.Rel(root, abs)
		if err != nil || !filepath.IsLocal(rel) {
			return "", nil, &diag.Diag{Code: diag.CodeOutsideFleet, Msg: fmt.Sprintf("the directory %s is outside of the fleet", name), Hint: "name a file, or a directory of the fleet"}
		}
		abs = "./" + filepath.ToSlash(rel)
	}
	in = load.Instances([]string{abs}, config)[0]
	if in.Err != nil {
		return "", nil, diag.CUEFaults(root, in.Err, cue.Value{}).Err()
	}
	return root, in, nil
}
