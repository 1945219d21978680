package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/spf13/cobra"
)

// progressOptions are the flags that say where the progress of clusters is read.
type progressOptions struct {
	reports string
	age     time.Duration
}

func (p *progressOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.reports, "reports", "", "read reports of fleetc rollout report instead of clusters: `[URL][#BRANCH]`, by default in the repository of --git and below the branch "+defaultReports)
	f.DurationVar(&p.age, "report-age", 15*time.Minute, "a cluster with an older report counts as unreachable")
}

// defaultReports is the name below which the branches of reports are by default.
const defaultReports = "fleetc-reports"

// open opens the repository of the reports, nil if clusters are read.
func (p *progressOptions) open(cmd *cobra.Command, o *options, repository string) (*deliver.GitOpsReports, error) {
	switch {
	case p.age <= 0:
		return nil, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("--report-age does not accept %s", p.age), Hint: "pass how old a report may be, as in --report-age 15m"}
	case !cmd.Flags().Changed("reports"):
		return nil, nil
	}
	address, name, _ := strings.Cut(p.reports, "#")
	name = cmp.Or(name, defaultReports)
	if err := checkBranchPrefix("reports", name); err != nil {
		return nil, err
	}
	remote, err := export.OpenRemote(cmd.Context(), cmp.Or(address, repository), o.dir)
	return &deliver.GitOpsReports{Remote: remote, Branch: name}, err
}

// rolloutExport are the flags of an export that goes wave by wave.
type rolloutExport struct {
	progressOptions
	access cluster.Access
	on     bool
}

func (r *rolloutExport) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.on, "rollout", false, "with --git, write only the clusters whose turn it is in the waves of the rollout")
	accessFlags(cmd, &r.access)
	r.progressOptions.flags(cmd)
}

// check returns a fault for flags that exclude each other.
func (r *rolloutExport) check(cmd *cobra.Command) error {
	if !r.on {
		return flagsNeed(cmd, "--rollout", "leave it out", "reports", "report-age", "kubeconfig", "as", "as-group", "as-uid")
	}
	return rejectFlags(cmd, "--rollout and %s cannot be combined: the waves say which clusters get a change",
		"leave one of them out; to ask people before a wave, write approve in it", "pr-branch", "shard", "selector", "environment")
}

// withBranch opens the repository of --git and, with progress, that of the reports, and calls f with
// the options of a rollout on a branch. An empty layout is that of the layers.
func (p *progressOptions) withBranch(cmd *cobra.Command, o *options, access *cluster.Access, g *gitOptions, layout string, progress bool, f func(deliver.BranchOptions) error) (err error) {
	b := deliver.BranchOptions{
		Branch: g.branch, Path: strings.Trim(g.path, "/"), ReportAge: p.age, By: userAtHost(), Version: toolVersion(), Jobs: o.jobs, NoProgress: !progress,
	}
	b.Day = o.date
	if err := completeAccess(o, access); err != nil {
		return err
	}
	b.Access = *access
	a := applyOptions{}
	a.Kubeconfig = access.Kubeconfig
	b.Actions.Getenv = a.getenv
	if layout != "" {
		if b.Layout, err = layoutOf(layout); err != nil {
			return err
		}
	}
	if b.Remote, err = g.open(cmd, o); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, b.Remote.Close()) }()
	if progress {
		if b.Reports, err = p.open(cmd, o, g.address); err != nil {
			return err
		}
	}
	if b.Reports != nil {
		defer func() { err = cmp.Or(err, b.Reports.Remote.Close()) }()
	}
	return f(b)
}

// toRollout exports the clusters whose turn it is to a branch of a git repository.
func (x *exportRun) toRollout(ctx context.Context, c *compiler.Compiler, patterns []string) error {
	if len(patterns) > 0 {
		return &diag.Diag{
			Code: diag.CodeFlagCombination,
			Msg:  "--rollout does not accept clusters: the waves say which clusters get a change",
			Hint: "leave out " + strings.Join(patterns, " ") + ", or --rollout",
		}
	}
	layout := ""
	if x.cmd.Flags().Changed("layout") {
		layout = x.exportOptions.layout
	}
	return x.rollout.withBranch(x.cmd, x.o, &x.rollout.access, &x.git, layout, true, func(b deliver.BranchOptions) error {
		b.Check, b.Actions.AllowExec = x.check, x.allowExec
		r, err := deliver.LoadBranchRollout(ctx, c, b)
		if err != nil {
			return err
		}
		x.fleet = r.Fleet
		source, err := x.sourceCommit(ctx)
		if err == nil {
			err = r.Export(ctx, source)
		}
		if err != nil {
			return err
		}
		report, _ := r.Report() // Outcome has the faults
		git := &gitResult{Repository: b.Remote.Name, Branches: []export.BranchResult{r.Pushed}}
		if err := x.print(r.Summary, git, r.Pushed.Branch, &report); err != nil {
			return err
		}
		wait, err := r.Outcome()
		return orDifferences(err, wait || x.check && r.Summary.Changes() > 0)
	})
}
