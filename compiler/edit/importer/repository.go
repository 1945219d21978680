package importer

import (
	"context"
	"os"
	"path"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
)

// A Repository is a directory of files that an import reads, and a copy in which readers
// may add and replace files.
type Repository struct {
	Dir  string // absolute path, for positions
	Work string // absolute path of the copy
}

// kustomizationFiles are the names of kustomization files, in kustomize's order.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// openRepository copies a directory. hint says which directory the user should name. The
// caller must call Close.
func openRepository(ctx context.Context, dir, hint string) (*Repository, error) {
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
	r := &Repository{Dir: abs, Work: work}
	if err := edit.CopyTree(ctx, abs, work); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Kustomization returns the kustomization file of a directory; none if it has none.
func (r *Repository) Kustomization(dir string) string {
	for _, name := range kustomizationFiles {
		file := path.Join(dir, name)
		if info, err := os.Stat(filepath.Join(r.Work, filepath.FromSlash(file))); err == nil && !info.IsDir() {
			return file
		}
	}
	return ""
}

// Close removes the copy.
func (r *Repository) Close() { os.RemoveAll(r.Work) }

// Position returns a position in the copy as one in the directory.
func (r *Repository) Position(p diag.Pos) diag.Pos {
	p.File = path.Join(filepath.ToSlash(r.Dir), p.File)
	return p
}
