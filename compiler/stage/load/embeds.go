package load

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
)

// valuesFile matches the usual names of Helm values files.
var valuesFile = regexp.MustCompile(`^(?:[\w-]+[-_.])?values(?:[-_.][\w.-]+)?\.ya?ml$`)

// rebaseEmbeds calls [cuediag.RebaseEmbeds] for all files of the instances.
func rebaseEmbeds(root string, instances []*build.Instance) {
	for _, file := range filesOf(instances) {
		cuediag.RebaseEmbeds(root, file)
	}
}

// filesOf returns the parsed files of the instances and of their imports, each
// once.
func filesOf(instances []*build.Instance) []*ast.File {
	var files []*ast.File
	seen := map[*ast.File]bool{}
	for _, in := range instances {
		for _, i := range append(in.Dependencies(), in) {
			for _, file := range i.Files {
				if !seen[file] {
					seen[file] = true
					files = append(files, file)
				}
			}
		}
	}
	return files
}

// checkEmbeds reports values files in a layer that no @embed reads, and @embed
// attributes in files without @extern(embed): CUE ignores both. Unless all is
// set, it checks only the layers of the selected directories.
func (t *tree) checkEmbeds(root string, selected []string, all bool, instances []*build.Instance) error {
	var faults diag.List
	embedded := map[string]bool{}
	for _, file := range filesOf(instances) {
		faults.Add(checkExtern(root, file))
		embeds, _ := cuediag.Embeds(root, file) // CUE reports errors
		for _, e := range embeds {
			embedded[e.Name] = true
		}
	}
	for _, dir := range t.dirs {
		if !all && !slices.ContainsFunc(selected, func(d string) bool { return d == dir || strings.HasPrefix(d, dir+"/") }) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.Type().IsRegular() && valuesFile.MatchString(e.Name()) && !embedded[name] {
				faults.Add(&diag.Diag{
					At: []diag.Pos{{File: name}}, Msg: "no file of CUE reads these values: a layer is made of files that end in .cue",
					Hint: `write releases: "NAME": defaults: ` + layerName(dir) + ": _ @embed(file=" + e.Name() + ") in a file with @extern(embed) above its package clause, or move the file",
				})
			}
		}
	}
	return faults.Err()
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
		At: []diag.Pos{cuediag.Pos(root, first.Pos())}, Msg: "@embed has no effect: the file does not switch embedding on",
		Hint: "write @extern(embed) in the first line of the file, above the package clause",
	}
}

// withoutUnreadable removes the faults of stray files that cannot be parsed:
// their package clause may be the error.
func withoutUnreadable(strays, faults diag.List) diag.List {
	return slices.DeleteFunc(strays, func(s *diag.Diag) bool {
		return slices.ContainsFunc(faults, func(d *diag.Diag) bool { return len(d.At) > 0 && d.At[0].File == s.At[0].File })
	})
}
