package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/branch"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/export"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// gitOptions are the flags of an export to git.
type gitOptions struct {
	address, branch, path, pattern string
}

func (g *gitOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.address, "git", "", "`URL` or path of a git repository to commit to")
	cmd.Flags().StringVar(&g.branch, "branch", "", "`branch` of --git (default: the repository's own)")
	cmd.Flags().StringVar(&g.path, "path", "", "`directory` in the repository of --git (default: its top)")
	cmd.Flags().StringVar(&g.pattern, "pr-branch", "", "push to branches of this `name` for pull requests into --branch, as in 'fleetc/{environment}'")
	for _, name := range []string{"git", "branch", "path", "pr-branch"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// A gitResult is what became of a repository, as -o json prints it.
type gitResult struct {
	Repository string      `json:"repository"`
	Branches   []gitBranch `json:"branches"`
}

type gitBranch struct {
	Branch string `json:"branch"`
	State  string `json:"state"`
	Commit string `json:"commit,omitempty"`
	Base   string `json:"base,omitempty"`
}

// toGit exports to branches of a git repository.
func (x *exporting) toGit(ctx context.Context, c *compiler.Compiler, patterns []string) error {
	err := x.toGitUnless(ctx, c, patterns, func(is, was gitOutcome) bool { return is.Tree == was.Tree })
	if errors.Is(err, branch.ErrOther) {
		// Others have changed the directory of a settled cluster while this went on.
		err = x.toGitUnless(ctx, c, patterns, func(gitOutcome, gitOutcome) bool { return false })
	}
	return err
}

// toGitUnless exports the clusters that are not settled.
func (x *exporting) toGitUnless(ctx context.Context, c *compiler.Compiler, patterns []string, settles func(is, was gitOutcome) bool) (err error) {
	path := strings.Trim(x.git.path, "/")
	remote, err := branch.Open(ctx, x.git.address, x.o.dir)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, remote.Close()) }()
	base := sync.OnceValues(func() (string, error) {
		if x.git.branch != "" {
			return x.git.branch, nil
		}
		return remote.Default(ctx)
	})
	ids, err := c.ClusterIDs()
	if err != nil {
		return err
	}
	trees := sync.OnceValue(func() map[string]string {
		b, err := base()
		if err != nil {
			return nil // which is told below
		}
		trees, _ := remote.Trees(ctx, b, path, ids)
		return trees
	})
	loaded, settled, err := c.LoadUnsettled(ctx, compiler.Task{
		Name: fmt.Sprintf("export %s with %s to git: %q %q", x.layout, toolVersion(), path, x.git.pattern),
		Holds: func(id, text string) bool {
			was, err := gitOutcomeOf(text)
			return err == nil && was.Tree != "" && settles(gitOutcome{Tree: trees()[id]}, was)
		},
	}, patterns...)
	defer settled.Close()
	if err != nil {
		return err
	}
	x.fleet = loaded
	if err := checkPlace(x.layout, loaded.Clusters, false, path); err != nil {
		return err
	}
	onto, err := base()
	if err != nil {
		return err
	}
	were := map[string]gitOutcome{}
	for id, text := range settled.Outcomes {
		if were[id], err = gitOutcomeOf(text); err != nil {
			return err
		}
	}
	parts, err := x.parts(onto, were)
	if err != nil {
		return err
	}
	without := func(p *part) branch.Without { return p.without(ids, were) }
	return x.push(ctx, remote, onto, path, parts, without, settled)
}

// push exports each part to its branch.
func (x *exporting) push(ctx context.Context, remote *branch.Remote, base, path string, parts map[string]*part, without func(*part) branch.Without, settled *compiler.Settled) error {
	source, err := x.sourceCommit(ctx)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(parts))
	summaries := make([]export.Summary, len(names))
	updates := make([]branch.Update, len(names))
	for i, name := range names {
		u := branch.Update{Branch: name, Path: path, Without: without(parts[name])}
		if name != base || x.git.pattern != "" {
			u.Onto = base
		}
		u.Write = func(_ context.Context, dir string) (branch.Change, error) {
			digests := map[string]string{}
			tree := &export.Tree{Dir: dir, Name: inBranch(base, u.Path), Jobs: x.o.jobs}
			sum, err := x.write(tree, tree.Begin, parts[name], func(b *fleet.Bundle) { digests[b.Cluster.ID] = b.Digest })
			summaries[i] = sum
			c := change(sum, digests, source)
			c.Directories = slices.Sorted(maps.Keys(digests))
			return c, err
		}
		updates[i] = u
	}
	results, err := remote.Push(ctx, x.check, updates...)
	if err != nil && len(results) == 0 {
		return err
	}
	for i, r := range results {
		if err == nil {
			settleInGit(ctx, settled, parts[r.Branch], r, summaries[i])
		}
	}
	return cmp.Or(err, x.report(remote.Name, base, results, summaries))
}

// A gitOutcome is what an export to git came to with a cluster, as it is kept.
type gitOutcome struct {
	Branch string `json:"branch"` // that it went to
	Tree   string `json:"tree"`   // object ID of its directory
	Files  int    `json:"files"`
}

func gitOutcomeOf(text string) (o gitOutcome, err error) {
	err = json.Unmarshal([]byte(text), &o)
	return o, err
}

// settleInGit notes what became of the clusters of a part.
func settleInGit(ctx context.Context, settled *compiler.Settled, p *part, r branch.Result, sum export.Summary) {
	for _, c := range p.clusters {
		i := slices.IndexFunc(sum.Clusters, func(r export.Result) bool { return r.Cluster == c.ID })
		if i < 0 || r.Trees[c.ID] == "" {
			continue
		}
		files := sum.Clusters[i]
		text, err := json.Marshal(gitOutcome{r.Branch, r.Trees[c.ID], files.Added + files.Changed + files.Unchanged})
		if err == nil {
			settled.Settle(ctx, c, string(text))
		}
	}
}

// without returns the directories, of all clusters of the fleet, that the export of
// a part leaves alone: those of settled clusters, which are what they were, and
// those of clusters that are not its own. To find what is gone it has to see those.
func (p *part) without(ids []string, were map[string]gitOutcome) branch.Without {
	w := branch.Without{}
	for _, id := range ids {
		if p.gone == nil {
			w[id] = ""
		}
	}
	for _, c := range p.clusters {
		delete(w, c.ID)
	}
	for id, was := range were {
		w[id] = was.Tree
	}
	return w
}

// inBranch is what faults write before the names of files in a branch.
func inBranch(branch, path string) string {
	if path != "" {
		path += "/"
	}
	return "git:" + branch + ":" + path
}

// placeholder matches what a pattern for branches takes from a cluster.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// retired stands for the value of a cluster that the fleet does not have any
// more, of which nothing else is known.
const retired = "retired"

// parts divides the clusters by the branch that they go to. Those that are gone
// go with all others when these go to one, and to one of their own when not.
func (x *exporting) parts(base string, were map[string]gitOutcome) (map[string]*part, error) {
	if x.git.pattern == "" && x.cmd.Flags().Changed("pr-branch") {
		return nil, &diag.Diag{Msg: "--pr-branch names no branch", Hint: "write a name, as in fleetc/{environment}"}
	}
	parts := map[string]*part{}
	of := func(name string) *part {
		if parts[name] == nil {
			parts[name] = &part{kept: map[string]export.Holding{}}
		}
		return parts[name]
	}
	if x.git.pattern == "" {
		p := of(base)
		p.clusters, p.gone = x.fleet.Clusters, x.gone
		for id, was := range were {
			p.kept[id] = export.Holding{Files: was.Files}
		}
		return parts, nil
	}
	var faults diag.List
	for _, c := range x.fleet.Clusters {
		name, err := x.git.branchOf(c)
		faults.Add(err)
		of(name).clusters = append(of(name).clusters, c)
	}
	for id, was := range were {
		of(was.Branch).kept[id] = export.Holding{Files: was.Files}
	}
	if x.gone != nil {
		of(placeholder.ReplaceAllLiteralString(x.git.pattern, retired)).gone = x.gone
	}
	return parts, faults.Err()
}

// branchOf returns the name of the branch that a cluster goes to.
func (g *gitOptions) branchOf(c *fleet.Cluster) (string, error) {
	var fault error
	name := placeholder.ReplaceAllStringFunc(g.pattern, func(text string) string {
		key := strings.Trim(text, "{}")
		label, isLabel := strings.CutPrefix(key, "labels.")
		var value string
		switch {
		case key == "environment":
			value = c.Environment
		case key == "cluster":
			value = c.ID
		case isLabel:
			value = c.Labels[label]
		default:
			fault = &diag.Diag{Msg: "a cluster has no " + diag.Visible(text, diag.MaxText) + " for --pr-branch", Hint: diag.OneOf(text, []string{"{cluster}", "{environment}", "{labels.KEY}"})}
			return ""
		}
		if value == "" {
			fault = &diag.Diag{At: []diag.Pos{c.Pos}, Clusters: []string{c.ID}, Msg: "the cluster has no " + text + ", which --pr-branch asks for", Hint: "set it, or name another branch"}
		}
		return value
	})
	return name, fault
}

// sourceCommit says which commit the fleet is; empty when it is in none.
func (x *exporting) sourceCommit(ctx context.Context) (string, error) {
	commit, modified, err := x.o.compiler().Revision(ctx, x.fleet.Dir)
	if commit != "" && modified {
		commit += " with changes"
	}
	return commit, err
}

// maxTrailers is how many clusters a commit names.
const maxTrailers = 20

// change returns what an export wrote, and what the commit says of it.
func change(sum export.Summary, digests map[string]string, source string) branch.Change {
	var c branch.Change
	var trailers, ids []string
	all := sha256.New()
	for _, r := range sum.Clusters {
		for _, f := range r.Files {
			c.Files = append(c.Files, f.Name)
		}
		if r.Changes() == 0 {
			continue
		}
		ids = append(ids, r.Cluster)
		line := "Bundle-Digest: " + r.Cluster + " " + cmp.Or(digests[r.Cluster], "none")
		trailers = append(trailers, line)
		fmt.Fprintln(all, line)
	}
	if len(trailers) > maxTrailers {
		trailers = []string{fmt.Sprintf("Bundle-Digest: %d clusters sha256:%x", len(ids), all.Sum(nil))}
	}
	if source != "" {
		trailers = append(trailers, "Source-Commit: "+source)
	}
	trailers = append(trailers, "Fleetc-Version: "+toolVersion())
	subject := plural(len(ids), "cluster", "clusters") + " changed"
	if len(ids) == 1 {
		subject = ids[0] + " changed"
	}
	c.Message = fmt.Sprintf("fleetc: %s\n\nFiles: %d added, %d changed, %d removed\n\n%s\n",
		subject, sum.Added, sum.Changed, sum.Removed, strings.Join(trailers, "\n"))
	return c
}

// report prints what became of the branches. The error is errDifferences when
// there was something to push and nothing is to be.
func (x *exporting) report(repository, base string, results []branch.Result, summaries []export.Summary) error {
	out := &gitResult{Repository: repository, Branches: []gitBranch{}}
	differences := false
	for i, r := range results {
		if r.State == branch.Unchanged && len(summaries[i].Clusters) == 0 && len(results) > 1 {
			continue // nothing is gone
		}
		b := gitBranch{Branch: r.Branch, State: string(r.State), Commit: r.Commit}
		if x.git.pattern != "" {
			b.Base = base
		}
		out.Branches = append(out.Branches, b)
		differences = differences || r.State == branch.Committed || r.State == branch.Created
	}
	sum := export.Join(summaries...)
	w := x.cmd.OutOrStdout()
	var err error
	if x.output == "json" {
		err = exportJSON(w, sum, out)
	} else if err = printSummary(w, sum, x.exportOptions); err == nil {
		err = printBranches(w, out, base, x.check)
	}
	if err == nil && x.check && differences {
		return errDifferences
	}
	return err
}

func printBranches(w io.Writer, result *gitResult, base string, check bool) error {
	for _, b := range result.Branches {
		said := map[branch.State]string{
			branch.Unchanged: "nothing to push",
			branch.Committed: "commit " + b.Commit + " pushed to " + result.Repository,
			branch.Created:   "made of commit " + b.Commit + " in " + result.Repository,
			branch.Stale:     "left as it is: " + base + " has all of it",
		}
		if check {
			said[branch.Committed], said[branch.Created] = "would get a commit", "would be made of commit "+b.Commit
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", b.Branch, said[branch.State(b.State)]); err != nil {
			return err
		}
	}
	return nil
}
