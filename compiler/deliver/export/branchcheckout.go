package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// ErrTreeMismatch says that an excluded directory has another tree than the
// update expects.
var ErrTreeMismatch = errors.New("an excluded directory has another tree than expected")

// A BranchListing has the contents of a directory in a repository at the tip of a
// branch.
type BranchListing struct {
	Trees map[string]string // object IDs of directories, by paths relative to the directory
	Files []string          // paths relative to the directory
}

// List lists a directory at the tip of a branch; the listing is empty when the
// branch does not exist. File contents are not fetched if the server supports
// filters.
func (r *Remote) List(ctx context.Context, branch, path string) (BranchListing, error) {
	err := cmp.Or(checkPath(path), checkBranch(branch))
	if err != nil {
		return BranchListing{}, err
	}
	l, err := r.list(ctx, branch)
	if err != nil || len(l.branches) == 0 {
		return BranchListing{}, err
	}
	tips, err := r.fetch(ctx, true, 1, l.branches)
	if err != nil {
		return BranchListing{}, r.fault(err)
	}
	return r.ListCommit(ctx, tips[0], path)
}

// ListCommit lists a directory in a commit of the copy, as the base of an update that is being
// written. The listing of an empty commit is empty.
func (r *Remote) ListCommit(ctx context.Context, commit, path string) (BranchListing, error) {
	if commit == "" {
		return BranchListing{}, nil
	}
	all, err := r.entries(ctx, "-r", "-t", commit)
	return newListing(all, path), err
}

// newListing returns the entries below a path.
func newListing(all []entry, path string) BranchListing {
	l := BranchListing{Trees: map[string]string{}}
	for _, e := range all {
		name, below := e.name, true
		if path != "" {
			name, below = strings.CutPrefix(e.name, path+"/")
		}
		switch {
		case !below:
		case e.kind == "tree":
			l.Trees[name] = e.id
		default:
			l.Files = append(l.Files, name)
		}
	}
	return l
}

// An entry is a line of git ls-tree.
type entry struct{ mode, kind, id, name string }

// entries lists a commit or tree with git ls-tree: with -r and -d all directories, with -r and -t
// the files too. git ls-tree -z prints <mode> <kind> <ID>TAB<name>NUL.
func (r *Remote) entries(ctx context.Context, args ...string) ([]entry, error) {
	out, err := r.run(ctx, append([]string{"ls-tree", "-z", "--full-tree"}, args...)...)
	if err != nil {
		return nil, r.fault(err)
	}
	var all []entry
	for line := range strings.SplitSeq(out, "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 3 {
			all = append(all, entry{f[0], f[1], f[2], name})
		}
	}
	return all, nil
}

// checkoutLast writes the files of the branch below Path, except for excluded directories, to a
// directory beside the working tree, and returns it. It returns an empty name if the branch is not
// one commit on the base.
func (a *attempt) checkoutLast(ctx context.Context) (string, error) {
	if a.tip == "" || !a.isRebased() {
		return "", nil
	}
	if _, err := a.checkout(ctx, a.tip); err != nil {
		return "", err
	}
	last := filepath.Join(a.dir, "last")
	err := os.RemoveAll(last)
	if err == nil {
		err = os.Rename(filepath.Join(a.dir, worktree), last)
	}
	if err != nil {
		return "", fmt.Errorf("check out %s: %w", a.Name, err)
	}
	return filepath.Join(last, filepath.FromSlash(a.Path)), nil
}

// checkout writes the files of a commit below Path into the working tree,
// except for excluded directories, and returns the directory of Path in it.
// Afterwards the index has all files of the commit.
func (a *attempt) checkout(ctx context.Context, commit string) (string, error) {
	top := filepath.Join(a.dir, worktree)
	err := os.RemoveAll(top)
	if err == nil {
		err = os.Mkdir(top, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("check out %s: %w", a.Name, err)
	}
	dir := filepath.Join(top, filepath.FromSlash(a.Path))
	if _, err := a.run(ctx, "read-tree", "--empty"); err != nil {
		return "", a.fault(err)
	}
	if commit == "" {
		return dir, a.verify(nil)
	}
	// Listing the tree bounds its size: a small repository can have a tree with
	// very many files.
	all, err := a.entries(ctx, "-r", "-t", commit)
	if err == nil && commit == a.base {
		err = a.verify(newListing(all, a.Path).Trees)
	}
	if err != nil {
		return "", err
	}
	tree, err := a.includedTree(ctx, all)
	if err != nil {
		return "", err
	}
	// git fetches all missing objects of a tree in one request, and writes the
	// files that are not yet in the index.
	if _, err := a.run(ctx, "read-tree", "--empty"); err != nil {
		return "", a.fault(err)
	}
	if _, err := a.remote(ctx, "read-tree", "-m", "-u", tree); err != nil {
		return "", a.fault(err)
	}
	if _, err := a.run(ctx, "read-tree", commit); err != nil {
		return "", a.fault(err)
	}
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return "", &diag.Diag{Code: diag.CodeGitAddress, Msg: fmt.Sprintf("%s: %s is not a directory", a.Name, a.Path), Hint: "name another directory with --path"}
	}
	return dir, nil
}

// verify returns ErrTreeMismatch when an excluded directory does not have the
// expected tree.
func (a *attempt) verify(trees map[string]string) error {
	for name, want := range a.Without {
		if want != "" && trees[name] != want {
			return ErrTreeMismatch
		}
	}
	return nil
}

// includedTree makes the tree to check out: the files below Path, or a file at
// Path, without excluded directories.
func (a *attempt) includedTree(ctx context.Context, all []entry) (string, error) {
	without := map[string]bool{}
	for name := range a.Without {
		without[path.Join(a.Path, name)] = true
	}
	var lines strings.Builder
	for _, e := range all {
		in, out := a.Path == "", false
		for d := range fleet.DirsAbove(e.name) {
			in, out = in || d == a.Path, out || without[d] && d != e.name
		}
		if in && !out && e.kind != "tree" {
			lines.WriteString(e.mode + " " + e.id + "\t" + e.name + "\x00")
		}
	}
	if _, err := a.git().Run(ctx, strings.NewReader(lines.String()), maxPrinted, "update-index", "-z", "--index-info"); err != nil {
		return "", a.fault(err)
	}
	tree, err := a.run(ctx, "write-tree", "--missing-ok")
	return tree, a.fault(err)
}

// Without maps directories that an update excludes to the object IDs that their
// trees must have; an empty ID allows any tree.
type Without map[string]string
