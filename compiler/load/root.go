package load

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/schema"
)

// ErrNoFleet is in what [Root] returns when no directory is a fleet's root.
var ErrNoFleet = errors.New("no fleet")

// CheckModule returns a fault when the path is not one that CUE takes for a
// module.
func CheckModule(path string) error {
	if err := module.CheckPathWithoutVersion(path); err != nil {
		return &diag.Diag{Msg: "CUE does not take this module path: " + err.Error(), Hint: "write it like a URL without its scheme: example.com/infra", Cause: err}
	}
	return nil
}

// Root returns the root of the CUE module that dir is in, with all links
// resolved, and the module's path.
func Root(dir string) (root, module string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", "", &diag.Diag{Msg: fmt.Sprintf("no directory %s", dir), Hint: "name the fleet's directory with -C", Cause: err}
	}
	for at := abs; ; at = filepath.Dir(at) {
		file := filepath.Join(at, "cue.mod", "module.cue")
		data, err := os.ReadFile(file)
		if err == nil {
			module, err := modulePath(data)
			return at, module, err
		}
		if !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
			return "", "", err
		}
		if at == filepath.Dir(at) {
			return "", "", &diag.Diag{
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
	const file = "cue.mod/module.cue"
	f, err := modfile.ParseNonStrict(data, file)
	if err != nil {
		return "", &diag.Diag{At: []diag.Pos{{File: file}}, Msg: err.Error(), Hint: "give it module and language.version, as cue mod init writes them"}
	}
	module, _, _ := ast.SplitPackageVersion(f.QualifiedModule())
	return module, nil
}

// SchemaDir returns where the fleet's copy of the schema is, relative to the
// root: vendored, or part of the module itself.
func SchemaDir(module string) string {
	if rest, ok := strings.CutPrefix(schema.ImportPath, module+"/"); ok {
		return rest
	}
	return path.Join("cue.mod/pkg", schema.ImportPath)
}

// schemaOverlay returns the embedded schema as files of the fleet, so that it
// needs no copy on disk. A copy that is there, for the sake of editors and of
// the cue command, must be the same: they would otherwise check something
// else than the compiler does.
func schemaOverlay(root, module string) (map[string]load.Source, error) {
	dir := SchemaDir(module)
	names, err := fs.Glob(schema.Files, "*.cue")
	if err != nil {
		return nil, err
	}
	overlay := map[string]load.Source{}
	for _, name := range names {
		data, err := schema.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		overlay[filepath.Join(root, filepath.FromSlash(dir), name)] = load.FromBytes(data)
	}
	return overlay, checkVendored(root, dir)
}

// checkVendored compares the fleet's copy of the schema with the embedded one.
func checkVendored(root, dir string) error {
	drifted := func(name, msg string) error {
		return &diag.Diag{
			At:   []diag.Pos{{File: path.Join(dir, name)}},
			Msg:  msg,
			Hint: "run fleetc init, which refreshes the copy",
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var faults diag.List
	for _, e := range entries {
		name := e.Name()
		if path.Ext(name) != ".cue" {
			continue
		}
		want, err := schema.Files.ReadFile(name)
		if err != nil {
			faults.Add(drifted(name, "this file is not part of the schema of this fleetc, and would be unified with it"))
			continue
		}
		have, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dir), name))
		if err != nil {
			return err
		}
		if !bytes.Equal(have, want) {
			faults.Add(drifted(name, "this copy differs from the schema of this fleetc"))
		}
	}
	return faults.Err()
}
