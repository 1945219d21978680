package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/incremental"
)

// A gitExport is an export to a repository.
type gitExport struct {
	*exportRun
	remote   *export.Remote
	path     string                // path of the tree in the repository
	base     string                // branch to push to or to merge into
	previous map[string]gitOutcome // outcomes of up-to-date clusters, by ID
	upToDate *incremental.UpToDate
}

// A gitOutcome is the cached outcome of an export to git for a cluster.
type gitOutcome struct {
	Branch string `json:"branch"` // branch of the cluster
	Tree   string `json:"tree"`   // object ID of its directory
	Files  int    `json:"files"`
}

// findBase determines the base branch, once.
func (g *gitExport) findBase(ctx context.Context) (err error) {
	if g.base = cmp.Or(g.base, g.git.branch); g.base == "" {
		g.base, err = g.remote.Default(ctx)
	}
	return err
}

// load loads the clusters that are not known to be up to date in the base
// branch; all of them unless onlyChanged is set.
func (g *gitExport) load(ctx context.Context, c *compiler.Compiler, patterns []string, onlyChanged bool) (err error) {
	there := sync.OnceValue(func() export.BranchListing {
		// Errors of the repository are reported when it is needed.
		if err := g.findBase(ctx); err != nil {
			return export.BranchListing{}
		}
		l, _ := g.remote.List(ctx, g.base, g.path)
		// An export must see removed clusters inside another cluster's
		// directory.
		for _, dir := range export.ClusterParents(l.Files) {
			delete(l.Trees, dir)
		}
		return l
	})
	var mu sync.Mutex
	g.previous = map[string]gitOutcome{}
	g.fleet, g.upToDate, err = incremental.Load(ctx, c, incremental.Task{
		Name:   fmt.Sprintf("export %s with %s to git: %q %q", g.layout, toolVersion(), g.path, g.git.pattern),
		Values: true,
		Holds: func(id, text string) bool {
			var last gitOutcome
			err := json.Unmarshal([]byte(text), &last)
			if err != nil || !onlyChanged || last.Tree == "" || there().Trees[id] != last.Tree {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			g.previous[id] = last
			return true
		},
	}, patterns...)
	return err
}

// dependsOnLast reports whether bundles depend on the previous export: on random values, or on
// Secrets that it has encrypted.
func (g *gitExport) dependsOnLast() bool {
	return g.fleet.Keeps() != nil || slices.ContainsFunc(g.fleet.Clusters, func(c *fleet.Cluster) bool { return len(c.Secrets) > 0 })
}

// recordOutcomes records the outcomes for the clusters of a part.
func (g *gitExport) recordOutcomes(ctx context.Context, p *exportPart, r export.BranchResult, sum export.Summary) {
	for c, files := range p.compiled(sum) {
		text, err := json.Marshal(gitOutcome{r.Branch, r.Trees[c.ID], files.Added + files.Changed + files.Unchanged})
		if err == nil {
			g.upToDate.Record(ctx, c, string(text))
		}
	}
}

// without returns the directories that the export of a part does not need:
// those of up-to-date clusters and of clusters in other parts. A part that
// removes clusters needs the latter.
func (g *gitExport) without(p *exportPart) export.Without {
	w := export.Without{}
	for _, id := range g.ids {
		if p.isRetired == nil {
			w[id] = ""
		}
	}
	for _, c := range p.clusters {
		delete(w, c.ID)
	}
	for id, last := range g.previous {
		w[id] = last.Tree
	}
	return w
}

// isOthers reports whether another export writes the directory of a cluster: it is not in the
// shard, or not selected.
func (g *gitExport) isOthers(id string) bool {
	if !slices.Contains(g.ids, id) {
		return g.isRetired == nil || !g.isRetired(id)
	}
	_, upToDate := g.previous[id]
	return !upToDate && !slices.ContainsFunc(g.fleet.Clusters, func(c *fleet.Cluster) bool { return c.ID == id })
}

// placeholder matches placeholders in a branch pattern.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// retired replaces all placeholders for a removed cluster, whose properties
// are unknown.
const retired = "retired"

// parts divides the clusters by branch. Removed clusters are in the only
// branch, or in a separate one if there are several.
func (g *gitExport) parts() (map[string]*exportPart, error) {
	pattern := g.git.pattern
	parts := map[string]*exportPart{}
	of := func(name string) *exportPart {
		if pattern == "" {
			name = g.base
		}
		if parts[name] == nil {
			parts[name] = &exportPart{unchangedFiles: map[string]int{}}
		}
		return parts[name]
	}
	var faults diag.List
	for _, c := range g.fleet.Clusters {
		name, err := g.git.branchOf(c)
		faults.Add(err)
		of(name).clusters = append(of(name).clusters, c)
	}
	for id, last := range g.previous {
		of(last.Branch).unchangedFiles[id] = last.Files
	}
	if g.isRetired != nil || pattern == "" {
		of(placeholder.ReplaceAllLiteralString(pattern, retired)).isRetired = g.isRetired
	}
	return parts, faults.Err()
}

// checkPattern returns a fault for an invalid --pr-branch.
func (g *gitOptions) checkPattern() error {
	if g.pattern == "" {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--pr-branch is empty", Hint: "write a name, as in fleetc/{environment}"}
	}
	if strings.ContainsAny(placeholder.ReplaceAllLiteralString(g.pattern, ""), "{}") {
		return &diag.Diag{
			Code: diag.CodeFlagValue,
			Msg:  fmt.Sprintf("--pr-branch %q has a brace without its counterpart", diag.Visible(g.pattern, diag.MaxText)),
			Hint: "write placeholders as in fleetc/{environment}",
		}
	}
	return checkBranchOf("pr-branch", g.pattern, placeholder.ReplaceAllLiteralString(g.pattern, retired), "it is not a valid branch name")
}

// branchOf returns the branch of a cluster.
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
			fault = &diag.Diag{
				Code: diag.CodeFlagValue,
				Msg:  "a cluster has no " + diag.Visible(text, diag.MaxText) + " for --pr-branch",
				Hint: diag.OneOf(text, []string{"{cluster}", "{environment}", "{labels.KEY}"}),
			}
			return ""
		}
		if value == "" {
			fault = &diag.Diag{
				Code: diag.CodeGitAddress, At: []diag.Pos{c.Pos}, Clusters: []string{c.ID},
				Msg:  "the cluster has no " + text + ", which --pr-branch needs",
				Hint: "set it, or name another branch",
			}
		}
		return value
	})
	return name, fault
}
