package edit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// cueLanguage is the version of the CUE language of new fleets.
const cueLanguage = "v0.17.0"

// rootLayer is the text of the root layer of a new fleet.
const rootLayer = `// The root layer: configuration of every cluster.
package fleet

import "github.com/fleetc/fleetc/schema"

cluster?:     schema.#Cluster
environment?: string
releases:     schema.#Releases
secrets?:     schema.#Secrets
stages: schema.#Stages & [{name: "default"}]
`

// Init creates a fleet in the directory, or completes an existing one: it writes
// cue.mod/module.cue and environments/fleet.cue if they are missing, and updates the
// vendored copies of the schema and the libraries. A new fleet needs a module path. It
// returns the files that it wrote or removed, relative to the fleet's root.
func Init(c *compiler.Compiler, module string) ([]string, error) {
	dir := cmp.Or(c.Dir, ".")
	root, existing, err := load.Root(dir)
	isNew := errors.Is(err, load.ErrNoFleet)
	switch {
	case err != nil && !isNew:
		return nil, err
	case isNew && module == "":
		return nil, &diag.Diag{
			Code: diag.CodeArguments,
			Msg:  "a new fleet needs a module path, which also identifies its exports",
			Hint: "run fleetc init example.com/infra, with a name of your own",
		}
	case isNew:
		root = dir
		if err := load.CheckModule(module); err != nil {
			return nil, err
		}
	case module != "" && module != existing:
		return nil, &diag.Diag{
			Code: diag.CodeModulePath,
			At:   []diag.Pos{{File: "cue.mod/module.cue"}}, Msg: "the fleet's module is called " + existing + ", not " + module,
			Hint: "run fleetc init without a module path",
		}
	}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeFileSystem, Msg: "there is no directory " + root, Hint: "create it first", Cause: err}
	}
	defer tree.Close()
	module = cmp.Or(existing, module)
	var changed []string
	if isNew {
		text := fmt.Sprintf("module: %q\nlanguage: version: %q\n", module, cueLanguage)
		if err := ensure(tree, "cue.mod/module.cue", []byte(text), &changed); err != nil {
			return changed, err
		}
	}
	packages, err := load.VendoredPackages(module)
	if err != nil {
		return changed, err
	}
	for _, p := range packages {
		if err := copyVendored(tree, p, &changed); err != nil {
			return changed, err
		}
	}
	if info, err := tree.Stat("environments"); err == nil && !info.IsDir() {
		return changed, &diag.Diag{Code: diag.CodeNotOwnFile, At: []diag.Pos{{File: "environments"}}, Msg: "expected a directory with layers, got a file", Hint: "move it away"}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return changed, err
	}
	return changed, ensure(tree, "environments/fleet.cue", []byte(rootLayer), &changed)
}

// copyVendored updates the fleet's copy of an embedded package. It does nothing if the package is
// part of the fleet's module.
func copyVendored(tree *os.Root, p load.VendoredPackage, changed *[]string) error {
	if !strings.HasPrefix(p.Dir, "cue.mod/") {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		if err := ensure(tree, path.Join(p.Dir, name), p.Files[name], changed); err != nil {
			return err
		}
	}
	existing, err := fs.ReadDir(tree.FS(), p.Dir)
	if err != nil {
		return err
	}
	for _, e := range existing {
		file := path.Join(p.Dir, e.Name())
		if e.IsDir() || !p.IsPackageFile(e.Name()) || p.Files[e.Name()] != nil {
			continue
		}
		if err := tree.Remove(filepath.FromSlash(file)); err != nil {
			return err
		}
		*changed = append(*changed, file)
	}
	return nil
}

// ensure writes a file, unless it already has the data, with any line ends.
func ensure(tree *os.Root, name string, data []byte, changed *[]string) error {
	if existing, err := tree.ReadFile(filepath.FromSlash(name)); err == nil && bytes.Equal(bytes.ReplaceAll(existing, []byte("\r\n"), []byte("\n")), data) {
		return nil
	}
	if err := WriteFile(tree.Name(), name, data); err != nil {
		return err
	}
	*changed = append(*changed, name)
	return nil
}
