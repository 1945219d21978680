package edit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// UpdateBranches says where the groups of updates are pushed.
type UpdateBranches struct {
	Git    string // address of the repository of the fleet; the remote origin if empty
	Base   string // branch that the groups change; the default branch if empty
	Prefix string // of the names of branches, without the last slash
	Prune  bool   // whether to delete branches of groups that no longer exist
}

// States of the branch of a group beside those of [export.BranchState].
const (
	BranchWaits   export.BranchState = "waiting" // updates.maxBranches is reached
	BranchFailed  export.BranchState = "failed"  // the updates cannot be made
	BranchGone    export.BranchState = "gone"    // the group no longer exists; [export.BranchDeleted] if the branch was deleted
	BranchUnknown export.BranchState = "unknown" // versions could not be read, so the group may exist
)

// A PushedGroup is a branch of a group of updates.
type PushedGroup struct {
	Group  string             `json:"group,omitempty"` // empty if the group no longer exists
	Branch string             `json:"branch"`
	Base   string             `json:"base"`
	State  export.BranchState `json:"state"`
	Commit string             `json:"commit,omitempty"`
}

// Push commits each group to a branch on top of the base branch, and pushes it. It
// leaves alone branches to which others committed. A branch that the repository refuses does
// not stop the others: it has a fault. The branches are those of the groups in
// their order, and then those of groups that no longer exist.
// It deletes none of these if the updates are incomplete.
func (u *Updates) Push(ctx context.Context, to UpdateBranches) (err error) {
	path, err := pathInRepository(u.Dir)
	if err != nil {
		return err
	}
	address := to.Git
	if address == "" {
		if address, err = originOf(ctx, u.Dir); err != nil {
			return err
		}
	}
	remote, err := export.OpenRemote(ctx, address, u.Dir)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, remote.Close()) }()
	if to.Base == "" {
		if to.Base, err = remote.Default(ctx); err != nil {
			return err
		}
	}
	existing, err := remote.Branches(ctx, to.Prefix+"/")
	if err != nil {
		return err
	}
	var faults diag.List
	var out []PushedGroup
	var pushes []export.BranchUpdate
	gone, deleted, err := removeGone(ctx, remote, u, to, existing)
	faults.Add(err)
	free := u.Limit - len(existing) + deleted
	for _, g := range u.Groups {
		p := PushedGroup{Group: g.Name, Branch: to.Prefix + "/" + g.Name, Base: to.Base}
		isNew := !slices.Contains(existing, p.Branch)
		switch {
		case !g.Ready():
			p.State = BranchFailed
		case isNew && u.Limit > 0 && free <= 0:
			p.State = BranchWaits
		default:
			if isNew {
				free--
			}
			pushes = append(pushes, export.BranchUpdate{Branch: p.Branch, Onto: to.Base, Path: path, Owned: true, Write: writeGroup(g, to.Base)})
		}
		out = append(out, p)
	}
	results, err := remote.Push(ctx, false, pushes...)
	for _, r := range results {
		i := slices.IndexFunc(out, func(p PushedGroup) bool { return p.Branch == r.Branch })
		out[i].State, out[i].Commit = r.State, r.Commit
	}
	faults.Add(err)
	out = slices.DeleteFunc(out, func(p PushedGroup) bool { return p.State == "" }) // the push failed before them
	u.Branches = append(append(u.Branches, out...), gone...)
	return faults.Err()
}

// removeGone returns the branches of groups that no longer exist, and deletes them if
// to.Prune says so. It also returns how many it deleted.
func removeGone(ctx context.Context, remote *export.Remote, found *Updates, to UpdateBranches, existing []string) ([]PushedGroup, int, error) {
	var gone []string
	for _, name := range existing {
		group := strings.TrimPrefix(name, to.Prefix+"/")
		if !slices.Contains(found.Others, group) && !slices.ContainsFunc(found.Groups, func(g *UpdateGroup) bool { return g.Name == group }) {
			gone = append(gone, name)
		}
	}
	var deleted []string
	var err error
	if to.Prune && !found.Incomplete {
		deleted, err = remote.DeleteOwned(ctx, gone)
	}
	var out []PushedGroup
	for _, name := range gone {
		p := PushedGroup{Branch: name, Base: to.Base, State: BranchGone}
		switch {
		case found.Incomplete:
			p.State = BranchUnknown
		case slices.Contains(deleted, name):
			p.State = export.BranchDeleted
		}
		out = append(out, p)
	}
	return out, len(deleted), err
}

// writeGroup returns the function that writes the files of a group to a checkout of the base
// branch. A file that differs from that of the working tree is a fault.
func writeGroup(g *UpdateGroup, base string) func(context.Context, string, string) (export.BranchChange, error) {
	return func(_ context.Context, dir, _ string) (export.BranchChange, error) {
		for _, name := range g.Files {
			existing, err := ReadFile(dir, name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return export.BranchChange{}, err
			}
			if err != nil || !bytes.Equal(existing, g.Before[name]) {
				return export.BranchChange{}, &diag.Diag{
					Code: diag.CodeChangedFile,
					At:   []diag.Pos{{File: name}}, Msg: "the file differs from that of the branch " + base,
					Hint: "run fleetc update in a clean checkout of " + base + ", or name another branch with --branch",
				}
			}
		}
		if err := writeFiles(dir, g.Before, g.After); err != nil {
			return export.BranchChange{}, err
		}
		return export.BranchChange{Files: g.Files, Message: g.Message() + "\nFleetc-Update: " + g.Name}, nil
	}
}

// pathInRepository returns the path of the fleet's root in its repository.
func pathInRepository(root string) (string, error) {
	rel, err := filepath.Rel(git.Top(root), root)
	if err != nil || rel == "." {
		return "", err
	}
	return filepath.ToSlash(rel), nil
}

// originOf returns the address of the remote origin of a repository.
func originOf(ctx context.Context, dir string) (string, error) {
	out, err := git.Repo{Dir: dir, Name: dir, For: "--branch-per-group"}.Run(ctx, nil, 1<<16, "config", "--get", "remote.origin.url")
	if git.Failed(err) != nil {
		return "", &diag.Diag{Code: diag.CodeGitAddress, Msg: "the repository of the fleet has no remote origin", Hint: "name a repository with --git", Cause: err}
	}
	return strings.TrimSpace(string(out)), err
}
