package load

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	modulepath "cuelang.org/go/mod/module"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A tree holds the directories below environments with CUE files.
type tree struct {
	dirs  []string            // directories with files of package fleet, sorted, relative to the root
	files map[string][]string // sorted names of these files, by directory
	stray []stray             // files of other packages
	links map[string]string   // files of layers that are symbolic links, with the files that they lead to, relative to the root
	lost  []string            // files with the name of a cluster's file and another extension
	// faults are those of directories and links that cannot be layers.
	faults     diag.List
	unloadable map[string]bool // directories that CUE cannot load, which have faults

	imports map[string]bool // paths that these files import

	names []string // of all layers, sorted
}

// A stray is a CUE file that is not part of the layer in its directory.
type stray struct {
	dir, pkg string
	pos      diag.Pos // of the package clause
}

// scan reads the package clauses of all CUE files below environments. It skips
// nested modules and directories that CUE ignores.
func scan(root string) (*tree, error) { return scanEdited(root, nil) }

// scanEdited is [scan] with edits applied.
func scanEdited(root string, edits Edits) (*tree, error) {
	t := newTree()
	err := t.walk(root, environments, edits, isSkipped)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(t.dirs) == 0 && len(t.stray) == 0 {
		return nil, &diag.Diag{
			Code: diag.CodeNoClusters,
			At:   []diag.Pos{{File: environments}}, Msg: "no layers: the directory has no CUE files of package " + pkg,
			Hint: "run fleetc init, which writes environments/fleet.cue",
		}
	}
	if err == nil {
		err = t.addNew(root, edits)
	}
	for _, dir := range t.dirs {
		if dir != environments {
			t.names = append(t.names, path.Base(dir))
		}
	}
	t.names = diag.Distinct(t.names)
	return t, err
}

func newTree() *tree {
	return &tree{files: map[string][]string{}, links: map[string]string{}, unloadable: map[string]bool{}, imports: map[string]bool{}}
}

// scanLayer is [scan] for the files of one layer.
func scanLayer(root, dir string) (*tree, error) {
	t := newTree()
	err := t.walk(root, dir, nil, func(_, _ string) bool { return true })
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	return t, cmp.Or(err, t.addNew(root, nil))
}

// walk adds the files below a directory, without directories that are skipped.
func (t *tree) walk(root, dir string, edits Edits, skip func(dir, name string) bool) error {
	top := filepath.Join(root, filepath.FromSlash(dir))
	return filepath.WalkDir(top, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			return t.link(root, rel, e.Name(), edits)
		case e.IsDir() && file != top && skip(file, e.Name()):
			return filepath.SkipDir
		case e.IsDir():
			return nil
		case isSpecial(e.Type()):
			return specialFile(diag.Pos{File: rel}, rel)
		}
		return t.add(root, rel, edits)
	})
}

// addNew adds the edited files that are not on disk.
func (t *tree) addNew(root string, edits Edits) error {
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		file := filepath.Join(root, filepath.FromSlash(name))
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) || !fleet.IsWithin(path.Dir(name), environments) {
			continue
		}
		skipped := false
		for dir := path.Dir(name); dir != environments; dir = path.Dir(dir) {
			skipped = skipped || isSkipped(filepath.Join(root, filepath.FromSlash(dir)), path.Base(dir))
		}
		if skipped {
			continue
		}
		if err := t.add(root, name, edits); err != nil {
			return err
		}
	}
	slices.Sort(t.dirs)
	for _, names := range t.files {
		slices.Sort(names)
	}
	return nil
}

func isSkipped(dir, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "cue.mod" {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "cue.mod"))
	return err == nil
}

// link adds the target of a symbolic link to a file. CUE does not follow links
// to directories, and links out of the fleet are faults.
func (t *tree) link(root, rel, name string, edits Edits) error {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return nil
	}
	refuse := func(msg, hint string) error {
		t.faults.Add(&diag.Diag{Code: diag.CodeOutsideFleet, At: []diag.Pos{{File: rel}}, Msg: msg, Hint: hint})
		return nil
	}
	target, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(rel)))
	if err != nil {
		t.unloadable[path.Dir(rel)] = true
		return refuse("this symbolic link is broken", "remove it")
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	inside, err := filepath.Rel(root, target)
	switch {
	case isSpecial(info.Mode()):
		return specialFile(diag.Pos{File: rel}, rel)
	case info.IsDir():
		return refuse("this symbolic link to a directory is ignored", "replace it with a directory")
	case path.Ext(name) != ".cue":
		return nil
	case err != nil || !filepath.IsLocal(inside) || !info.Mode().IsRegular():
		t.unloadable[path.Dir(rel)] = true
		return refuse("this symbolic link points outside of the fleet's directory", "replace it with a file")
	}
	t.links[rel] = filepath.ToSlash(inside)
	return t.add(root, rel, edits)
}

// sameFile returns the names under which layers have a file: its own, and those of symbolic
// links to it.
func (t *tree) sameFile(name string) []string {
	out := []string{name}
	file := cmp.Or(t.links[name], name)
	if file != name && slices.Contains(t.files[path.Dir(file)], path.Base(file)) {
		out = append(out, file)
	}
	for link, target := range t.links {
		if target == file && link != name {
			out = append(out, link)
		}
	}
	return out
}

// checkNames reports directory names that CUE does not accept, and names that
// differ only in letter case, which some file systems do not distinguish.
func (t *tree) checkNames(module string) {
	seen := map[string]string{}
	for _, dir := range t.dirs {
		err := modulepath.CheckImportPath(path.Join(cmp.Or(module, "example.com"), dir))
		if err != nil || strings.ContainsAny(dir, ":@") {
			t.unloadable[dir] = true
			d := &diag.Diag{
				Code: diag.CodeDirectoryName,
				At:   []diag.Pos{t.firstFile(dir)}, Msg: "CUE does not accept the name of this directory",
				Hint: "use only letters and digits in the name, with - _ and . between them", Cause: err,
			}
			if err != nil && strings.HasSuffix(err.Error(), "on Windows") {
				d.Msg, d.Hint = "Windows reserves the name of this directory", "rename the directory, so that the fleet works on every machine"
			}
			t.faults.Add(d)
		}
		if other, ok := seen[strings.ToLower(dir)]; ok {
			t.faults.Add(&diag.Diag{
				Code: diag.CodeDirectoryName,
				At:   []diag.Pos{t.firstFile(dir), t.firstFile(other)},
				Msg:  "two directories have names that differ only in case",
				Hint: "rename one of " + other + " and " + dir,
			})
		}
		seen[strings.ToLower(dir)] = dir
	}
}

// add adds one file by its package clause.
func (t *tree) add(root, rel string, edits Edits) error {
	name := path.Base(rel)
	if clusterFile.MatchString(name) {
		t.lost = append(t.lost, rel)
	}
	if path.Ext(name) != ".cue" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
		strings.HasSuffix(name, "_test.cue") || strings.HasSuffix(name, "_tool.cue") {
		return nil
	}
	dir := path.Dir(rel)
	if d := checkSize(root, rel, diag.Pos{File: rel}); d != nil {
		return d // CUE would read it
	}
	file, isStray := parseHead(root, rel, edits)
	for name := range importsOf(file) {
		t.imports[name] = true
	}
	if isStray {
		pos := diag.Pos{File: rel, Line: 1, Col: 1}
		for _, d := range file.Decls {
			if p := diag.CUEPos(root, d.Pos()); p.IsValid() {
				pos = p
			}
		}
		t.stray = append(t.stray, stray{dir: dir, pkg: file.PackageName(), pos: pos})
		return nil
	}
	if t.files[dir] == nil {
		t.dirs = append(t.dirs, dir)
	}
	t.files[dir] = append(t.files[dir], name)
	return nil
}

// parseHead parses the package clause and the imports of a file. isStray is false for a
// file of a layer. A file that does not parse is part of the layer, so that CUE reports the
// error.
func parseHead(root, rel string, edits Edits) (file *ast.File, isStray bool) {
	var text any // read from disk when nil
	if edited, ok := edits[rel]; ok {
		text = edited
	}
	name := filepath.Join(root, filepath.FromSlash(rel))
	file, err := parser.ParseFile(name, text, parser.ImportsOnly)
	if err == nil && file.PackageName() == "" { // a line above the package clause may hide it
		var all []byte
		if all, err = edits.read(root, rel); err == nil {
			_, err = ParseFile(name, all)
		}
	}
	return file, err == nil && file.PackageName() != pkg
}

// leaves returns the sorted directories without layers below them.
func (t *tree) leaves() []string {
	out := diag.Filter(t.dirs, func(d string) bool {
		return d != environments && !slices.ContainsFunc(t.dirs, func(e string) bool { return strings.HasPrefix(e, d+"/") })
	})
	slices.Sort(out)
	return out
}

// ClusterIDs returns the sorted IDs of the clusters of the fleet at root: of
// all directories without layers below them. It does not evaluate them.
func ClusterIDs(root string) ([]string, error) {
	t, err := scan(root)
	if err != nil {
		return nil, err
	}
	return diag.Each(t.leaves(), idOf), nil
}

// LayerNames returns the names of layers with layers below them in the fleet
// at root: root first, then sorted.
func LayerNames(root string) ([]string, error) {
	names := []string{rootLayer}
	t, err := scan(root)
	if err != nil {
		return names, err
	}
	leaves := t.leaves()
	for _, d := range t.dirs {
		if d != environments && !slices.Contains(leaves, d) {
			names = append(names, path.Base(d))
		}
	}
	slices.Sort(names[1:])
	return slices.Compact(names), nil
}

// layers returns the layers of a cluster's directory, from the root on. It
// skips directories without files, except the topmost.
func (t *tree) layers(dir string) []fleet.Layer {
	out := []fleet.Layer{{Name: rootLayer, Dir: environments, Names: t.names}}
	rest := strings.Split(strings.TrimPrefix(dir, environments+"/"), "/")
	for i, name := range rest {
		d := path.Join(environments, path.Join(rest[:i+1]...))
		if t.files[d] != nil {
			out = append(out, fleet.Layer{Name: name, Dir: d})
		}
	}
	return out
}

// firstFile returns a position for the directory.
func (t *tree) firstFile(dir string) diag.Pos {
	if files := t.files[dir]; len(files) > 0 {
		return diag.Pos{File: path.Join(dir, files[0])}
	}
	return diag.Pos{File: dir}
}

// checkStrays reports files that CUE silently ignores in their layer: files of
// other packages or without a package clause, unless a cluster imports their
// package.
func (f *Fleet) checkStrays() diag.List {
	imported := map[string]bool{}
	if len(f.tree.stray) > 0 {
		partial := len(f.leaves) < len(f.IDs)
		for _, l := range f.leaves {
			partial = partial || l.err != nil
			for _, dir := range l.imports {
				imported[dir] = true
			}
		}
		if partial { // clusters that are not loaded, or have faults, may import it
			for name := range f.tree.imports {
				if dir, ok := directoryOf(f.module, name); ok {
					imported[dir] = true
				}
			}
		}
	}
	var faults diag.List
	for _, s := range f.tree.stray {
		if !f.concerns(s.dir) || fleet.IsWithin(s.dir, path.Join(environments, charts)) || imported[s.dir] {
			continue
		}
		msg := "this file is left out of its layer: its package is " + s.pkg + ", not " + pkg
		if s.pkg == "" {
			msg = "this file is left out of its layer: it has no package clause"
		}
		faults.Add(&diag.Diag{Code: diag.CodeUnusedFile, At: []diag.Pos{s.pos}, Msg: msg, Hint: "write package " + pkg + ", or import the package that it is part of"})
	}
	return faults
}
