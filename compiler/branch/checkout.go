package branch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
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
	return r.listTree(ctx, tips[0], path, "-t")
}

// listTree returns the directories below a path of a commit or tree, with -t the files
// too.
func (r *Remote) listTree(ctx context.Context, of, path, what string) (Listing, error) {
	out, err := r.run(ctx, "ls-tree", "-r", what, "-z", "--full-tree", of)
	if err != nil {
		return Listing{}, r.fault(err)
	}
	l := Listing{Trees: map[string]string{}}
	for _, e := range entriesOf(out) {
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
	return l, nil
}

// An entry is a line of git ls-tree.
type entry struct{ mode, kind, id, name string }

// entriesOf reads what git ls-tree -z prints: <mode> <kind> <ID>TAB<name>NUL.
func entriesOf(listing string) []entry {
	var all []entry
	for line := range strings.SplitSeq(listing, "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 3 {
			all = append(all, entry{f[0], f[1], f[2], name})
		}
	}
	return all
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
	if err := a.verify(ctx); err != nil {
		return "", err
	}
	if a.base == "" {
		return dir, nil
	}
	wanted, err := a.wanted(ctx)
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
// it has to be.
func (a *attempt) verify(ctx context.Context) error {
	known := maps.Clone(a.Without)
	maps.DeleteFunc(known, func(_, tree string) bool { return tree == "" })
	if len(known) == 0 {
		return nil
	}
	var have Listing
	if a.base != "" {
		var err error
		if have, err = a.listTree(ctx, a.base, a.Path, "-d"); err != nil {
			return err
		}
	}
	for name, tree := range known {
		if have.Trees[name] != tree {
			return ErrOther
		}
	}
	return nil
}

// wanted makes the tree of the files that are to be checked out.
func (a *attempt) wanted(ctx context.Context) (string, error) {
	// A tree can have more files than bytes, and that is told by listing it.
	listing, err := a.run(ctx, "ls-tree", "-r", "-z", "--full-tree", a.base)
	if err != nil {
		return "", a.fault(err)
	}
	var lines strings.Builder
	for _, e := range entriesOf(listing) {
		if a.wants(e.name) {
			lines.WriteString(e.mode + " " + e.id + "\t" + e.name + "\x00")
		}
	}
	if _, err := a.git().Run(ctx, strings.NewReader(lines.String()), maxPrinted, "update-index", "-z", "--index-info"); err != nil {
		return "", a.fault(err)
	}
	tree, err := a.run(ctx, "write-tree", "--missing-ok")
	return tree, a.fault(err)
}

// wants reports whether a file is below the path, or in its place, and in no
// directory that is left alone.
func (a *attempt) wants(file string) bool {
	in := a.Path == ""
	for d := range above(file) {
		in = in || d == a.Path
		name := d
		if a.Path != "" {
			name, _ = strings.CutPrefix(d, a.Path+"/")
		}
		if _, without := a.Without[name]; without && d != file && path.Join(a.Path, name) == d {
			return false
		}
	}
	return in
}

// Without are directories that an update leaves alone, by their paths, and the
// object ID of the tree that each has to be; empty when it may be any.
type Without map[string]string
