package export

import (
	"context"
	"slices"
	"strings"
)

// treeTrailer is the trailer of commits of updates with Onto. It has the tree of the
// commit: a commit that others amended or rebased has another tree.
const treeTrailer = "Fleetc-Tree: "

// depth returns the number of commits to fetch: with Onto also the parent of the tip.
func (a *attempt) depth() int {
	const withParent = 2
	if a.Onto != "" {
		return max(a.Depth, withParent)
	}
	return max(a.Depth, 1)
}

// ownership returns the state of a branch that is not replaced: Foreign if others changed
// it, and Unchanged if its commit makes the changes of the update. It is empty otherwise.
func (a *attempt) ownership(ctx context.Context) (BranchState, error) {
	own, parent, err := a.isOwn(ctx, a.tip)
	switch {
	case err != nil:
		return "", err
	case !own:
		return BranchForeign, nil
	}
	before, err := a.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", parent, a.tip)
	if err != nil {
		return "", a.fault(err)
	}
	after, err := a.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", a.base, a.tree)
	if err == nil && before == after {
		return BranchUnchanged, nil
	}
	return "", a.fault(err)
}

// leftover returns the state of a branch if the update changes nothing in Onto: Stale if the
// branch would change nothing either, Deleted if it would, and Foreign if others changed it.
func (a *attempt) leftover(ctx context.Context) (commit string, state BranchState, err error) {
	differing, _, err := a.changedFiles(ctx, a.base, a.tip)
	if err != nil || len(differing) == 0 || a.Owned {
		return a.base, BranchStale, err
	}
	own, parent, err := a.isOwn(ctx, a.tip)
	if err != nil || !own {
		return a.tip, BranchForeign, err
	}
	changed, _, err := a.changedFiles(ctx, parent, a.tip)
	if err != nil || !slices.ContainsFunc(changed, func(file string) bool { return slices.Contains(differing, file) }) {
		return a.base, BranchStale, err
	}
	return "", BranchDeleted, nil
}

// isOwn reports whether a commit was made with Onto and not changed since, and returns its
// parent.
func (r *Remote) isOwn(ctx context.Context, commit string) (own bool, parent string, err error) {
	out, err := r.run(ctx, "cat-file", "commit", commit)
	if err != nil {
		return false, "", r.fault(err)
	}
	header, message, _ := strings.Cut(out, "\n\n")
	var tree string
	var parents []string
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
	if len(parents) != 1 || tree == "" || !slices.Contains(lines, treeTrailer+tree) {
		return false, "", nil
	}
	return true, parents[0], nil
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
		own, _, err := r.isOwn(ctx, tips[i])
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
