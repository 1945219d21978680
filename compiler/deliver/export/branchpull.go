package export

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Pull fetches the tip of a branch, and writes its files into the working tree, which is
// the same directory at each call. An empty name is the default branch. The caller must
// not change the files.
func (r *Remote) Pull(ctx context.Context, branch string) (dir, commit string, err error) {
	if branch == "" {
		if branch, err = r.Default(ctx); err != nil {
			return "", "", err
		}
	}
	if err := checkBranch(branch); err != nil {
		return "", "", err
	}
	dir = filepath.Join(r.dir, worktree)
	// The compiler looks for the top of the repository.
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+filepath.Join(r.dir, repository)+"\n"), 0o644); err != nil {
		return "", "", fmt.Errorf("check out %s: %w", r.Name, err)
	}
	tips, err := r.fetch(ctx, false, 1, []string{branch})
	if err != nil {
		return "", "", r.fault(err)
	}
	commit = tips[0]
	if _, err := r.entries(ctx, "-r", "-t", commit); err != nil { // bounds the number of files
		return "", "", err
	}
	if _, err := r.run(ctx, "read-tree", "--reset", "-u", commit); err != nil {
		return "", "", r.fault(err)
	}
	if r.pulled == commit {
		return dir, commit, nil
	}
	r.pulled = commit
	// Without this, the copy grows with each commit.
	if _, err := r.run(ctx, "gc", "--quiet", "--prune=now"); err != nil {
		return "", "", r.fault(err)
	}
	return dir, commit, nil
}
