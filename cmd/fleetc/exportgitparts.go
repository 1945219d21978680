package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/deliver/export/branch"
	"github.com/fleetc/fleetc/compiler/incremental"
)

// A gitExport is an export to a repository.
type gitExport struct {
	*exporting
	remote  *branch.Remote
	path    string                // of the fleet's tree in the repository
	base    string                // the branch that is pushed to, or merged into
	were    map[string]gitOutcome // of settled clusters, by their IDs
	settled *incremental.UpToDate
}

// A gitOutcome is what an export to git came to with a cluster, as it is kept.
type gitOutcome struct {
	Branch string `json:"branch"` // that it went to
	Tree   string `json:"tree"`   // object ID of its directory
	Files  int    `json:"files"`
}

// findBase finds out which branch it is, once.
func (g *gitExport) findBase(ctx context.Context) (err error) {
	if g.base == "" {
		g.base = g.git.branch
	}
	if g.base == "" {
		g.base, err = g.remote.Default(ctx)
	}
	return err
}

// load loads the clusters of which the base does not have what an export would
// write, as far as that is known; all of them unless settling.
func (g *gitExport) load(ctx context.Context, c *compiler.Compiler, patterns []string, settling bool) (err error) {
	there := sync.OnceValue(func() branch.Listing {
		// What is wrong with the repository, is told when it is needed.
		if err := g.findBase(ctx); err != nil {
			return branch.Listing{}
		}
		l, _ := g.remote.List(ctx, g.base, g.path)
		// What used to be clusters, in the directory of one, an export has to see.
		for _, dir := range export.ClusterParents(l.Files) {
			delete(l.Trees, dir)
		}
		return l
	})
	var mu sync.Mutex
	g.were = map[string]gitOutcome{}
	g.fleet, g.settled, err = incremental.Load(ctx, c, incremental.Task{
		Name: fmt.Sprintf("export %s with %s to git: %q %q", g.layout, toolVersion(), g.path, g.git.pattern),
		Holds: func(id, text string) bool {
			var was gitOutcome
			err := json.Unmarshal([]byte(text), &was)
			if err != nil || !settling || was.Tree == "" || there().Trees[id] != was.Tree {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			g.were[id] = was
			return true
		},
	}, patterns...)
	return err
}

// settle notes what became of the clusters of a part.
func (g *gitExport) settle(ctx context.Context, p *part, r branch.Result, sum export.Summary) {
	for c, files := range p.written(sum) {
		text, err := json.Marshal(gitOutcome{r.Branch, r.Trees[c.ID], files.Added + files.Changed + files.Unchanged})
		if err == nil {
			g.settled.Record(ctx, c, string(text))
		}
	}
}

// without returns the directories that the export of a part leaves alone: those of
// settled clusters, which are what they were, and those of clusters that are not its
// own. To find what is gone it has to see those.
func (g *gitExport) without(p *part) branch.Without {
	w := branch.Without{}
	for _, id := range g.ids {
		if p.gone == nil {
			w[id] = ""
		}
	}
	for _, c := range p.clusters {
		delete(w, c.ID)
	}
	for id, was := range g.were {
		w[id] = was.Tree
	}
	return w
}

// placeholder matches what a pattern for branches takes from a cluster.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// retired stands for the value of a cluster that the fleet does not have any
// more, of which nothing else is known.
const retired = "retired"

// parts divides the clusters by the branch that they go to. Those that are gone
// go with all others when these go to one, and to one of their own when not.
func (g *gitExport) parts() (map[string]*part, error) {
	pattern := g.git.pattern
	if pattern == "" && g.cmd.Flags().Changed("pr-branch") {
		return nil, &diag.Diag{Msg: "--pr-branch names no branch", Hint: "write a name, as in fleetc/{environment}"}
	}
	parts := map[string]*part{}
	of := func(name string) *part {
		if pattern == "" {
			name = g.base
		}
		if parts[name] == nil {
			parts[name] = &part{kept: map[string]int{}}
		}
		return parts[name]
	}
	var faults diag.List
	for _, c := range g.fleet.Clusters {
		name, err := g.git.branchOf(c)
		faults.Add(err)
		of(name).clusters = append(of(name).clusters, c)
	}
	for id, was := range g.were {
		of(was.Branch).kept[id] = was.Files
	}
	if g.gone != nil || pattern == "" {
		of(placeholder.ReplaceAllLiteralString(pattern, retired)).gone = g.gone
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
