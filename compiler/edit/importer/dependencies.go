package importer

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxChartNesting limits the depth of dependencies inside dependencies.
const maxChartNesting = 8

// addDependencies adds the dependencies of a chart to its files below charts/: directories
// beside it, as file://../common names them, which must be in the directory root, and
// charts that --chart and --charts have. Others are left to the fleet, which fetches them.
func (w *work) addDependencies(root, dir string, files map[string][]byte, depth int) error {
	var meta map[string]any
	if err := yaml.Unmarshal(files["Chart.yaml"], &meta); err != nil {
		return nil //nolint:nilerr // the fleet reports a chart that is not valid
	}
	for _, d := range listAt(meta, "dependencies") {
		name := textAt(d, "name")
		if !filepath.IsLocal(name) || hasDependency(files, name) {
			continue
		}
		from, err := w.dependencyDir(root, dir, d)
		if err != nil {
			return err
		}
		if from == "" {
			continue
		}
		if depth >= maxChartNesting {
			return &diag.Diag{Code: diag.CodeImportChart, Msg: "its dependencies form a cycle"}
		}
		if info, err := os.Stat(from); err == nil && !info.IsDir() {
			if files[path.Join("charts", filepath.Base(from))], err = os.ReadFile(from); err != nil {
				return err
			}
			continue
		}
		below, err := w.chartFiles(from)
		if err != nil {
			return err
		}
		if err := w.addDependencies(root, from, below, depth+1); err != nil {
			return err
		}
		for file, data := range below {
			files[path.Join("charts", name, file)] = data
		}
	}
	return nil
}

// dependencyDir returns the directory or archive of a dependency of the chart in dir; empty
// for one that is fetched.
func (w *work) dependencyDir(root, dir string, dependency any) (string, error) {
	name, repository := textAt(dependency, "name"), textAt(dependency, "repository")
	beside, isDir := strings.CutPrefix(repository, "file://")
	if !isDir || root == "" {
		return w.copyOf(&ChartSource{Name: name, Version: textAt(dependency, "version"), Repo: cmp.Or(repository, "none")})
	}
	if filepath.IsAbs(beside) {
		return "", nil
	}
	from, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(beside)))
	if err != nil {
		return "", &diag.Diag{Code: diag.CodeImportChart, Msg: "its dependency " + name + " in " + beside + " does not exist", Cause: err}
	}
	if rel, err := filepath.Rel(root, from); err != nil || !filepath.IsLocal(rel) {
		return "", &diag.Diag{Code: diag.CodeImportChart, Msg: "its dependency " + name + " in " + beside + " is outside of the repository"}
	}
	return from, nil
}

// hasDependency reports whether files have the directory or the archive of a dependency.
func hasDependency(files map[string][]byte, name string) bool {
	for file := range files {
		archive, ok := strings.CutPrefix(file, "charts/"+name+"-")
		if ok && strings.HasSuffix(archive, ".tgz") || strings.HasPrefix(file, path.Join("charts", name)+"/") {
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
