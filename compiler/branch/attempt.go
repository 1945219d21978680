package branch

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/git"
)

// An attempt is an update on its way: a tree that stands on a tip.
type attempt struct {
	*Remote
	Update
	count int // of tries that others made in vain

	base    string   // commit that the tree was made from; empty for none
	tip     string   // of the branch as the repository has it; empty when it has none
	tree    string   // object ID
	changes []string // of the tree from that of the base, as update-index reads them
	paths   []string // that they concern
	message string
	written map[string]string // the trees of directories as they were written
	empty   bool              // nothing was
}

// ready makes the tree for the branches as they are now.
func (a *attempt) ready(ctx context.Context) error {
	was := a.base
	if err := a.look(ctx); err != nil {
		return err
	}
	if a.tree != "" && was != "" && a.base != "" {
		if was == a.base {
			return nil
		}
		done, err := a.replay(ctx, was)
		if done || err != nil {
			return err
		}
	}
	return a.write(ctx)
}

// look fetches the tips.
func (a *attempt) look(ctx context.Context) error {
	wanted := []string{a.Branch}
	if a.Onto != "" {
		wanted = append(wanted, a.Onto)
	}
	l, err := a.list(ctx, wanted...)
	if err != nil {
		return err
	}
	from := l.standard
	switch {
	case a.Onto != "" && !slices.Contains(l.branches, a.Onto):
		return &diag.Diag{
			Msg:  fmt.Sprintf("%s has no branch %s to merge into", a.Name, a.Onto),
			Hint: "name one that is there with --branch, or make it by an export without --pr-branch",
		}
	case a.Onto != "":
		from = a.Onto
	case slices.Contains(l.branches, a.Branch):
		from = a.Branch
	}
	branches := append(l.branches, from)
	slices.Sort(branches)
	branches = slices.DeleteFunc(slices.Compact(branches), func(b string) bool { return b == "" })
	var tips []string
	if len(branches) > 0 {
		tips, err = a.fetch(ctx, a.Path != "" || len(a.Without) > 0, branches)
	}
	if failed := git.Failed(err); failed != nil && strings.Contains(failed.Text, "couldn't find remote ref") {
		return a.moved(err)
	}
	if err != nil {
		return a.fault(err)
	}
	a.base, a.tip = "", ""
	if i, ok := slices.BinarySearch(branches, from); ok {
		a.base = tips[i]
	}
	if i, ok := slices.BinarySearch(branches, a.Branch); ok {
		a.tip = tips[i]
	}
	return nil
}

// write has the files written onto the base, and makes the tree.
func (a *attempt) write(ctx context.Context) error {
	dir, err := a.checkout(ctx)
	if err != nil {
		return err
	}
	change, err := a.Write(ctx, dir)
	if err != nil {
		return err
	}
	var files strings.Builder
	for _, f := range change.Files {
		files.WriteString(path.Join(a.Path, f) + "\x00")
	}
	_, err = a.git().Run(ctx, strings.NewReader(files.String()), maxPrinted, "update-index", "--add", "--remove", "-z", "--stdin")
	if err != nil {
		return a.unwritable(err)
	}
	a.message, a.empty = change.Message, len(change.Files) == 0
	if err := a.writeTree(ctx); err != nil {
		return err
	}
	if a.written = nil; len(change.Directories) == 0 {
		return nil
	}
	all, err := a.entries(ctx, a.tree, "-d")
	trees := listingOf(all, a.Path).Trees
	a.written = map[string]string{}
	for _, d := range change.Directories {
		if id := trees[d]; id != "" {
			a.written[d] = id
		}
	}
	return err
}

// unwritable is the fault of files that cannot be in the repository, such as
// those where it has a submodule or a symbolic link.
func (a *attempt) unwritable(err error) error {
	failed := git.Failed(err)
	if failed == nil {
		return err
	}
	return &diag.Diag{Msg: a.Name + " cannot have these files: " + failed.Error(), Hint: "name another directory with --path", Cause: err}
}

// writeTree makes a tree of the index, and remembers how it differs from the
// base.
func (a *attempt) writeTree(ctx context.Context) error {
	tree, err := a.run(ctx, "write-tree", "--missing-ok")
	if err != nil {
		return a.fault(err)
	}
	a.tree, a.changes, a.paths = tree, nil, nil
	if a.base == "" {
		return nil
	}
	out, err := a.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", a.base, tree)
	if err != nil {
		return a.fault(err)
	}
	// :<mode> <mode> <ID> <ID> <action>NUL<path>NUL
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		about := strings.Fields(fields[i])
		if len(about) != 5 {
			return fmt.Errorf("git lists %q", diag.Visible(fields[i], diag.MaxText))
		}
		a.changes = append(a.changes, about[1]+" "+about[3]+"\t"+fields[i+1])
		a.paths = append(a.paths, fields[i+1])
	}
	return nil
}

// replay makes on the base that there is now the changes that were made on
// another one. It does not when any of their files is not as it was there: then
// they may be others.
func (a *attempt) replay(ctx context.Context, was string) (done bool, err error) {
	out, err := a.run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", was, a.base)
	if err != nil {
		return false, a.fault(err)
	}
	mine, in := map[string]bool{}, map[string]bool{}
	for _, p := range a.paths {
		mine[p] = true
		for d := range above(p) {
			in[d] = true
		}
	}
	for theirs := range strings.SplitSeq(out, "\x00") {
		// A file in the place of a directory of ours, or the other way round, is
		// in the way too.
		for p := range above(theirs) {
			if mine[p] || p == theirs && in[p] {
				return false, nil
			}
		}
	}
	if _, err := a.run(ctx, "read-tree", "--reset", a.base); err != nil {
		return false, a.fault(err)
	}
	changes := strings.NewReader(strings.Join(append(a.changes, ""), "\x00"))
	if _, err := a.git().Run(ctx, changes, maxPrinted, "update-index", "-z", "--index-info"); err != nil {
		return false, a.fault(err)
	}
	return true, a.writeTree(ctx)
}

// push pushes what is to be pushed. The error is errMoved when the branch is not
// where it was.
func (a *attempt) push(ctx context.Context, check bool) (Result, error) {
	commit, state, err := a.commit(ctx, check)
	result := Result{Branch: a.Branch, State: state, Commit: commit, Trees: a.written}
	if err != nil || check || state == Unchanged || state == Stale {
		return result, err
	}
	ref := "refs/heads/" + a.Branch
	_, err = a.remote(ctx, "push", "--quiet", "--no-thin", "--no-verify", "--force-with-lease="+ref+":"+a.tip, "origin", commit+":"+ref)
	failed := git.Failed(err)
	if failed == nil {
		return result, err
	}
	out, listErr := a.remote(ctx, "ls-remote", "origin", ref)
	if listErr != nil {
		return result, a.refused(err)
	}
	now := ""
	for line := range strings.Lines(out) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), "\t"); name == ref {
			now = id
		}
	}
	switch {
	case now == commit:
		return result, nil // it was pushed, and the answer was lost
	case now != a.tip, strings.Contains(failed.Text, "cannot lock ref"), strings.Contains(failed.Text, "(failed to update ref"):
		return result, a.moved(err)
	}
	return result, a.refused(err)
}

// commit makes the commit, when there is one to be made, and says what is to
// become of the branch.
func (a *attempt) commit(ctx context.Context, check bool) (commit string, state State, err error) {
	same := a.empty
	if a.base != "" {
		same, err = a.has(ctx, a.base, a.tree)
	}
	switch {
	case err != nil:
		return "", "", err
	case same && a.Onto != "" && a.tip != "":
		return a.base, Stale, nil
	case same && a.Onto == "" && a.tip == "" && a.base != "":
		return a.base, Created, nil
	case same:
		return a.base, Unchanged, nil
	}
	if a.Onto != "" && a.tip != "" {
		if same, err := a.has(ctx, a.tip, a.tree); err != nil {
			return "", "", err
		} else if same && a.standsOn(ctx) {
			return a.tip, Unchanged, nil
		}
	}
	if check {
		return "", Committed, nil
	}
	args := []string{"commit-tree", "-F", "-"}
	if sign, err := a.run(ctx, "config", "--type=bool", "--default=false", "--get", "commit.gpgSign"); err != nil {
		return "", "", a.fault(err)
	} else if sign == "true" {
		args = append(args, "-S")
	}
	if a.base != "" {
		args = append(args, "-p", a.base)
	}
	out, err := a.git().Run(ctx, strings.NewReader(a.message), maxPrinted, append(args, a.tree)...)
	if failed := git.Failed(err); failed != nil {
		return "", "", &diag.Diag{
			Msg:  "git cannot make the commit: " + diag.Visible(strings.Join(strings.Fields(failed.Text), " "), diag.MaxText),
			Hint: "run git commit --allow-empty in another repository: it has to work without a question", Cause: err,
		}
	}
	return strings.TrimSpace(string(out)), Committed, err
}

// has reports whether a commit has the tree.
func (a *attempt) has(ctx context.Context, commit, tree string) (bool, error) {
	out, err := a.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{tree}")
	return out == tree, a.fault(err)
}

// standsOn reports whether the tip of the branch is one commit on its base. The
// copy has no history, but the commit tells.
func (a *attempt) standsOn(ctx context.Context) bool {
	out, err := a.run(ctx, "cat-file", "commit", a.tip)
	header, _, _ := strings.Cut(out, "\n\n")
	parents := slices.DeleteFunc(strings.Split(header, "\n"), func(line string) bool { return !strings.HasPrefix(line, "parent ") })
	return err == nil && slices.Equal(parents, []string{"parent " + a.base})
}
