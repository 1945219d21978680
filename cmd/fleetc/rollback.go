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

A rollback becomes a new revision.`

const rollbackExample = `  fleetc history prod/us-east-1
  fleetc rollback prod/us-east-1 --dry-run
  fleetc rollback prod/us-east-1 --to 7`

func newRollbackCommand(o *options) *cobra.Command {
	var a applyOptions
	var to int
	cmd := &cobra.Command{
		Use:               "rollback CLUSTER",
		Short:             "Apply an earlier bundle to a cluster",
		Long:              rollbackLong,
		Example:           rollbackExample,
		ValidArgsFunction: clusterArgs(o),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &diag.Diag{Msg: "rollback takes one cluster", Hint: "name one, see fleetc list"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRollback(cmd, o, &a, args[0], to)
		},
	}
	a.flags(cmd)
	cmd.Flags().IntVar(&to, "to", 0, "`revision` to apply (default: the newest with another bundle than the cluster runs)")
	outputFlag(cmd, &a.output, "text", "json")
	return cmd
}

func runRollback(cmd *cobra.Command, o *options, a *applyOptions, cluster string, to int) error {
	if _, err := a.check(cmd, o, nil); err != nil {
		return err
	}
	if to < 0 || to == 0 && cmd.Flags().Changed("to") {
		return &diag.Diag{Msg: "--to takes the number of a revision", Hint: "run fleetc history"}
	}
	if err := a.identify(o); err != nil {
		return err
	}
	key := make([]byte, 32)
	rand.Read(key)
	back, err := deliver.PlanRollback(cmd.Context(), o.compiler(), cluster, to, a.ApplyOptions, key)
	if err != nil {
		return err
	}
	report := a.report(cmd, o)
	report.add(back.ClusterPlan)
	report.clusters[0].rollback = back
	report.checkForced(a.Force)
	if err := report.printPlan(); err != nil {
		return err
	}
	return a.finish(cmd, o, report, false)
}

// backNotes describes the target of a rollback and the effects that it does
// not undo.
func (c *applyCluster) backNotes() []string {
	if c.rollback == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("goes back to revision %d: %s", c.rollback.To.Number, origin(c.rollback.To))}
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
