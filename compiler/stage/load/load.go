// Package load finds the clusters of a fleet and loads their layers into one
// CUE instance per cluster. It does not evaluate them; package unify does. It
// reads the files of the fleet and CUE's module cache.
package load

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/load"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	environments = "environments" // directory of the layers, below the root
	charts       = "charts"       // directory of generated packages, below environments
	pkg          = "fleet"        // package name of every layer file
	rootLayer    = "root"         // name of the topmost layer
)

// A Fleet is a loaded fleet that is not evaluated yet.
type Fleet struct {
	Root     string    // absolute path of the CUE module's root
	Module   string    // the module's path, without its major version
	Clusters []Cluster // selected clusters, sorted by ID
	IDs      []string  // sorted IDs of all clusters, including invalid ones

	*source
	whole  bool                  // whether all clusters are selected
	faults diag.List             // of directories, links and patterns
	leaves []leaf                // the directories of selected clusters, sorted
	files  map[string]*fileFacts // by absolute name
}

// A Cluster is the instance of a cluster's directory and of those above it.
type Cluster struct {
	ID       string
	Layers   []fleet.Layer   // from the root to the cluster
	Instance *build.Instance // nil after a [Fleet.Reload] that did not load the cluster

	files []string // files of the layers, including files that CUE ignores
}

// A leaf is the directory of a cluster.
type leaf struct {
	dir        string // relative to the root
	unloadable bool   // whether CUE cannot load the directory or one above it
	cluster    Cluster
	err        error
	files      []string // absolute names of the parsed files, those of imported packages first
	imports    []string // directories of imported packages, relative to the root
}

// Load reads the fleet of dir, which is the CUE module around it, with the
// edits applied. patterns select clusters, see [fleet.MatchCluster]; no
// patterns select all.
//
// The error contains the faults of all directories. The returned fleet
// contains the clusters without faults; it is nil only if no fleet was found.
func Load(dir string, patterns []string, edits Edits) (*Fleet, error) {
	s, err := open(dir, edits)
	if err != nil {
		return nil, err
	}
	s.tree.checkNames(s.module)
	f := &Fleet{Root: s.root, Module: s.module, IDs: diag.Each(s.tree.leaves(), idOf), source: s, faults: s.tree.faults, files: map[string]*fileFacts{}}
	leaves, err := selectLeaves(s.tree.leaves(), patterns)
	f.faults.Add(err)
	f.whole = len(patterns) == 0 || err != nil
	f.leaves, err = f.load(edits, leaves)
	if err != nil {
		return f, err
	}
	return f, f.check()
}

// load loads the directories of clusters and sets the facts of their files.
func (f *Fleet) load(edits Edits, dirs []string) ([]leaf, error) {
	reader, err := newFactReader(f.Root)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	instances := loadInstances(f.Root, f.withEdits(edits), dirs)
	rebaseEmbeds(f.Root, instances)
	out := make([]leaf, len(dirs))
	for i, dir := range dirs {
		out[i] = f.newLeaf(dir, instances[i], reader)
		dropRepeatedTypes(instances[i])
	}
	return out, nil
}

func (f *Fleet) newLeaf(dir string, in *build.Instance, reader *factReader) leaf {
	l := leaf{dir: dir}
	l.unloadable = slices.ContainsFunc(slices.Collect(maps.Keys(f.tree.unloadable)), func(d string) bool { return fleet.IsWithin(dir, d) })
	for _, i := range append(in.Dependencies(), in) {
		if rel, err := filepath.Rel(f.Root, i.Dir); err == nil && i != in {
			l.imports = append(l.imports, filepath.ToSlash(rel))
		}
		for _, file := range i.Files {
			f.files[file.Filename] = reader.facts(file)
			l.files = append(l.files, file.Filename)
		}
	}
	l.cluster, l.err = f.newCluster(dir, in, l.files)
	return l
}

// check sets the clusters without faults, and returns the faults.
func (f *Fleet) check() error {
	faults := slices.Clone(f.faults)
	f.Clusters = nil
	for _, l := range f.leaves {
		switch {
		case l.unloadable: // the layer has a fault
		case l.err != nil:
			faults.Add(diag.In(idOf(l.dir), l.err))
		default:
			f.Clusters = append(f.Clusters, l.cluster)
		}
	}
	faults = append(faults, withoutUnreadable(f.checkStrays(), faults)...)
	faults = append(faults, f.checkEmbeds()...)
	return faults.Err()
}

// concerns reports whether a directory is on the path to a selected cluster.
func (f *Fleet) concerns(dir string) bool {
	return f.whole || f.loaded(dir)
}

// loaded reports whether a directory is on the path to a loaded cluster.
func (f *Fleet) loaded(dir string) bool {
	return slices.ContainsFunc(f.leaves, func(l leaf) bool { return fleet.IsWithin(l.dir, dir) })
}

// A source is a fleet on disk.
type source struct {
	root, module string
	overlay      map[string]load.Source // embedded packages, and generated ones
	embedded     map[string]bool        // directories of copies of embedded packages
	modules      []string               // module files of the fleet and of the directories that replace modules
	valuesFiles  []string               // values files in layers, relative to the root
	tree         *tree
}

// open finds the fleet around a directory.
func open(dir string, edits Edits) (*source, error) {
	root, module, err := Root(dir)
	if err != nil {
		return nil, err
	}
	if d := checkSize(root, localModule, diag.Pos{File: localModule}); d != nil {
		return nil, d
	}
	s := &source{root: root, module: module, embedded: map[string]bool{}, modules: moduleFiles(root)}
	if s.overlay, err = overlay(root, module, edits); err != nil {
		return nil, err
	}
	packages, err := VendoredPackages(module)
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		s.embedded[p.Dir] = true
	}
	if s.tree, err = scanEdited(root, edits); err != nil {
		return s, err
	}
	if err := checkSpecial(root, module, s.tree.imports); err != nil {
		return s, err
	}
	s.valuesFiles, err = s.tree.valuesFiles(root)
	return s, err
}

// withEdits returns the files that replace those on disk. An edit of a file replaces all
// links to it.
func (s *source) withEdits(edits Edits) map[string]load.Source {
	out := map[string]load.Source{}
	for _, edited := range slices.Sorted(maps.Keys(edits)) {
		for _, file := range s.tree.sameFile(edited) {
			if _, isEdited := edits[file]; !isEdited || file == edited {
				out[filepath.Join(s.root, filepath.FromSlash(file))] = load.FromBytes(edits[edited])
			}
		}
	}
	maps.Copy(out, s.overlay)
	return out
}

// overlay returns the files that replace those on disk without edits: embedded packages,
// and generated packages.
func overlay(root, module string, edits Edits) (map[string]load.Source, error) {
	if err := checkReplaced(root); err != nil {
		return nil, err
	}
	out, err := vendoredOverlay(root, module)
	if err != nil {
		return nil, err
	}
	pins, err := pinsOnly(root, edits)
	if err != nil {
		return nil, err
	}
	maps.Copy(out, pins)
	return out, nil
}

// loadInstances returns the instance of each directory. A fault in one
// directory may cause CUE to return a single instance, in which case each
// directory is loaded separately.
func loadInstances(root string, overlay map[string]load.Source, dirs []string) []*build.Instance {
	if len(dirs) == 0 {
		return nil // CUE would load the working directory
	}
	args := make([]string, len(dirs))
	for i, d := range dirs {
		args[i] = "./" + d + ":" + pkg // without the package, CUE takes a name with a dot for a file
	}
	config := func() *load.Config {
		return &load.Config{Dir: root, ModuleRoot: root, Package: pkg, Overlay: overlay, ParseFile: parserOf(root)}
	}
	instances := load.Instances(args, config())
	if len(instances) == len(dirs) {
		return instances
	}
	instances = instances[:0]
	for _, a := range args {
		instances = append(instances, load.Instances([]string{a}, config())[0])
	}
	return instances
}

// newCluster checks that the leaf directory is a cluster, and the only one on
// its path from the root.
func (f *Fleet) newCluster(dir string, in *build.Instance, files []string) (Cluster, error) {
	root, t := f.Root, f.tree
	if in.Err != nil {
		faults := diag.CUEFaults(root, in.Err, cue.Value{})
		for _, d := range faults {
			d.Path = "" // the path of the package; the position is sufficient
			d.Msg = strings.ReplaceAll(d.Msg, root+string(filepath.Separator), "")
		}
		return Cluster{}, faults.Err()
	}
	var linked, unreadable diag.List
	for _, name := range files {
		linked = append(linked, f.files[name].linked...)
		unreadable = append(unreadable, f.files[name].unreadable...)
	}
	if err := cmp.Or(linked.Err(), unreadable.Err()); err != nil {
		return Cluster{}, err
	}
	c := Cluster{ID: idOf(dir), Layers: t.layers(dir), Instance: in}
	for _, l := range c.Layers {
		for _, name := range t.files[l.Dir] {
			c.files = append(c.files, path.Join(l.Dir, name))
		}
	}
	if err := distinctNames(c.Layers, t); err != nil {
		return Cluster{}, err
	}
	var own, above []diag.Pos
	for _, file := range in.Files {
		isOwn := filepath.ToSlash(filepath.Dir(diag.CUEPos(root, file.Pos()).File)) == dir
		list := &above
		if isOwn {
			list = &own
		}
		for _, label := range clusterLabels(file, isOwn) {
			*list = append(*list, diag.CUEPos(root, label.Pos()))
		}
	}
	switch {
	case len(own) == 0 && len(above) > 0:
		return Cluster{}, &diag.Diag{
			Code: diag.CodeNestedCluster, At: append([]diag.Pos{t.firstFile(dir)}, above...), Path: "cluster",
			Msg:  "this directory is inside a cluster, and a cluster cannot be a layer",
			Hint: "move the cluster's files into a separate directory",
		}
	case len(own) == 0:
		return Cluster{}, misspeltCluster(root, in, &diag.Diag{
			Code: diag.CodeNoClusters, At: []diag.Pos{t.firstFile(dir)}, Path: "cluster",
			Msg:  "no cluster: the directory and its layers do not set cluster.name",
			Hint: `set cluster: {name: "` + path.Base(dir) + `", kubernetes: ...}, or add a cluster's directory below`,
		})
	case len(above) > 0:
		return Cluster{}, &diag.Diag{
			Code: diag.CodeNestedCluster, At: above, Path: "cluster.name",
			Msg:  "a cluster inside of a cluster: cluster.name makes this directory a cluster, but a directory below is also one",
			Hint: "set cluster.name only in directories that have no clusters below them",
		}
	}
	return c, nil
}

// misspeltCluster makes the fault of a directory without a cluster point to a field whose name
// is similar to cluster, if there is one.
func misspeltCluster(root string, in *build.Instance, d *diag.Diag) *diag.Diag {
	for _, file := range in.Files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.Field)
			if !ok || len(fieldsOf(f.Value, "name")) == 0 {
				continue
			}
			name, _, err := ast.LabelName(f.Label)
			if near := diag.DidYouMean(name, []string{"cluster"}); err == nil && near != "" {
				d.At, d.Path, d.Hint = []diag.Pos{diag.CUEPos(root, f.Pos())}, name, near
				d.Fixes = diag.Respell(name, []string{"cluster"})
			}
		}
	}
	return d
}

// clusterLabels returns the labels in the file that set cluster.name or, if
// whole is set, any part of cluster. A constraint (cluster!: schema.#Cluster)
// does not count.
func clusterLabels(file *ast.File, whole bool) []ast.Label {
	var out []ast.Label
	for _, f := range fields(file.Decls, "cluster") {
		if whole || len(fieldsOf(f.Value, "name")) > 0 {
			out = append(out, f.Label)
		}
	}
	return out
}

// fields returns the regular fields with the given name, including those in
// embedded structs and comprehensions.
func fields(decls []ast.Decl, name string) []*ast.Field {
	var out []*ast.Field
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			if label, _, err := ast.LabelName(d.Label); err == nil && label == name && d.Constraint == 0 {
				out = append(out, d)
			}
		case *ast.EmbedDecl:
			out = append(out, fieldsOf(d.Expr, name)...)
		case *ast.Comprehension:
			out = append(out, fieldsOf(d.Value, name)...)
		}
	}
	return out
}

// fieldsOf returns the fields in the struct literals of an expression.
func fieldsOf(e ast.Expr, name string) []*ast.Field {
	return slices.Concat(diag.Each(structs(e), func(s *ast.StructLit) []*ast.Field { return fields(s.Elts, name) })...)
}

// distinctNames reports a layer with the name of a layer above it, since
// defaults could not distinguish them.
func distinctNames(layers []fleet.Layer, t *tree) error {
	for i, l := range layers {
		j := slices.IndexFunc(layers[:i], func(m fleet.Layer) bool { return m.Name == l.Name })
		if j >= 0 {
			return &diag.Diag{
				Code: diag.CodeDirectoryName,
				At:   []diag.Pos{t.firstFile(l.Dir), t.firstFile(layers[j].Dir)},
				Msg:  "two layers of one cluster are called " + l.Name,
				Hint: "rename one of the directories " + l.Dir + " and " + layers[j].Dir,
			}
		}
	}
	return nil
}

// idOf returns the cluster ID of a directory.
func idOf(dir string) string {
	return strings.TrimPrefix(strings.TrimPrefix(dir, environments), "/")
}
