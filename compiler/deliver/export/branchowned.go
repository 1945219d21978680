package export

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// treeTrailer is the trailer of commits of updates with Onto. It has the tree of the
// commit: a commit that others amended or rebased has another tree.
const treeTrailer = "Fleetc-Tree: "

// fleetTrailer is the trailer of commits of updates with Fleet.
const fleetTrailer = "Fleetc-Fleet: "

// depth returns the number of commits to fetch: with Onto also the parent of the tip.
func (a *attempt) depth() int {
	const withParent = 2
	if a.Onto != "" {
		return max(a.Depth, withParent)
	}
	return max(a.Depth, 1)
}

// ownership returns Foreign if others changed the branch, Unchanged if its commit makes the changes
// of the update, and "" if the branch may be replaced, as when it is merged.
func (a *attempt) ownership(ctx context.Context) (BranchState, error) {
	if !a.own {
		if merged, err := a.isMerged(ctx); err != nil || merged {
			return "", err
		}
		return BranchForeign, nil
	}
	before, err := a.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", a.parents[0], a.tip)
	if err != nil {
		return "", a.fault(err)
	}
	after, err := a.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", a.base, a.tree)
	if err != nil || before != after {
		return "", a.fault(err)
	}
	if merged, err := a.isMerged(ctx); err != nil || merged {
		return "", err
	}
	return BranchUnchanged, nil
}

// isMerged reports whether the base contains the tip. If the base contains the
// tip but not its changes, they were reverted.
func (a *attempt) isMerged(ctx context.Context) (bool, error) {
	if fetched, err := a.fetchSince(ctx, a.tip, "tree:0"); err != nil || !fetched {
		return false, err
	}
	if missing, err := a.run(ctx, "rev-list", "--max-count=1", a.tip, "^"+a.base); err != nil || missing == "" {
		return err == nil, a.fault(err)
	}
	// git hides the parents of the oldest commits of a shallow copy. The commits name them.
	boundary, err := a.boundary()
	if err != nil {
		return false, err
	}
	commits, err := a.run(ctx, "rev-list", a.base)
	oldest := diag.Filter(strings.Fields(commits), func(id string) bool { return strings.Contains(boundary, id) })
	if err != nil {
		return false, a.fault(err)
	}
	for _, id := range oldest {
		if _, parents, err := a.isOwn(ctx, id, ""); err != nil || slices.Contains(parents, a.tip) {
			return err == nil, err
		}
	}
	return false, nil
}

// fetchSince fetches the commits of the base that are not older than a commit of the branch. It
// reports false if there are none, or if the server cannot send them.
func (a *attempt) fetchSince(ctx context.Context, commit, filter string) (bool, error) {
	if a.isRebased() {
		return false, nil
	}
	since, err := a.run(ctx, "log", "-1", "--no-show-signature", "--format=%ct", commit)
	if err != nil {
		return false, a.fault(err)
	}
	newer, err := a.run(ctx, "rev-list", "--max-count=1", "--max-age="+since, a.base)
	if err != nil || newer == "" {
		return false, a.fault(err)
	}
	_, err = a.remote(ctx, "fetch", "--quiet", "--shallow-since=@"+since, "--filter="+filter, "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", "origin", a.base)
	if failed := git.Failed(err); failed != nil && strings.Contains(failed.Text, "shallow") {
		return false, nil // the server does not support it
	}
	return err == nil, a.fault(err)
}

// leftover returns the state of a branch if the update changes nothing in Onto: Stale if the
// branch is merged or would change nothing either, Deleted if it would, and Foreign if others
// changed it.
func (a *attempt) leftover(ctx context.Context) (commit string, state BranchState, err error) {
	differing, _, err := a.changedFiles(ctx, a.base, a.tip)
	if err != nil || len(differing) == 0 || a.Owned {
		return a.base, BranchStale, err
	}
	if !a.own {
		if merged, err := a.isMerged(ctx); err != nil || merged {
			return a.base, BranchStale, err
		}
		return a.tip, BranchForeign, nil
	}
	changed, _, err := a.changedFiles(ctx, a.parents[0], a.tip)
	if err != nil {
		return "", "", err
	}
	clusters, err := a.clusterDirs(ctx, a.tip, changed)
	for _, file := range changed {
		_, differs := slices.BinarySearch(differing, file) // git sorts them
		if err == nil && differs && a.kept(file, clusters) == "" {
			return "", BranchDeleted, nil
		}
	}
	return a.base, BranchStale, err
}

// keep adds to the tree the changes that Keep selects in the branch, and returns the result
// and the number of their directories.
func (a *attempt) keep(ctx context.Context) (tree string, kept int, err error) {
	if a.Keep == nil || a.tip == "" || !a.own {
		return a.tree, 0, nil
	}
	changed, entries, err := a.changedFiles(ctx, a.parents[0], a.tip)
	if err != nil {
		return "", 0, err
	}
	moved, _, err := a.changedFiles(ctx, a.parents[0], a.base)
	if err != nil {
		return "", 0, err
	}
	clusters, err := a.clusterDirs(ctx, a.tip, slices.Concat(changed, moved))
	if err != nil {
		return "", 0, err
	}
	keeps := map[string][]string{}
	for i, file := range changed {
		if dir := a.kept(file, clusters); dir != "" {
			keeps[dir] = append(keeps[dir], entries[i])
		}
	}
	if len(keeps) > 0 {
		indexes, err := a.movedIndexes(ctx)
		if err != nil {
			return "", 0, err
		}
		moved = append(moved, indexes...)
	}
	for _, file := range moved {
		delete(keeps, a.kept(file, clusters))
	}
	if len(keeps) == 0 {
		return a.tree, 0, nil
	}
	if _, err := a.run(ctx, "read-tree", "--reset", a.tree); err != nil {
		return "", 0, a.fault(err)
	}
	lines := strings.Join(slices.Concat(slices.Collect(maps.Values(keeps))...), "\x00") + "\x00"
	if _, err := a.git().Run(ctx, strings.NewReader(lines), maxPrinted, "update-index", "-z", "--index-info"); err != nil {
		return "", 0, a.fault(err)
	}
	tree, err = a.run(ctx, "write-tree", "--missing-ok")
	return tree, len(keeps), a.fault(err)
}

// movedIndexes returns the index files that commits of the base have changed since the parent of
// the tip. Comparing the files would miss a change that the base merged and reverted.
func (a *attempt) movedIndexes(ctx context.Context) ([]string, error) {
	if fetched, err := a.fetchSince(ctx, a.parents[0], "blob:none"); err != nil || !fetched {
		return nil, err
	}
	boundary, err := a.boundary()
	if err != nil {
		return nil, err
	}
	args := []string{"log", "--first-parent", "--diff-merges=first-parent", "--name-only", "--no-renames", "--no-relative", "--no-show-signature", "-z", "--format=", a.base, "^" + a.parents[0]}
	for commit := range strings.FieldsSeq(boundary) {
		args = append(args, "^"+commit) // git log shows a boundary commit as adding all its files
	}
	out, err := a.run(ctx, append(args, "--", ":(top,glob)**/"+indexFile)...)
	return strings.Split(out, "\x00"), a.fault(err)
}

// clusterDirs returns the directories of clusters in a commit, and those in which it removed
// a cluster.
func (a *attempt) clusterDirs(ctx context.Context, commit string, changed []string) (map[string]bool, error) {
	all, err := a.entries(ctx, "-r", commit)
	for _, file := range changed {
		all = append(all, entry{name: file})
	}
	dirs := map[string]bool{}
	for _, e := range all {
		if path.Base(e.name) == indexFile {
			dirs[path.Dir(e.name)] = true
		}
	}
	return dirs, err
}

// kept returns the directory of the cluster that has a file, if another export writes it: Keep
// selects it, or it is not below Path. It returns an empty string otherwise.
func (a *attempt) kept(file string, clusters map[string]bool) string {
	for dir := range fleet.DirsAbove(path.Dir(file)) {
		if !clusters[dir] {
			continue
		}
		below := newListing([]entry{{name: dir}}, a.Path).Files
		if a.Keep != nil && (len(below) == 0 || a.Keep(below[0])) {
			return dir
		}
		break
	}
	return ""
}

// isOwn reports whether a commit was made with Onto for the fleet and not changed since, and
// returns its parents. An own commit has exactly one parent. An empty fleet matches all fleets.
func (r *Remote) isOwn(ctx context.Context, commit, fleet string) (own bool, parents []string, err error) {
	out, err := r.run(ctx, "cat-file", "commit", commit)
	if err != nil {
		return false, nil, r.fault(err)
	}
	header, message, _ := strings.Cut(out, "\n\n")
	var tree string
	for line := range strings.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			tree = value
		case "parent":
			parents = append(parents, value)
		}
	}
	lines := strings.Split(strings.TrimSpace(message), "\n")
	own = len(parents) == 1 && tree != "" && slices.Contains(lines, treeTrailer+tree) && (fleet == "" || slices.Contains(lines, fleetTrailer+fleet))
	return own, parents, nil
}

// Branches returns the names of the branches that begin with the prefix, sorted.
func (r *Remote) Branches(ctx context.Context, prefix string) ([]string, error) {
	if err := checkBranch(prefix + "x"); err != nil {
		return nil, err
	}
	out, err := r.remote(ctx, "ls-remote", "origin", "refs/heads/"+prefix+"*")
	if err != nil {
		return nil, r.fault(err)
	}
	var names []string
	for line := range strings.Lines(out) {
		_, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		// The pattern of git matches slashes, too, and the end of longer names.
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok && strings.HasPrefix(name, prefix) && checkBranch(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// DeleteOwned deletes those of the branches whose last commit was made with Onto and not
// changed since, and returns their names.
func (r *Remote) DeleteOwned(ctx context.Context, branches []string) ([]string, error) {
	if len(branches) == 0 {
		return nil, nil
	}
	tips, err := r.fetch(ctx, true, 1, branches)
	if err != nil {
		return nil, r.fault(err)
	}
	var deleted []string
	for i, name := range branches {
		own, _, err := r.isOwn(ctx, tips[i], "")
		if err != nil {
			return deleted, err
		}
		if !own {
			continue
		}
		ref := "refs/heads/" + name
		if _, err := r.remote(ctx, "push", "--quiet", "--no-verify", "--force-with-lease="+ref+":"+tips[i], "origin", ":"+ref); err != nil {
			return deleted, r.fault(err)
		}
		deleted = append(deleted, name)
	}
	return deleted, nil
}
