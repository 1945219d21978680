package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/spf13/cobra"
)

// gitOptions are the flags of an export to git.
type gitOptions struct {
	address, branch, path, pattern string
}

func (g *gitOptions) flags(cmd *cobra.Command) {
	g.placeFlags(cmd, "`URL` or path of a git repository to commit to")
	cmd.Flags().StringVar(&g.pattern, "pr-branch", "", "push to branches with this `name`, for pull requests into --branch, as in 'fleetc/{environment}'")
}

// placeFlags adds the flags that name a directory in a branch. usage is that of --git.
func (g *gitOptions) placeFlags(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&g.address, "git", "", usage)
	cmd.Flags().StringVar(&g.branch, "branch", "", "`branch` in the repository of --git (default: its default branch)")
	cmd.Flags().StringVar(&g.path, "path", "", "`directory` in the repository of --git (default: the top directory)")
	_ = cmd.RegisterFlagCompletionFunc("path", cobra.NoFileCompletions)
}

// open opens the repository of --git. An invalid --branch or --pr-branch is a fault, and so
// is an empty --path, such as that of a variable that is not set.
func (g *gitOptions) open(cmd *cobra.Command, o *options) (*export.Remote, error) {
	if cmd.Flags().Changed("path") && g.path == "" {
		return nil, &diag.Diag{Code: diag.CodeFlagValue, Msg: "--path is empty", Hint: "name a directory in the repository, or / for its top directory"}
	}
	if g.branch != "" {
		if err := checkBranchFlag("branch", g.branch); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("pr-branch") {
		if err := g.checkPattern(); err != nil {
			return nil, err
		}
	}
	return export.OpenRemote(cmd.Context(), g.address, o.dir)
}

// checkBranchFlag returns a fault for a flag whose value is not a valid branch name.
func checkBranchFlag(flag, value string) error {
	return checkBranchOf(flag, value, value, "it is not a valid branch name")
}

// checkBranchPrefix returns a fault for a flag if no branch name begins with its value and a
// slash.
func checkBranchPrefix(flag, value string) error {
	return checkBranchOf(flag, value, value+"/x", "it is not a valid beginning of a branch name")
}

// checkBranchOf returns a fault for the value of a flag if name is not a valid branch name.
func checkBranchOf(flag, value, name, why string) error {
	if export.IsBranchName(name) {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeFlagValue,
		Msg:  fmt.Sprintf("--%s does not accept %q: %s", flag, diag.Visible(value, diag.MaxText), why),
		Hint: export.BranchHint(name),
	}
}

// A gitResult is the result for a repository in the JSON output.
type gitResult struct {
	Repository string                `json:"repository"`
	Branches   []export.BranchResult `json:"branches"`
}

// toGit exports to branches of a git repository.
func (x *exportRun) toGit(ctx context.Context, c *compiler.Compiler, patterns []string) error {
	err := x.toRemote(ctx, c, patterns, true)
	if errors.Is(err, export.ErrTreeMismatch) {
		// The directory of an up-to-date cluster changed in the meantime.
		err = x.toRemote(ctx, c, patterns, false)
	}
	return err
}

// toRemote is toGit for all clusters or, with onlyChanged, those that are not
// up to date.
func (x *exportRun) toRemote(ctx context.Context, c *compiler.Compiler, patterns []string, onlyChanged bool) (err error) {
	g := &gitExport{exportRun: x, path: strings.Trim(x.git.path, "/")}
	if g.remote, err = x.git.open(x.cmd, x.o); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, g.remote.Close()) }()
	if err := g.load(ctx, c, patterns, onlyChanged); err != nil {
		return err
	}
	defer g.upToDate.Close()
	if err := deliver.CheckPlace(x.layout, x.fleet.Clusters, false, g.path); err != nil {
		return err
	}
	if err := g.findBase(ctx); err != nil {
		return err
	}
	parts, err := g.parts()
	if err != nil {
		return err
	}
	return g.push(ctx, parts)
}

// push exports each part to its branch.
func (g *gitExport) push(ctx context.Context, parts map[string]*exportPart) error {
	source, err := g.sourceCommit(ctx)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(parts))
	summaries := make([]export.Summary, len(names))
	updates := make([]export.BranchUpdate, len(names))
	for i, name := range names {
		u := export.BranchUpdate{Branch: name, Path: g.path, Without: g.without(parts[name])}
		var last *export.Tree // of a pull request that waits
		if g.git.pattern != "" {
			u.Onto, u.Keep, u.Fleet = g.base, g.isOthers, g.fleet.Module
		}
		if g.git.pattern != "" && g.dependsOnLast() {
			u.Last = func(dir string) {
				if last = nil; dir != "" {
					last = &export.Tree{Dir: dir, Name: inBranch(name, u.Path), Fleet: g.fleet.Module}
				}
			}
		}
		u.Write = func(_ context.Context, dir, _ string) (export.BranchChange, error) {
			digests := map[string]string{}
			tree := &export.Tree{Dir: dir, Name: inBranch(g.base, u.Path), Jobs: g.o.jobs}
			sum, err := g.write(tree, last, parts[name], func(b *fleet.Bundle) { digests[b.Cluster.ID] = b.Digest })
			summaries[i] = sum
			return deliver.ExportCommit(sum, digests, source, toolVersion()), err
		}
		updates[i] = u
	}
	results, err := g.remote.Push(ctx, g.check, updates...)
	pushed := slices.ContainsFunc(results, func(r export.BranchResult) bool { return r.State != export.BranchRefused })
	if err != nil && !pushed || errors.Is(err, export.ErrTreeMismatch) {
		return err
	}
	for i, r := range results {
		if err == nil {
			g.recordOutcomes(ctx, parts[r.Branch], r, summaries[i])
		}
	}
	return cmp.Or(err, g.report(g.remote.Name, g.base, results, summaries))
}

// inBranch returns the prefix of file names in faults for a branch.
func inBranch(branch, path string) string {
	if path != "" {
		path += "/"
	}
	return "git:" + branch + ":" + path
}

// sourceCommit returns the commit of the fleet, or an empty string outside of
// git.
func (x *exportRun) sourceCommit(ctx context.Context) (string, error) {
	commit, modified, err := deliver.Revision(ctx, x.fleet.Dir)
	if commit != "" && modified {
		commit += " with changes"
	}
	return commit, err
}

// report prints the results for branches. The error is errDifferences if a
// check found changes.
func (x *exportRun) report(repository, base string, results []export.BranchResult, summaries []export.Summary) error {
	out := &gitResult{Repository: repository, Branches: []export.BranchResult{}}
	differences := false
	for i, r := range results {
		if r.State == export.BranchUnchanged && len(summaries[i].Clusters) == 0 && len(results) > 1 {
			continue // no cluster was removed
		}
		out.Branches = append(out.Branches, r)
		differences = differences || r.State == export.BranchCommitted || r.State == export.BranchCreated || r.State == export.BranchDeleted
	}
	return orDifferences(x.print(export.Join(summaries...), out, base, nil), x.check && differences)
}

// printBranches prints what happened to branches. A repository is named if it is not empty,
// and base is the base of branches that have none in their result.
func printBranches(w io.Writer, branches []export.BranchResult, repository, base string, check bool) {
	to, in := "", ""
	if repository != "" {
		to, in = " to "+repository, " in "+repository
	}
	for _, b := range branches {
		said := map[export.BranchState]string{
			export.BranchUnchanged: "nothing to push",
			export.BranchCommitted: "commit " + b.Commit + " pushed" + to,
			export.BranchCreated:   "made of commit " + b.Commit + in,
			export.BranchStale:     "left as it is: " + cmp.Or(b.Base, base) + " has all of it",
			export.BranchDeleted:   "deleted: its changes are no longer needed",
			export.BranchForeign:   "left as it is: others committed to it",
			export.BranchRefused:   "not pushed: the repository rejects it",
			edit.BranchWaits:       "waits: as many branches exist as updates.maxBranches allows",
			edit.BranchFailed:      "not pushed: the updates cannot be made",
			edit.BranchGone:        "its group no longer exists; --prune deletes it, unless others committed to it",
			edit.BranchUnknown:     "left as it is: versions could not be read, so its group may exist",
		}
		if check {
			said[export.BranchCommitted], said[export.BranchCreated] = "would get a commit", "would be made of commit "+b.Commit
			said[export.BranchDeleted] = "would be deleted: its changes are no longer needed"
		}
		fmt.Fprintf(w, "%s: %s\n", diff.Inline(b.Branch), said[b.State])
	}
}
