package export

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// An attempt is an update in progress: a new tree and the commit that it is
// based on.
type attempt struct {
	*Remote
	BranchUpdate
	count int // retries so far

	base    string   // commit that the tree is based on; empty for none
	tip     string   // tip of the branch in the repository; empty when the branch does not exist
	own     bool     // with Onto: the tip was made by such an update, and not changed since
	parents []string // of the tip, with Onto
	tree    string   // object ID
	changes []string // differences between the trees of base and update, as update-index reads them
	paths   []string // changed paths
	message string
	written map[string]string // tree IDs of the directories of the change
	empty   bool              // the update changes no file
}

// prepare makes the tree for the current tips of the branches.
func (a *attempt) prepare(ctx context.Context) error {
	oldBase := a.base
	if err := a.fetchTips(ctx); err != nil {
		return err
	}
	if a.tree != "" && oldBase != "" && oldBase == a.base {
		return nil
	}
	if a.tree != "" && oldBase != "" && a.base != "" && !a.Exclusive {
		done, err := a.replay(ctx, oldBase)
		if done || err != nil {
			return err
		}
	}
	return a.writeFiles(ctx)
}

// fetchTips fetches the tips of the branches and sets base and tip.
func (a *attempt) fetchTips(ctx context.Context) error {
	names := []string{a.Branch}
	if a.Onto != "" {
		names = append(names, a.Onto)
	}
	l, err := a.list(ctx, names...)
	if err != nil {
		return err
	}
	if a.Existing && !slices.Contains(l.branches, a.Branch) {
		if err := a.missing(ctx); err != nil {
			return err
		}
	}
	from := l.defaultBranch
	switch {
	case a.Detached:
		from = a.Branch
	case a.Onto != "" && !slices.Contains(l.branches, a.Onto):
		hint := "name an existing branch with --branch"
		if !a.Owned {
			hint += ", or create it with an export without --pr-branch"
		}
		return &diag.Diag{Code: diag.CodeGitAddress, Msg: fmt.Sprintf("%s has no branch %s to merge into", a.Name, a.Onto), Hint: hint}
	case a.Onto != "":
		from = a.Onto
	case slices.Contains(l.branches, a.Branch):
		from = a.Branch
	}
	branches := l.branches
	if !a.Detached {
		branches = append(branches, from)
	}
	branches = slices.DeleteFunc(diag.Distinct(branches), func(b string) bool { return b == "" })
	var tips []string
	if len(branches) > 0 {
		tips, err = a.fetch(ctx, a.Path != "" || len(a.Without) > 0 || a.Depth > 0 || a.Onto != "", a.depth(), branches)
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
	if a.Onto == "" || a.tip == "" {
		return nil
	}
	a.own, a.parents, err = a.isOwn(ctx, a.tip, a.Fleet)
	return err
}

// missing returns the fault of a branch that does not exist, and nil if the repository is empty.
func (a *attempt) missing(ctx context.Context) error {
	names, err := a.Branches(ctx, "")
	if err != nil || len(names) == 0 {
		return err
	}
	for i, name := range names {
		names[i] = diag.Visible(name, diag.MaxText)
	}
	return &diag.Diag{
		Code: diag.CodeGitAddress, Msg: a.Name + " has no branch " + a.Branch,
		Hint: cmp.Or(diag.DidYouMean(a.Branch, names), "correct --branch, or create the branch with fleetc export --git"),
	}
}

// writeFiles calls Write in a checkout of the base and makes the tree.
func (a *attempt) writeFiles(ctx context.Context) error {
	if a.Last != nil {
		last, err := a.checkoutLast(ctx)
		if err != nil {
			return err
		}
		a.Last(last)
	}
	dir, err := a.checkout(ctx, a.base)
	if err != nil {
		return err
	}
	change, err := a.Write(ctx, dir, a.base)
	if err != nil {
		return a.fullDisk(err)
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
	all, err := a.entries(ctx, "-r", "-d", a.tree)
	trees := newListing(all, a.Path).Trees
	a.written = map[string]string{}
	for _, d := range change.Directories {
		if id := trees[d]; id != "" {
			a.written[d] = id
		}
	}
	return err
}

// unwritable returns the fault for files that git cannot add, for example below
// a submodule or a symbolic link.
func (a *attempt) unwritable(err error) error {
	failed := git.Failed(err)
	if failed == nil || failed.IsFullDisk() {
		return a.fullDisk(err)
	}
	return &diag.Diag{Code: diag.CodeGitAddress, Msg: a.Name + ": cannot add these files: " + failed.Error(), Hint: "name another directory with --path", Cause: err}
}

// writeTree makes a tree of the index and records how it differs from the base.
func (a *attempt) writeTree(ctx context.Context) error {
	tree, err := a.run(ctx, "write-tree", "--missing-ok")
	if err != nil {
		return a.fault(err)
	}
	a.tree, a.changes, a.paths = tree, nil, nil
	if a.base == "" {
		return nil
	}
	a.paths, a.changes, err = a.changedFiles(ctx, a.base, tree)
	return err
}

// changedFiles returns the paths of the files that differ between two trees, and for each its
// entry in the second tree as update-index reads it.
func (r *Remote) changedFiles(ctx context.Context, before, after string) (paths, entries []string, err error) {
	out, err := r.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
	if err != nil {
		return nil, nil, r.fault(err)
	}
	// :<mode> <mode> <ID> <ID> <action>NUL<path>NUL
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		about := strings.Fields(fields[i])
		if len(about) != 5 {
			return nil, nil, fmt.Errorf("git lists %q", diag.Visible(fields[i], diag.MaxText))
		}
		entries = append(entries, about[1]+" "+about[3]+"\t"+fields[i+1])
		paths = append(paths, fields[i+1])
	}
	return paths, entries, nil
}

// replay applies the recorded changes to the current base. It returns false,
// and changes nothing, when any of the changed files differs between oldBase
// and the current base: Write must run again then.
func (a *attempt) replay(ctx context.Context, oldBase string) (done bool, err error) {
	out, err := a.run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", oldBase, a.base)
	if err != nil {
		return false, a.fault(err)
	}
	mine, parents := map[string]bool{}, map[string]bool{}
	for _, p := range a.paths {
		mine[p] = true
		for d := range fleet.DirsAbove(p) {
			parents[d] = true
		}
	}
	for theirs := range strings.SplitSeq(out, "\x00") {
		// Replacing one of our directories by a file, or the reverse, is a
		// conflict, too.
		for p := range fleet.DirsAbove(theirs) {
			if mine[p] || p == theirs && parents[p] {
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

// push commits and pushes the tree. It returns errMoved when the branch has
// moved since fetchTips. The state of a push that the repository does not take is BranchRefused.
func (a *attempt) push(ctx context.Context, check bool) (BranchResult, error) {
	commit, state, err := a.commit(ctx, check)
	result := BranchResult{Branch: a.Branch, State: state, Commit: commit, Base: a.Onto, Trees: a.written}
	if err != nil || check || !slices.Contains([]BranchState{BranchCommitted, BranchCreated, BranchDeleted}, state) {
		return result, err
	}
	ref := "refs/heads/" + a.Branch
	_, err = a.remote(ctx, "push", "--quiet", "--no-thin", "--no-verify", "--force-with-lease="+ref+":"+a.tip, "origin", commit+":"+ref)
	failed := git.Failed(err)
	if failed == nil {
		return result, err
	}
	now, inTheWay, listErr := a.tips(ctx)
	switch {
	case listErr != nil:
		return result, a.refused(err)
	case now == commit:
		return result, nil // the push succeeded, but its answer was lost
	}
	result.State, result.Commit = BranchRefused, ""
	switch {
	case inTheWay != "":
		return result, &diag.Diag{
			Code: diag.CodeGitAddress,
			Msg:  fmt.Sprintf("%s: the branch %s cannot exist beside the branch %s: git stores branches as files", a.Name, a.Branch, inTheWay),
			Hint: "remove " + inTheWay + ", or name another branch", Cause: err,
		}
	case now != a.tip, strings.Contains(failed.Text, "cannot lock ref"), strings.Contains(failed.Text, "(failed to update ref"):
		return result, a.moved(err)
	}
	return result, a.refused(err)
}

// tips returns the present commit of the branch, empty if there is none, and a branch beside
// which it cannot exist: one of the names is a directory of the other.
func (a *attempt) tips(ctx context.Context) (tip, inTheWay string, err error) {
	const heads = "refs/heads/"
	patterns := []string{"ls-remote", "origin", heads + a.Branch, heads + a.Branch + "/*"}
	for dir := path.Dir(a.Branch); dir != "."; dir = path.Dir(dir) {
		patterns = append(patterns, heads+dir)
	}
	out, err := a.remote(ctx, patterns...)
	for line := range strings.Lines(out) {
		id, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		switch name := strings.TrimPrefix(ref, heads); {
		case name == a.Branch:
			tip = id
		case strings.HasPrefix(name, a.Branch+"/"), strings.HasPrefix(a.Branch, name+"/"):
			inTheWay = diag.Visible(name, diag.MaxText)
		}
	}
	return tip, inTheWay, err
}

// commit makes the commit, if one is needed, and returns the state that the
// branch will have.
func (a *attempt) commit(ctx context.Context, check bool) (commit string, state BranchState, err error) {
	same := a.empty
	tree, kept, err := a.keep(ctx)
	if a.base != "" && err == nil {
		same, err = a.hasTree(ctx, a.base, tree)
	}
	switch {
	case err != nil:
		return "", "", err
	case same && a.Onto != "" && a.tip != "":
		return a.leftover(ctx)
	case same && a.Onto == "" && a.tip == "" && a.base != "":
		return a.base, BranchCreated, nil
	case same:
		return a.base, BranchUnchanged, nil
	}
	if a.Owned && a.tip != "" {
		if state, err := a.ownership(ctx); state != "" || err != nil {
			return a.tip, state, err
		}
	}
	if a.Onto != "" && a.tip != "" {
		if same, err := a.hasTree(ctx, a.tip, tree); err != nil {
			return "", "", err
		} else if same && a.isRebased() {
			return a.tip, BranchUnchanged, nil
		}
	}
	if check {
		return "", BranchCommitted, nil
	}
	args := []string{"commit-tree", "-F", "-"}
	if sign, err := a.run(ctx, "config", "--type=bool", "--default=false", "--get", "commit.gpgSign"); err != nil {
		return "", "", a.fault(err)
	} else if sign == "true" {
		args = append(args, "-S")
	}
	if a.base != "" && !a.Detached {
		args = append(args, "-p", a.base)
	}
	out, err := a.git().Run(ctx, strings.NewReader(a.fullMessage(tree, kept)), maxPrinted, append(args, tree)...)
	if failed := git.Failed(err); failed != nil && !failed.IsFullDisk() {
		return "", "", &diag.Diag{
			Code: diag.CodePushRefused,
			Msg:  "git cannot make the commit: " + diag.Line(failed.Text, diag.MaxText),
			Hint: "run git commit --allow-empty in another repository: it must work without a prompt", Cause: err,
		}
	}
	return strings.TrimSpace(string(out)), BranchCommitted, a.fault(err)
}

// fullMessage returns the message with trailers about the commit, for a tree in which that many
// clusters are kept.
func (a *attempt) fullMessage(tree string, kept int) string {
	message := a.message
	if kept > 0 {
		message += fmt.Sprintf("Kept-Clusters: %d\n", kept)
	}
	if a.Owned {
		message += "\n" // other messages end with trailers
	}
	if a.Fleet != "" {
		message += fleetTrailer + a.Fleet + "\n"
	}
	if a.Onto != "" {
		message += treeTrailer + tree + "\n"
	}
	return message
}

// hasTree reports whether a commit has the tree.
func (a *attempt) hasTree(ctx context.Context, commit, tree string) (bool, error) {
	out, err := a.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{tree}")
	return out == tree, a.fault(err)
}

// isRebased reports whether the tip of the branch is a commit whose only parent
// is the base.
func (a *attempt) isRebased() bool { return slices.Equal(a.parents, []string{a.base}) }
