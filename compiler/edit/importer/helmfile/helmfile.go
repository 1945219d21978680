// Package helmfile reads the releases of a helmfile into a model for import: each
// environment is a cluster. It evaluates files as helmfile does, with the templates, bases,
// environment values and sub-helmfiles of one repository. It does not run programs, read
// the environment, use the network or decrypt files: a template that needs one of these is
// a fault, and the values of encrypted files become secrets of the fleet.
//
//	load.go         files, their parts, bases and sub-helmfiles -> states
//	state.go        the fields of a helmfile, and how files override each other
//	environment.go  the values of an environment
//	secrets.go      encrypted files and references of vals -> secrets
//	computed.go     values that templates compute from secrets
//	template.go     Go templates, and the functions that helmfile adds
//	release.go      a release of a state, with its templates executed
//	finish.go       releases of all states -> releases of the model
//	program.go      releases as the program helmfile renders them, for the proof
package helmfile

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
)

// Options say what to read.
type Options struct {
	File       string                   // helmfile, or directory with one or more
	Clusters   []importer.ClusterSource // at least one; each source is an environment
	Variables  map[string]string        // environment variables that templates may read
	Set        map[string]any           // values that override those of the environment
	ValueFiles []string                 // files of the repository with values that override those of the environment
	Kubernetes string                   // version of the clusters
	ProveWith  importer.Programs
}

// A reader is the state of one call of Read.
type reader struct {
	ctx     context.Context
	opts    Options
	tree    *os.Root
	dir     string // absolute path of the repository, for positions
	model   *importer.Model
	given   []item          // files with values of the command line
	counted map[string]bool // files and parts in the counts of the model
}

// Read reads the releases of all environments. The error holds the faults of all of them.
func Read(ctx context.Context, opts Options) (*importer.Model, error) {
	file, err := filepath.Abs(opts.File)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, &diag.Diag{
			Code:  diag.CodeImportFile,
			Msg:   diag.Visible(opts.File, diag.MaxText) + " does not exist",
			Hint:  "name a helmfile, such as helmfile.yaml, or a directory with one",
			Cause: err,
		}
	}
	dir := file
	if !info.IsDir() {
		dir = filepath.Dir(file)
	}
	root, ok := importer.GitRoot(dir)
	if !ok {
		root = dir
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return nil, err
	}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	r := &reader{
		ctx: ctx, opts: opts, tree: tree, dir: root, model: &importer.Model{Tool: "helmfile"}, counted: map[string]bool{},
	}
	if r.given, err = r.valueFiles(); err != nil {
		return nil, err
	}
	var faults diag.List
	for _, c := range opts.Clusters {
		cluster, err := r.cluster(c, filepath.ToSlash(rel))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults.Add(diag.In(c.ID, err))
		r.model.Clusters = append(r.model.Clusters, cluster)
	}
	slices.SortFunc(r.model.Clusters, func(a, b *importer.Cluster) int { return cmp.Compare(a.ID, b.ID) })
	return r.model, faults.Err()
}

// cluster returns the releases of an environment.
func (r *reader) cluster(c importer.ClusterSource, file string) (*importer.Cluster, error) {
	out := &importer.Cluster{ID: c.ID, Kubernetes: r.opts.Kubernetes, Facts: map[string]string{}}
	run := &environmentRun{reader: r, name: c.Source, cluster: out, missing: map[string]diag.Pos{}}
	if err := run.evaluate(file); err != nil {
		return out, err
	}
	if run.hasSecrets {
		other := &environmentRun{reader: r, name: c.Source, cluster: &importer.Cluster{Facts: map[string]string{}}, missing: map[string]diag.Pos{}, second: true}
		if err := other.evaluate(file); err != nil {
			return out, err
		}
		run.compare(other)
	}
	if r.opts.ProveWith.Has(importer.HelmfileProgram) {
		out.Render = run.programRender(file)
	}
	out.DropUnusedSecrets()
	out.ApplyOnly = len(out.Secrets) > 0 && out.Context != "" // exports cannot have the values
	return out, nil
}

// An environmentRun is the evaluation of a helmfile for one environment.
type environmentRun struct {
	*reader
	name       string // of the environment
	cluster    *importer.Cluster
	found      []*helmfileRelease  // releases in the order of files
	missing    map[string]diag.Pos // environment variables that have no value
	stack      []string            // sub-helmfiles that are being read
	hasSecrets bool                // whether values are encrypted
	defined    bool                // a helmfile has the environment
	known      []string            // environments of helmfiles
	second     bool                // whether references are the second ones
}

// evaluate adds the releases of a helmfile, or of all in a directory, to the cluster.
func (e *environmentRun) evaluate(file string) error {
	files, err := e.entryFiles(file)
	if err != nil {
		return err
	}
	opts := visitOptions{set: e.opts.Set, values: e.given}
	var faults diag.List
	for _, name := range files {
		faults.Add(e.visit(name, opts))
	}
	if err := e.ctx.Err(); err != nil {
		return err
	}
	err = faults.Err()
	if err == nil && e.defined {
		err = e.finish()
	}
	switch {
	case len(e.missing) > 0:
		return e.missingFaults() // other faults may follow from the missing values
	case err != nil || e.defined:
		return err
	}
	return &diag.Diag{
		Code: diag.CodeNoMatch,
		At:   []diag.Pos{e.pos(files[0], 1, 1)},
		Msg:  fmt.Sprintf("the helmfile has no environment %q", diag.Visible(e.name, diag.MaxText)),
		Hint: cmp.Or(diag.OneOf(e.name, slices.Compact(slices.Sorted(slices.Values(e.known)))), "correct --environment, or add the environment to the helmfile"),
	}
}

// missingFaults returns a fault for each environment variable that has no value.
func (e *environmentRun) missingFaults() error {
	var faults diag.List
	for _, name := range importer.SortedKeys(e.missing) {
		faults.Add(&diag.Diag{
			Code: diag.CodeImportTemplate,
			At:   []diag.Pos{e.missing[name]}, Msg: fmt.Sprintf("a template reads the environment variable %s", diag.Visible(name, diag.MaxText)),
			Hint: fmt.Sprintf("pass its value with --env %s=VALUE; it becomes part of the fleet", diag.Visible(name, diag.MaxText)),
		})
	}
	return faults.Err()
}

// entryFiles returns the helmfiles that a file or directory stands for.
func (e *environmentRun) entryFiles(name string) ([]string, error) {
	info, err := e.tree.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeImportFile, Msg: name + " is outside of the repository", Hint: "name a file of the repository", Cause: err}
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	for _, file := range []string{"helmfile.yaml", "helmfile.yaml.gotmpl"} {
		if e.isFile(path.Join(name, file)) {
			return []string{path.Join(name, file)}, nil
		}
	}
	if info, err := e.tree.Stat(filepath.FromSlash(path.Join(name, "helmfile.d"))); err == nil && info.IsDir() {
		name = path.Join(name, "helmfile.d")
	}
	files := e.directoryFiles(name)
	if len(files) == 0 {
		return nil, &diag.Diag{Code: diag.CodeImportFile, Msg: e.opts.File + " has no helmfile", Hint: "name a helmfile, such as helmfile.yaml, or a directory with one"}
	}
	return files, nil
}

// directoryFiles returns the helmfiles of a directory such as helmfile.d, sorted.
func (e *environmentRun) directoryFiles(dir string) []string {
	var out []string
	for _, pattern := range []string{"*.y*ml", "*.y*ml.gotmpl"} {
		files, _ := e.glob(path.Join(dir, pattern))
		out = append(out, files...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// note adds a field that is not carried.
func (r *reader) note(pos diag.Pos, doc, field, do string) {
	r.model.Note(importer.Note{Pos: pos, Doc: doc, Field: field, Do: do})
}

// count adds a part of a file to the counts of the model, once.
func (r *reader) count(name string, lines, documents int) {
	if !r.counted[name] {
		r.counted[name] = true
		r.model.Lines += lines
		r.model.Documents += documents
	}
}

// pos returns a position in a file of the repository.
func (r *reader) pos(file string, line, col int) diag.Pos {
	return diag.Pos{File: path.Join(filepath.ToSlash(r.dir), file), Line: line, Col: col}
}

func lineCount(data []byte) int { return strings.Count(string(data), "\n") }
