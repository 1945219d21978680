package importer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// A Repository is a directory of files that an import reads, and a copy in which readers
// may add and replace files.
type Repository struct {
	Dir  string // absolute path, for positions
	Work string // absolute path of the copy

	ctx       context.Context
	model     *Model
	fetch     *chart.Fetch        // of remote resources
	unfetched map[string][]string // addresses that cannot be fetched, by directory of the kustomization
}

// kustomizationFiles are the names of kustomization files, in kustomize's order.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// openRepository copies a directory, for the model of a tool. hint says which directory the
// user should name, and source returns a source of remote resources for the copy. The caller
// must call Close.
func openRepository(ctx context.Context, dir, hint, tool string, source func(root string) *chart.Source) (*Repository, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, &diag.Diag{Code: diag.CodeImportFile, Msg: dir + " is not a directory", Hint: hint, Cause: err}
	}
	work, err := os.MkdirTemp("", "fleetc-import-")
	if err != nil {
		return nil, err
	}
	if err := edit.CopyTree(ctx, abs, work); err != nil {
		return nil, errors.Join(err, os.RemoveAll(work))
	}
	return &Repository{Dir: abs, Work: work, ctx: ctx, model: &Model{Tool: tool, Dir: abs}, fetch: source(work).Fetch(), unfetched: map[string][]string{}}, nil
}

// read reads a file of the copy; nil when it is not a regular file, or a link that leads
// nowhere.
func (r *Repository) read(name string) ([]byte, error) {
	file := filepath.Join(r.Work, filepath.FromSlash(name))
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // links that lead nowhere are not read
	}
	return os.ReadFile(file)
}

// walkBelow calls f with the path of each file and directory below a directory, relative to
// it and slash-separated.
func walkBelow(top string, f func(name string, e fs.DirEntry) error) error {
	return filepath.WalkDir(top, func(file string, e fs.DirEntry, err error) error {
		if err != nil || file == top {
			return err
		}
		rel, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(rel), e)
	})
}

// exists reports whether the copy has a file in a directory.
func (r *Repository) exists(dir, name string) bool {
	info, err := os.Stat(filepath.Join(r.Work, filepath.FromSlash(dir), name))
	return err == nil && !info.IsDir()
}

// Kustomization returns the kustomization file of a directory; none if it has none.
func (r *Repository) Kustomization(dir string) string {
	for _, name := range kustomizationFiles {
		if r.exists(dir, name) {
			return path.Join(dir, name)
		}
	}
	return ""
}

// Close removes the copy.
func (r *Repository) Close() error {
	defer os.RemoveAll(r.Work)
	return r.fetch.Close()
}

// Position returns a position in the copy as one in the directory.
func (r *Repository) Position(p diag.Pos) diag.Pos {
	p.File = path.Join(filepath.ToSlash(r.Dir), p.File)
	return p
}
