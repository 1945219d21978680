package export

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// Limits of the copy of the branches that [Remote.Files] reads, in bytes.
const (
	maxBranchFiles = 256 << 20
	maxAlone       = 32 << 20 // of one branch
)

// BranchFile is the content of a file at the top of a branch.
type BranchFile struct {
	Data []byte // nil if the branch does not have the file, or if the file is too large
	Err  error  // why the branch cannot be read
}

// Files returns the file with the name at the top of each branch that exists, by branch. A file
// with more than limit bytes is too large. A branch that cannot be read does not affect others.
func (r *Remote) Files(ctx context.Context, branches []string, name string, limit int) (map[string]BranchFile, error) {
	for _, b := range branches {
		if err := checkBranch(b); err != nil {
			return nil, err
		}
	}
	l, err := r.list(ctx, branches...)
	if err != nil || len(l.branches) == 0 {
		return nil, err
	}
	files, err := r.files(ctx, maxBranchFiles, l.branches, name, limit)
	if err == nil || ctx.Err() != nil {
		return files, err
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	files = map[string]BranchFile{}
	for _, b := range l.branches {
		files[b] = r.fileAlone(limited, b, name, limit)
	}
	return files, ctx.Err()
}

// fileAlone reads the file of one branch in another copy.
func (r *Remote) fileAlone(ctx context.Context, branch, name string, limit int) BranchFile {
	dir, err := os.MkdirTemp(r.dir, "alone-")
	if err != nil {
		return BranchFile{Err: err}
	}
	one := &Remote{Name: r.Name, remoteAddress: r.remoteAddress, dir: dir, timeout: r.timeout}
	defer func() { _ = one.Close() }() // Close of r removes it otherwise
	if err := one.init(ctx); err != nil {
		return BranchFile{Err: err}
	}
	files, err := one.files(ctx, maxAlone, []string{branch}, name, limit)
	if err != nil {
		return BranchFile{Err: err}
	}
	return files[branch]
}

// files is [Remote.Files] of branches that exist, with a limit of the copy.
func (r *Remote) files(ctx context.Context, most int64, branches []string, name string, limit int) (map[string]BranchFile, error) {
	copied := r.git()
	copied.Env = append(copied.Env, "GIT_NO_LAZY_FETCH=1") // of files above the limit
	if err := r.fetchSmall(ctx, copied, most, branches, limit); err != nil {
		return nil, err
	}
	files := map[string]BranchFile{}
	for i, b := range branches {
		data, err := copied.Run(ctx, nil, limit, "cat-file", "blob", fmt.Sprintf("refs/fleetc/file/%d:%s", i, name))
		d, isFault := errors.AsType[*diag.Diag](err)
		if err != nil && git.Failed(err) == nil && !(isFault && d.Code == diag.CodeGitLimits) {
			return nil, r.fault(err)
		}
		files[b] = BranchFile{Data: data} // git fails if the branch or the copy does not have the file
	}
	return files, nil
}

// fetchSmall fetches branches as refs/fleetc/file/INDEX without files of more than limit
// bytes. A server without filters sends all files.
func (r *Remote) fetchSmall(ctx context.Context, copied git.Repo, most int64, branches []string, limit int) error {
	args := []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", fmt.Sprintf("--filter=blob:limit=%d", limit+1), "origin"}
	for i, b := range branches {
		args = append(args, fmt.Sprintf("+refs/heads/%s:refs/fleetc/file/%d", b, i))
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	_, err := copied.RunWithin(limited, most, maxPrinted, args...)
	return r.fault(err)
}
