package importer

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxChartNesting limits the depth of dependencies inside dependencies.
const maxChartNesting = 8

// addDependencies adds the dependencies of a chart that are directories beside it, as
// file://../common names them, to its files below charts/. They must be in the directory
// root. Others are left to the fleet, which fetches them.
func addDependencies(ctx context.Context, root, dir string, files map[string][]byte, depth int) error {
	var meta map[string]any
	if err := yaml.Unmarshal(files["Chart.yaml"], &meta); err != nil {
		return nil //nolint:nilerr // the fleet reports a chart that is not valid
	}
	for _, d := range ListAt(meta, "dependencies") {
		name := TextAt(d, "name")
		beside, isDir := strings.CutPrefix(TextAt(d, "repository"), "file://")
		if !isDir || !filepath.IsLocal(name) || filepath.IsAbs(beside) || hasDirectory(files, path.Join("charts", name)) {
			continue
		}
		from, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(beside)))
		if err != nil {
			return &diag.Diag{Msg: "its dependency " + name + " in " + beside + " does not exist", Cause: err}
		}
		if rel, err := filepath.Rel(root, from); err != nil || !filepath.IsLocal(rel) {
			return &diag.Diag{Msg: "its dependency " + name + " in " + beside + " is outside of the repository"}
		}
		if depth >= maxChartNesting {
			return &diag.Diag{Msg: "its dependencies have dependencies in a circle"}
		}
		below, err := chartFiles(ctx, from)
		if err != nil {
			return err
		}
		if err := addDependencies(ctx, root, from, below, depth+1); err != nil {
			return err
		}
		for file, data := range below {
			files[path.Join("charts", name, file)] = data
		}
	}
	return nil
}

// hasDirectory reports whether files are below a directory.
func hasDirectory(files map[string][]byte, dir string) bool {
	for name := range files {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// realPath returns a path without symbolic links, or the path itself where it has none.
func realPath(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}
