package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/spf13/cobra"
)

const rolloutLong = `rollout shows and controls how a change goes through the waves of the fleet,
which the field rollout of the root layer lists. fleetc apply does the work: it
applies to the clusters whose turn it is, and resumes when it runs again.

The state of the waves is read from the clusters. Approvals, pauses and aborts
are stored in the first cluster of each wave, next to fleetc's inventory.

With --git, the commands are about fleetc export --git --rollout, for clusters
that follow a branch with Flux or Argo CD. Approvals, pauses and aborts are
commits on this branch.`

func newRolloutCommand(o *options) *cobra.Command {
	return group(&cobra.Command{
		Use:   "rollout",
		Short: "Show and control how a change goes through the waves",
		Long:  rolloutLong,
		Example: `  fleetc rollout status
  fleetc rollout pause --reason "incident 42"`,
	}, newRolloutStatusCommand(o), newRolloutApproveCommand(o), newRolloutPauseCommand(o), newRolloutResumeCommand(o), newRolloutAbortCommand(o), newRolloutReportCommand(o))
}

const rolloutStatusLong = `status shows for each wave and cluster which bundle the cluster runs, since
when, from which commit, and whether its objects are ready. It compiles the
fleet to compare, and writes nothing.

A wave is

  complete   its clusters run the fleet's bundles, are healthy and have soaked
  soaking    they run the bundles, and the soak is not over
  next       the next fleetc apply applies to its clusters
  waiting    it waits, for example for an earlier wave or an approval
  stopped    too many of its clusters have failed or are unhealthy; the next
             apply tries them again
  running    with --git: the branch has the bundles of its clusters, and some do
             not run them yet

With --git, status compares the fleet with a branch, and reads Flux's
Kustomizations or Argo CD's Applications in the clusters, or their reports.

The exit status is 0 when all waves are complete, 1 when one is not or a cluster
is not removed from the branch yet, and 2 when a cluster could not be read.`

func newRolloutStatusCommand(o *options) *cobra.Command {
	var a rolloutOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the waves, and what they wait for",
		Long:  rolloutStatusLong,
		Example: `  fleetc rollout status
  fleetc rollout status -o json | jq -r '.waves[] | [.name, .state, .bundle] | @tsv'
  fleetc rollout status -o markdown >> "$GITHUB_STEP_SUMMARY"
  fleetc rollout status --git https://github.com/example/clusters --path clusters`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runRolloutStatus(cmd, o, &a)
		},
	}
	a.placeFlags(cmd)
	a.layoutFlag(cmd)
	a.progress.flags(cmd)
	outputFlag(cmd, "text", "json", "markdown")
	return cmd
}

// readRollout reads the state of the waves.
func (a *rolloutOptions) readRollout(cmd *cobra.Command, o *options) (*deliver.Rollout, error) {
	if err := a.identify(o); err != nil {
		return nil, err
	}
	return deliver.ReadRollout(cmd.Context(), o.compiler(), a.ApplyOptions)
}

func runRolloutStatus(cmd *cobra.Command, o *options, a *rolloutOptions) error {
	var report deliver.RolloutReport
	var faults error
	if err := a.withRollout(cmd, o, true, func(r waveRollout) error {
		report, faults = r.Report()
		return nil
	}); err != nil {
		return err
	}
	var err error
	w := cmd.OutOrStdout()
	switch o.output {
	case "json":
		err = writeJSON(w, report)
	case "markdown":
		rolloutMarkdown(w, report)
	default:
		rolloutText(w, report)
	}
	return orDifferences(cmp.Or(err, faults), !report.Complete)
}

func newRolloutApproveCommand(o *options) *cobra.Command {
	var a rolloutOptions
	var digest, reason string
	cmd := &cobra.Command{
		Use:   "approve WAVE --bundle DIGEST",
		Short: "Approve the change of a wave",
		Long: `approve allows fleetc apply to apply one change to the clusters of a wave that
has approve set. --bundle is the digest of the wave, which fleetc rollout status
prints: it stands for the bundles of all clusters of the wave. If the wave gets
other bundles in the meantime, the approval is refused, and an approval that was
given before does not hold for them.`,
		Example: `  fleetc rollout status
  fleetc apply --dry-run --wave gold
  fleetc rollout approve gold --bundle sha256:0d4f6c1a9b3e
  fleetc rollout approve gold --bundle sha256:0d4f6c1a9b3e --git https://github.com/example/clusters --path clusters`,
		Args:              argCount(1, 1, "rollout approve takes one wave", "name one, see fleetc rollout status"),
		ValidArgsFunction: waveArgs(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			if digest == "" {
				return &diag.Diag{Code: diag.CodeArguments, Msg: "rollout approve needs the digest of the wave", Hint: "pass --bundle DIGEST, see fleetc rollout status"}
			}
			if err := a.withRollout(cmd, o, false, func(r waveRollout) error {
				return r.Approve(cmd.Context(), args[0], digest, reason)
			}); err != nil {
				return err
			}
			return printRecorded(cmd, o, nil, "approved wave "+args[0])
		},
	}
	cmd.Flags().StringVar(&digest, "bundle", "", "`digest` of the wave in fleetc rollout status, or its first twelve digits or more")
	a.recordFlags(cmd, &reason)
	a.layoutFlag(cmd)
	return cmd
}

// recordFlags adds the flags of commands that record a decision.
func (a *rolloutOptions) recordFlags(cmd *cobra.Command, reason *string) {
	if reason != nil {
		cmd.Flags().Func("reason", "`text` that rollout status shows, one line", func(text string) error {
			*reason = text
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) { // tables and Markdown show it in one cell
				return errors.New("write one line, without tabs and control characters")
			}
			return nil
		})
	}
	a.placeFlags(cmd)
	outputFlag(cmd, "text", "json")
}

// printRecorded prints the decisions that were recorded. faults are those of the others.
func printRecorded(cmd *cobra.Command, o *options, faults error, lines ...string) error {
	if len(lines) == 0 {
		return faults
	}
	return cmp.Or(writeResult(cmd, o, map[string][]string{"done": lines}, func(w io.Writer) {
		for _, line := range lines {
			fmt.Fprintln(w, line)
		}
	}), faults)
}

func newRolloutPauseCommand(o *options) *cobra.Command {
	var a rolloutOptions
	var reason string
	cmd := &cobra.Command{
		Use:   "pause [WAVE...]",
		Short: "Stop waves until they are resumed",
		Long: `pause stops the named waves until fleetc rollout resume. Without names, it stops
all waves. A running apply finishes the clusters that it has started, and starts
no other. If it cannot reach the first cluster of a wave, it pauses the other
waves, says which waves are not paused, and exits with status 2.`,
		Example: `  fleetc rollout pause --reason "incident 42"
  fleetc rollout pause gold rest
  fleetc rollout pause --git https://github.com/example/clusters --path clusters`,
		ValidArgsFunction: waveArgs(o),
		RunE: func(cmd *cobra.Command, waves []string) error {
			return a.decide(cmd, o, deliver.Pause(reason), waves, "already paused")
		},
	}
	a.recordFlags(cmd, &reason)
	return cmd
}

func newRolloutResumeCommand(o *options) *cobra.Command {
	var a rolloutOptions
	cmd := &cobra.Command{
		Use:   "resume [WAVE...]",
		Short: "Continue paused and aborted waves",
		Long: `resume ends pauses and aborts of the named waves. Without names, it resumes all
waves. The next fleetc apply continues.`,
		Example: `  fleetc rollout resume
  fleetc rollout resume gold`,
		ValidArgsFunction: waveArgs(o),
		RunE: func(cmd *cobra.Command, waves []string) error {
			return a.decide(cmd, o, deliver.Resume(), waves, "not paused or aborted")
		},
	}
	a.recordFlags(cmd, nil)
	return cmd
}

func newRolloutAbortCommand(o *options) *cobra.Command {
	var a rolloutOptions
	var reason string
	cmd := &cobra.Command{
		Use:   "abort",
		Short: "Stop the current change, and show how to go back",
		Long: `abort stops the current change: no wave begins as long as the fleet's files give
its clusters the same bundles. A fix changes the bundles, so it starts again
from the first wave. abort changes no cluster. It prints the commands that roll
back the clusters that run the bundles of the files, the last wave first. With
--git, revert the change in the files and export again. fleetc rollout resume
undoes the abort.`,
		Example: `  fleetc rollout abort --reason "errors in canary"`,
		Args:    argCount(0, 0, "rollout abort takes no wave: it stops the change in all waves", "leave out the wave, or stop single waves with fleetc rollout pause"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			lines, err := a.abort(cmd, o, reason)
			return printRecorded(cmd, o, err, lines...)
		},
	}
	a.recordFlags(cmd, &reason)
	a.layoutFlag(cmd)
	return cmd
}
