package main

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/spf13/cobra"
)

const rollbackLong = `rollback makes a cluster run an earlier bundle again: the bundle of revision
--to, or the newest bundle that the cluster does not run now. After a failed
apply, this is the last bundle that was applied successfully.

rollback reads the bundle from the cluster, where apply has stored it, and
compiles nothing. It uses the fleet's files only to connect to the cluster, and
does not change them. The next apply rolls forward again. Revisions do not
contain actions, so rollback does not run them; it lists the actions of the
fleet.

rollback plans, shows the plan, asks for confirmation and writes as apply does,
with the same lease, inventory, stages, waits, pruning and limits. It runs the
rollback hooks of charts instead of the upgrade hooks. With the plan, it shows
what a rollback cannot undo: removed versions of CRDs, data in volumes, effects
of hooks, and data of pruned objects.

A rollback becomes a new revision.

--wave rolls back the clusters of a wave one after the other, in reverse order.
It takes clusters that run the fleet's bundle or whose last apply is unfinished.
It compiles the fleet to find them, so run it before you change the files.`

const rollbackExample = `  fleetc history prod/us-east-1
  fleetc rollback prod/us-east-1 --dry-run
  fleetc rollback prod/us-east-1 --to 7
  fleetc rollback --wave canary`

func newRollbackCommand(o *options) *cobra.Command {
	var a applyOptions
	var to int
	cmd := &cobra.Command{
		Use:               "rollback {CLUSTER | --wave WAVE}",
		Short:             "Apply an earlier bundle to a cluster",
		Long:              rollbackLong,
		Example:           rollbackExample,
		ValidArgsFunction: clusterArgs(o),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && a.Wave == "" {
				return &diag.Diag{Code: diag.CodeArguments, Msg: "rollback takes one cluster", Hint: "name one, see fleetc list, or a wave with --wave; name the revision with --to"}
			}
			if a.Wave != "" && (len(args) > 0 || cmd.Flags().Changed("to")) {
				return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--wave rolls each cluster of the wave back to its own earlier bundle", Hint: "name no cluster and no revision"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRollback(cmd, o, &a, args, to)
		},
	}
	a.flags(cmd)
	cmd.Flags().IntVar(&to, "to", 0, "`revision` to apply (default: the newest with another bundle than the cluster runs)")
	waveFlag(cmd, o, &a.Wave, "roll back the clusters of this `wave` of the rollout that have the fleet's bundle")
	outputFlag(cmd, "text", "json")
	return cmd
}

func runRollback(cmd *cobra.Command, o *options, a *applyOptions, clusters []string, to int) error {
	if _, err := a.check(cmd, o, nil); err != nil {
		return err
	}
	if to < 0 || to == 0 && cmd.Flags().Changed("to") {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--to takes the number of a revision", Hint: "run fleetc history"}
	}
	if err := a.identify(o); err != nil {
		return err
	}
	backs, err := planRollbacks(cmd, o, a, clusters, to)
	if err != nil {
		return err
	}
	report := a.report(cmd, o)
	for i, back := range backs {
		report.add(back.ClusterPlan)
		report.clusters[i].rollback = back
	}
	report.checkForced(a.Force)
	if err := report.printPlan(); err != nil {
		return err
	}
	return a.finish(cmd, report, false)
}

// planRollbacks plans the rollback of a cluster, or of the clusters of a wave.
func planRollbacks(cmd *cobra.Command, o *options, a *applyOptions, clusters []string, to int) ([]*deliver.Rollback, error) {
	if wave := a.Wave; wave != "" {
		a.Wave, a.parallel = "", 1
		return deliver.PlanWaveRollback(cmd.Context(), o.compiler(), wave, a.ApplyOptions, []byte(rand.Text()))
	}
	back, err := deliver.PlanRollback(cmd.Context(), o.compiler(), clusters[0], to, a.ApplyOptions, []byte(rand.Text()))
	return []*deliver.Rollback{back}, err
}

// nextApply says what the next apply does after a rollback.
func (c *applyCluster) nextApply() string {
	const files = "a rollback does not change the fleet's files: the next apply "
	switch {
	case c.rollback.Held != "":
		return files + "waits: " + c.rollback.Held
	case c.Cluster.Rollout != nil && c.rollback.Wave == "":
		return files + "applies them, unless its wave waits; see fleetc rollout status"
	}
	return files + "applies them"
}

// backNotes describes the target of a rollback and the effects that it does
// not undo.
func (c *applyCluster) backNotes() []string {
	if c.rollback == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("goes back to revision %d: %s", c.rollback.To.Number, revisionOrigin(c.rollback.To))}
	if asked, to := c.rollback.Requested, c.rollback.To.Number; asked != 0 && asked != to {
		lines = append(lines, fmt.Sprintf("has the bundle of revision %d as revision %d now: it was applied again", asked, to))
	}
	if ids := c.rollback.Actions; len(ids) > 0 {
		lines = append(lines, "runs no actions, because revisions do not contain them: "+strings.Join(ids, ", "))
	}
	for _, x := range c.rollback.Lasting {
		line := x.Why
		if x.ID != "" {
			line = x.ID + ": " + x.Why
		}
		lines = append(lines, "cannot undo "+line)
	}
	return lines
}
