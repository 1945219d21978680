package load

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// valuesFile matches the usual names of Helm values files.
var valuesFile = regexp.MustCompile(`^(?:[\w-]+[-_.])?values(?:[-_.][\w.-]+)?\.ya?ml$`)

// clusterFile matches names of files that were or should be a cluster's file in CUE.
var clusterFile = regexp.MustCompile(`^cluster\.(?:ya?ml|json|cue(?:~|\..+))$`)

// clusterField matches the field cluster at the top of YAML or JSON: manifests, such as those of
// Cluster API, may have the same file name.
var clusterField = regexp.MustCompile(`(?m)^cluster:|\A\s*\{\s*"cluster"\s*:`)

// isCluster reports whether a file that clusterFile matches has the content of a cluster.
func isCluster(root, name string) bool {
	if strings.HasPrefix(path.Base(name), "cluster.cue") {
		return true
	}
	if checkSize(root, name, diag.Pos{File: name}) != nil {
		return false
	}
	data, err := Edits{}.read(root, name)
	return err == nil && clusterField.Match(data)
}

// rebaseEmbeds calls [diag.RebaseEmbeds] for all files of the instances and of their
// imports, once for each.
func rebaseEmbeds(root string, instances []*build.Instance) {
	seen := map[*ast.File]bool{}
	for _, in := range instances {
		for _, i := range append(in.Dependencies(), in) {
			for _, file := range i.Files {
				if !seen[file] {
					seen[file] = true
					diag.RebaseEmbeds(root, file)
				}
			}
		}
	}
}

// valuesFiles returns the values files in layers and in directories with layers below
// them, relative to the root.
func (t *tree) valuesFiles(root string) ([]string, error) {
	var out []string
	dirs := map[string]bool{}
	for _, dir := range t.dirs {
		for ; !dirs[dir] && dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a new file that is not saved
			return nil, err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && valuesFile.MatchString(e.Name()) {
				out = append(out, path.Join(dir, e.Name()))
			}
		}
	}
	return out, nil
}

// checkEmbeds reports values files in a layer and files of clusters that no @embed reads, and
// @embed attributes in files without @extern(embed): CUE ignores them.
func (f *Fleet) checkEmbeds() diag.List {
	var faults diag.List
	embedded := map[string]bool{}
	checked := map[string]bool{}
	for _, l := range f.leaves {
		for _, name := range l.files {
			if checked[name] {
				continue
			}
			checked[name] = true
			faults.Add(f.files[name].extern)
			for _, e := range f.files[name].embeds {
				embedded[e.Name] = true
			}
		}
	}
	all := len(f.leaves) == len(f.IDs) // otherwise, clusters that are not loaded may read the files
	for _, name := range f.source.valuesFiles {
		dir, base := path.Split(name)
		if dir = path.Clean(dir); (all || f.loaded(dir)) && !embedded[name] {
			faults.Add(&diag.Diag{
				Code: diag.CodeUnusedFile,
				At:   []diag.Pos{{File: name}}, Msg: "no CUE file reads these values: a layer consists of files that end in .cue",
				Hint: `write releases: "NAME": defaults: ` + layerName(dir) + ": _ @embed(file=" + base + ") in a file with @extern(embed) above its package clause, or move the file",
			})
		}
	}
	for _, name := range f.tree.lost {
		dir := path.Dir(name)
		isLayer := slices.ContainsFunc(f.tree.dirs, func(d string) bool { return fleet.IsWithin(d, dir) })
		if all && !isLayer && !fleet.IsWithin(dir, path.Join(environments, charts)) && !embedded[name] && isCluster(f.Root, name) {
			faults.Add(&diag.Diag{
				Code: diag.CodeUnusedFile,
				At:   []diag.Pos{{File: name}}, Msg: "this directory is not a cluster: it has no file that ends in .cue",
				Hint: "write the cluster into " + path.Join(dir, "cluster.cue") + ", or move the file",
			})
		}
	}
	return faults
}

func layerName(dir string) string {
	if dir == environments {
		return rootLayer
	}
	return path.Base(dir)
}

// checkExtern reports an @embed in a file without @extern(embed).
func checkExtern(root string, file *ast.File) error {
	var first *ast.Attribute
	on := false
	ast.Walk(file, func(n ast.Node) bool {
		if a, ok := n.(*ast.Attribute); ok {
			switch name, _ := a.Split(); {
			case name == "extern":
				on = true
			case name == "embed" && first == nil:
				first = a
			}
		}
		return true
	}, nil)
	if first == nil || on {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeUnusedFile,
		At:   []diag.Pos{diag.CUEPos(root, first.Pos())}, Msg: "@embed has no effect without @extern(embed)",
		Hint: "write @extern(embed) on the first line of the file, above the package clause",
	}
}

// withoutUnreadable removes the faults of stray files that cannot be parsed:
// their package clause may be the error.
func withoutUnreadable(strays, faults diag.List) diag.List {
	return slices.DeleteFunc(strays, func(s *diag.Diag) bool {
		return slices.ContainsFunc(faults, func(d *diag.Diag) bool { return len(d.At) > 0 && d.At[0].File == s.At[0].File })
	})
}
