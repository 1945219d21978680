package branch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
)

// ErrOther says that a directory is not the tree that an update takes it for.
var ErrOther = errors.New("a directory in the repository is another one")

// A Listing is what a directory in a repository has, at the tip of a branch.
type Listing struct {
	Trees map[string]string // object IDs of the directories in it, by their paths below it
	Files []string          // paths below it
}

// List returns what is below a path at the tip of a branch; nothing when there is no
// such branch. Servers that can do so send no contents of files.
func (r *Remote) List(ctx context.Context, branch, path string) (Listing, error) {
	err := cmp.Or(checkPath(path), r.checkBranch(ctx, branch))
	if err != nil {
		return Listing{}, err
	}
	l, err := r.list(ctx, branch)
	if err != nil || len(l.branches) == 0 {
		return Listing{}, err
	}
	tips, err := r.fetch(ctx, true, l.branches)
	if err != nil {
		return Listing{}, r.fault(err)
	}
	all, err := r.entries(ctx, tips[0], "-t")
	return listingOf(all, path), err
}

// listingOf returns what of a commit or tree is below a path.
func listingOf(all []entry, path string) Listing {
	l := Listing{Trees: map[string]string{}}
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

// entries returns what a commit or tree has: with -d the directories, with -t the files
// too. What git ls-tree -z prints is <mode> <kind> <ID>TAB<name>NUL.
func (r *Remote) entries(ctx context.Context, of, which string) ([]entry, error) {
	out, err := r.run(ctx, "ls-tree", "-r", which, "-z", "--full-tree", of)
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

// above yields a path and the directories that it is in, from the innermost on. What
// no honest repository has, such as a name that begins with a slash, has an end too.
func above(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for d := name; d != "." && d != "/" && yield(d); {
			d = path.Dir(d)
		}
	}
}

// checkout makes the files of the base that are below the path, and not in one of
// the directories that are left alone, those of the working tree. The index has
// all files of the base. It returns where the path is in the working tree.
func (a *attempt) checkout(ctx context.Context) (string, error) {
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
	if a.base == "" {
		return dir, a.verify(nil)
	}
	// A tree can have more files than bytes, and that is told by listing it.
	all, err := a.entries(ctx, a.base, "-t")
	if err == nil {
		err = a.verify(listingOf(all, a.Path).Trees)
	}
	if err != nil {
		return "", err
	}
	wanted, err := a.wanted(ctx, all)
	if err != nil {
		return "", err
	}
	// git fetches all that is missing of a tree at once, and writes what the index does
	// not have yet.
	if _, err := a.run(ctx, "read-tree", "--empty"); err != nil {
		return "", a.fault(err)
	}
	if _, err := a.remote(ctx, "read-tree", "-m", "-u", wanted); err != nil {
		return "", a.fault(err)
	}
	if _, err := a.run(ctx, "read-tree", a.base); err != nil {
		return "", a.fault(err)
	}
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return "", &diag.Diag{Msg: fmt.Sprintf("%s has no directory %s, but something else of that name", a.Name, a.Path), Hint: "name another directory with --path"}
	}
	return dir, nil
}

// verify returns ErrOther when a directory that is left alone is not the tree that
// it has to be, of those that there are.
func (a *attempt) verify(trees map[string]string) error {
	for name, want := range a.Without {
		if want != "" && trees[name] != want {
			return ErrOther
		}
	}
	return nil
}

// wanted makes the tree of the files that are to be checked out: those below the path,
// or in its place, that are in no directory that is left alone.
func (a *attempt) wanted(ctx context.Context, all []entry) (string, error) {
	without := map[string]bool{}
	for name := range a.Without {
		without[path.Join(a.Path, name)] = true
	}
	var lines strings.Builder
	for _, e := range all {
		in, out := a.Path == "", false
		for d := range above(e.name) {
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

// Without are directories that an update leaves alone, by their paths, and the
// object ID of the tree that each has to be; empty when it may be any.
type Without map[string]string
