package main

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/spf13/cobra"
)

// rolloutOptions are the flags of commands about a rollout: in clusters, or on a branch with
// --git.
type rolloutOptions struct {
	applyOptions
	git      gitOptions
	layout   string
	progress progressOptions
}

// placeFlags adds the flags that say where the rollout is.
func (a *rolloutOptions) placeFlags(cmd *cobra.Command) {
	accessFlags(cmd, &a.Access)
	a.git.placeFlags(cmd, "`URL` or path of the git repository of export --git --rollout; without it, clusters of fleetc apply are read")
}

// layoutFlag adds --layout to commands that compile the fleet.
func (a *rolloutOptions) layoutFlag(cmd *cobra.Command) {
	layoutFlag(cmd, &a.layout, "", "`layout` of the files with --git: flux or argocd (default: that of the layers)")
}

// onBranch reports whether the rollout is on a branch. It rejects flags that need one.
func (a *rolloutOptions) onBranch(cmd *cobra.Command, o *options) (bool, error) {
	if cmd.Flags().Changed("git") {
		if o.offline {
			return false, &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--git needs the network, but --offline is set", Hint: "leave --offline out"}
		}
		return true, nil
	}
	return false, flagsNeed(cmd, "--git", "leave it out, or pass --git URL", "branch", "path", "layout", "reports", "report-age")
}

// A waveRollout is a rollout whose state was read in clusters or on a branch.
type waveRollout interface {
	Report() (deliver.RolloutReport, error)
	Approve(ctx context.Context, wave, digest, reason string) error
	Decide(ctx context.Context, d deliver.Decision, waves []string) (deliver.DecisionResult, error)
	WayBack() []string
}

// withRollout reads the rollout, on the branch of --git or in the clusters, and calls f.
// withProgress says whether the progress of clusters that follow a branch is needed.
func (a *rolloutOptions) withRollout(cmd *cobra.Command, o *options, withProgress bool, f func(waveRollout) error) error {
	onBranch, err := a.onBranch(cmd, o)
	if err != nil {
		return err
	}
	if !onBranch {
		r, err := a.readRollout(cmd, o)
		if err != nil {
			return err
		}
		return f(r)
	}
	return a.progress.withBranch(cmd, o, &a.Access, &a.git, a.layout, withProgress, func(b deliver.BranchOptions) error {
		r, err := deliver.LoadBranchRollout(cmd.Context(), o.compiler(), b)
		if err == nil {
			err = r.Read(cmd.Context())
		}
		if err != nil {
			return err
		}
		return f(r)
	})
}

// decide records a decision for the named waves, or for all waves without names: on the branch
// of --git, or in the clusters. It prints which waves have it, and had it before.
func (a *rolloutOptions) decide(cmd *cobra.Command, o *options, d deliver.Decision, waves []string, before string) error {
	onBranch, err := a.onBranch(cmd, o)
	if err != nil {
		return err
	}
	var recorded deliver.DecisionResult
	if onBranch {
		err = a.progress.withBranch(cmd, o, &a.Access, &a.git, a.layout, false, func(b deliver.BranchOptions) error {
			r, err := deliver.NewDecisions(cmd.Context(), o.compiler(), b)
			if err == nil {
				recorded, err = r.Decide(cmd.Context(), d, waves)
			}
			return err
		})
	} else {
		var r *deliver.Rollout
		if r, err = a.readRollout(cmd, o); err == nil {
			recorded, err = r.Decide(cmd.Context(), d, waves)
		}
	}
	if err != nil && len(recorded.Waves) == 0 {
		return err
	}
	return printRecorded(cmd, o, err, decisionLines(recorded, len(waves) == 0 && err == nil, d.Done, before)...)
}

// decisionLines says which waves have a decision, and which had it before. isAll says whether
// these are all waves.
func decisionLines(recorded deliver.DecisionResult, isAll bool, done, before string) []string {
	changed := slices.DeleteFunc(slices.Clone(recorded.Waves), func(wave string) bool { return slices.Contains(recorded.Unchanged, wave) })
	var lines []string
	switch {
	case len(recorded.Unchanged) == 0 && isAll:
		lines = append(lines, done+" all waves")
	case len(changed) > 0:
		lines = append(lines, done+" "+waveList(changed))
	}
	switch len(recorded.Unchanged) {
	case 0:
	case 1:
		lines = append(lines, waveList(recorded.Unchanged)+" is "+before)
	default:
		lines = append(lines, waveList(recorded.Unchanged)+" are "+before)
	}
	return lines
}

// abort aborts the change, and returns lines that say how to go back. The error has the faults
// of waves that are not aborted.
func (a *rolloutOptions) abort(cmd *cobra.Command, o *options, reason string) (lines []string, err error) {
	err = a.withRollout(cmd, o, false, func(r waveRollout) error {
		aborted, err := r.Decide(cmd.Context(), deliver.Abort(reason), nil)
		switch {
		case err == nil:
			lines = []string{"aborted this change in all waves"}
		case len(aborted.Waves) == 0:
			return err
		default:
			lines = []string{"aborted this change in " + waveList(aborted.Waves)}
		}
		for _, way := range r.WayBack() {
			lines = append(lines, "to go back: "+way)
		}
		return err
	})
	return lines, err
}
