package branch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
)

// ErrOther says that a directory is not the tree that an update takes it for.
var ErrOther = errors.New("a directory in the repository is another one")

// Trees returns the object IDs of directories, which are given by their paths
// below path, at the tip of a branch: of those that are there. It fetches no files.
func (r *Remote) Trees(ctx context.Context, branch, path string, directories []string) (map[string]string, error) {
	if err := r.checkBranch(ctx, branch); err != nil {
		return nil, err
	}
	l, err := r.list(ctx, branch)
	if err != nil || len(l.branches) == 0 {
		return nil, err
	}
	tips, err := r.fetch(ctx, true, l.branches)
	if err != nil {
		return nil, r.fault(err)
	}
	return r.trees(ctx, tips[0], path, directories)
}

// trees is Trees of a commit or tree that is here.
func (r *Remote) trees(ctx context.Context, of, below string, directories []string) (map[string]string, error) {
	if len(directories) == 0 {
		return nil, nil
	}
	args := []string{"ls-tree", "-d", "-z", "--full-tree", of, "--"}
	for _, d := range directories {
		args = append(args, path.Join(below, d))
	}
	out, err := r.run(ctx, args...)
	if err != nil {
		return nil, r.fault(err)
	}
	found := map[string]string{}
	for _, e := range entriesOf(out) {
		if e.kind == "tree" {
			found[e.name] = e.id
		}
	}
	trees := map[string]string{}
	for _, d := range directories {
		if id := found[path.Join(below, d)]; id != "" {
			trees[d] = id
		}
	}
	return trees, nil
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
	// git fetches what is missing of a tree at once. What is in the index for that has
	// to go: what is there already, it would not write.
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
	have := map[string]string{}
	if a.base != "" {
		var err error
		if have, err = a.trees(ctx, a.base, a.Path, a.Without.names()); err != nil {
			return err
		}
	}
	for name, want := range a.Without {
		if want != "" && have[name] != want {
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
	for d := file; d != "."; d = path.Dir(d) {
		below := d
		if a.Path != "" {
			in = in || d == a.Path
			below = strings.TrimPrefix(d, a.Path+"/")
		}
		if _, without := a.Without[below]; without && d != file && (a.Path == "" || below != d) {
			return false
		}
	}
	return in
}

// Without are directories that an update leaves alone, by their paths, and the
// object ID of the tree that each has to be; empty when it may be any.
type Without map[string]string

func (w Without) names() (names []string) {
	for name := range w {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
