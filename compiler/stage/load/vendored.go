package load

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/load"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A VendoredPackage is embedded in fleetc: the schema, a CUE library, or the
// Jsonnet library. A fleet contains a copy for editors and for the cue and
// jsonnet commands.
type VendoredPackage struct {
	Dir   string            // directory of the copy, relative to the root: vendored, or in the module itself
	Files map[string][]byte // files of the package, by name
}

// IsPackageFile reports whether a file with the name can be part of the
// package. Other files beside it belong to the user.
func (v VendoredPackage) IsPackageFile(name string) bool {
	return slices.Contains([]string{".cue", ".libsonnet"}, path.Ext(name))
}

// VendoredPackages returns the embedded packages with their directories in a
// fleet with the given module path.
func VendoredPackages(module string) ([]VendoredPackage, error) {
	of := func(importPath string, files fs.FS) (VendoredPackage, error) {
		v := VendoredPackage{Dir: path.Join("cue.mod/pkg", importPath), Files: map[string][]byte{}}
		if rest, ok := strings.CutPrefix(importPath, module+"/"); ok {
			v.Dir = rest
		}
		entries, err := fs.ReadDir(files, ".")
		for _, e := range entries {
			if e.IsDir() || !v.IsPackageFile(e.Name()) {
				continue
			}
			if v.Files[e.Name()], err = fs.ReadFile(files, e.Name()); err != nil {
				break
			}
		}
		return v, err
	}
	types, err := of(fleetc.SchemaPath, fleetc.Schema)
	if err != nil {
		return nil, err
	}
	jsonnet, err := of(fleetc.LibraryPath, fleetc.Library)
	if err != nil {
		return nil, err
	}
	out := []VendoredPackage{types, jsonnet}
	libraries, err := fs.ReadDir(fleetc.Library, ".")
	for _, l := range libraries {
		if !l.IsDir() {
			continue
		}
		files, err := fs.Sub(fleetc.Library, l.Name())
		if err != nil {
			return nil, err
		}
		v, err := of(path.Join(fleetc.LibraryPath, l.Name()), files)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, err
}

// vendoredOverlay returns the embedded packages as files of the fleet, so that
// no copies are needed. Existing copies must be equal, because editors and the
// cue command use them.
func vendoredOverlay(root, module string) (map[string]load.Source, error) {
	packages, err := VendoredPackages(module)
	if err != nil {
		return nil, err
	}
	overlay := map[string]load.Source{}
	var faults diag.List
	for _, p := range packages {
		for name, data := range p.Files {
			overlay[filepath.Join(root, filepath.FromSlash(p.Dir), name)] = load.FromBytes(data)
		}
		faults.Add(p.check(root))
	}
	return overlay, faults.Err()
}

// check compares the fleet's copy with the embedded package.
func (v VendoredPackage) check(root string) error {
	drifted := func(name, msg string) error {
		return &diag.Diag{Code: diag.CodeGeneratedFile, At: []diag.Pos{{File: path.Join(v.Dir, name)}}, Msg: msg, Hint: "run fleetc init, which refreshes the copy"}
	}
	what := "the library " + path.Base(v.Dir)
	switch path.Base(v.Dir) {
	case "schema":
		what = "the schema"
	case "lib":
		what = "the Jsonnet library"
	}
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(v.Dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var faults diag.List
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !v.IsPackageFile(name) {
			continue
		}
		want, ok := v.Files[name]
		if !ok {
			faults.Add(drifted(name, "this file is not part of "+what+" of this fleetc, and would be unified with it"))
			continue
		}
		existing, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(v.Dir), name))
		if err != nil {
			return err
		}
		// Git for Windows writes other line ends.
		if !bytes.Equal(bytes.ReplaceAll(existing, []byte("\r\n"), []byte("\n")), want) {
			faults.Add(drifted(name, "this copy differs from "+what+" of this fleetc"))
		}
	}
	return faults.Err()
}
