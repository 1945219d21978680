package importer

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
	"github.com/fleetc/fleetc/compiler/base/git"
)

// HelmfileOptions say what to read.
type HelmfileOptions struct {
	File       string            // helmfile, or directory with one or more
	Clusters   []ClusterSource   // at least one; each source is an environment
	Variables  map[string]string // environment variables that templates may read
	Set        map[string]any    // values that override those of the environment
	ValueFiles []string          // files of the repository with values that override those of the environment
	Kubernetes string            // version of the clusters
	ProveWith  Programs
}

// A helmfileReader is the state of one call of ReadHelmfile.
type helmfileReader struct {
	ctx     context.Context
	opts    HelmfileOptions
	tree    *os.Root
	dir     string // absolute path of the repository, for positions
	model   *Model
	given   []item          // files with values of the command line
	counted map[string]bool // files and parts in the counts of the model
}

// ReadHelmfile reads the releases of all environments. The error holds the faults of all of them.
func ReadHelmfile(ctx context.Context, opts HelmfileOptions) (*Model, error) {
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
	root := git.Top(dir)
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return nil, err
	}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	r := &helmfileReader{
		ctx: ctx, opts: opts, tree: tree, dir: root, model: &Model{Tool: "helmfile", Dir: root}, counted: map[string]bool{},
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
	return r.model, faults.Err()
}

// cluster returns the releases of an environment.
func (r *helmfileReader) cluster(c ClusterSource, file string) (*Cluster, error) {
	out := &Cluster{ID: c.ID, Kubernetes: r.opts.Kubernetes, Facts: map[string]string{}}
	run := &environmentRun{helmfileReader: r, name: c.Source, cluster: out, missing: map[string]diag.Pos{}, hidden: map[string]bool{}}
	if err := run.evaluate(file); err != nil {
		return out, err
	}
	if run.hasSecrets {
		other := &environmentRun{helmfileReader: r, name: c.Source, cluster: &Cluster{Facts: map[string]string{}}, missing: map[string]diag.Pos{}, hidden: map[string]bool{}, second: true}
		if err := other.evaluate(file); err != nil {
			return out, err
		}
		run.compare(other)
	}
	if r.opts.ProveWith.Has(HelmfileProgram) {
		out.Render = run.programRender(file)
	}
	out.DropUnusedSecrets()
	out.ApplyOnly = len(out.Secrets) > 0 && out.Context != "" // exports cannot have the values
	return out, nil
}

// An environmentRun is the evaluation of a helmfile for one environment.
type environmentRun struct {
	*helmfileReader
	name       string // of the environment
	cluster    *Cluster
	found      []*helmfileRelease  // releases in the order of files
	missing    map[string]diag.Pos // environment variables that have no value
	stack      []string            // sub-helmfiles that are being read
	hasSecrets bool                // whether values are encrypted
	defined    bool                // a helmfile has the environment
	known      []string            // environments of helmfiles
	second     bool                // whether references are the second ones
	hidden     map[string]bool     // texts in place of encrypted values, and whether these are not empty
	decisions  []diag.Pos          // by encrypted values, outside of releases
	current    *helmfileRelease    // that is evaluated; may be nil
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
	for _, name := range sortedKeys(e.missing) {
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
	return diag.Distinct(out)
}

// note adds a field that is not carried.
func (r *helmfileReader) note(pos diag.Pos, doc, field, do string) {
	r.model.Note(Note{Pos: pos, Doc: doc, Field: field, Do: do})
}

// count adds a part of a file to the counts of the model, once.
func (r *helmfileReader) count(name string, lines, documents int) {
	if !r.counted[name] {
		r.counted[name] = true
		r.model.Lines += lines
		r.model.Documents += documents
	}
}

// pos returns a position in a file of the repository.
func (r *helmfileReader) pos(file string, line, col int) diag.Pos {
	return diag.Pos{File: path.Join(filepath.ToSlash(r.dir), file), Line: line, Col: col}
}

func lineCount(data []byte) int { return strings.Count(string(data), "\n") }
