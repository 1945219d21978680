package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
)

// fixFlags adds --fix and the flags of apply that it takes.
func (d *driftOptions) fixFlags(cmd *cobra.Command, o *options) {
	f, a := cmd.Flags(), &d.apply
	f.BoolVar(&d.fix, "fix", false, "apply the objects that are missing, changed or in conflict")
	f.BoolVarP(&a.yes, "yes", "y", false, "with --fix, do not ask for confirmation")
	f.BoolVar(&a.dryRun, "dry-run", false, "with --fix, show the plan and write nothing")
	forceFlag(cmd, &a.force)
	f.DurationVar(&a.Timeout, "timeout", 5*time.Minute, "with --fix, how long to wait for a stage to be healthy")
	lockFlag(cmd, &a.LockTimeout)
	f.StringSliceVar(&a.Actions.Approved, "approve", nil, "with --fix, approve the manual action with this `name`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("approve", manualActions(o))
	parallelFlag(cmd, &a.parallel)
	for _, name := range []string{"force-conflicts", "lock-timeout", "parallel"} {
		f.Lookup(name).Usage = "with --fix, " + f.Lookup(name).Usage
	}
}

// checkFix validates the flags of --fix.
func (d *driftOptions) checkFix(cmd *cobra.Command, o *options) error {
	if !d.fix {
		return flagsNeed(cmd, "--fix", "add --fix, or leave it out", "yes", "dry-run", "force-conflicts", "timeout", "lock-timeout", "approve", "parallel")
	}
	if o.output != "text" {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--fix supports only -o text", Hint: "leave out --fix or -o " + o.output}
	}
	if err := checkParallel(d.apply.parallel); err != nil {
		return err
	}
	d.apply.Access, d.apply.Strict, d.apply.Actions.AllowExec = d.Access, d.Strict, d.AllowExec
	_, err := d.apply.check(cmd, o, nil)
	return err
}

// fixDrift applies the drifted objects of the report. faults are those of the check.
func (d *driftOptions) fixDrift(cmd *cobra.Command, o *options, r *deliver.DriftReport, faults error) error {
	var all diag.List
	all.Add(faults)
	d.apply.Drifted = r.Fixable()
	if len(d.apply.Drifted) > 0 {
		if err := d.applyDrifted(cmd, o, r); errors.Is(err, errDifferences) {
			return orDifferences(all.Err(), true)
		} else if err != nil {
			all.Add(err)
			return all.Err()
		}
	}
	if n := r.Unfixable(); n > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s not fixed: --fix does not delete orphaned objects, repair unhealthy ones, or upgrade Helm releases that are up to date\n", diag.Count(n, "difference is", "differences are"))
		return orDifferences(all.Err(), true)
	}
	return all.Err()
}

// applyDrifted applies the drifted objects of clusters.
func (d *driftOptions) applyDrifted(cmd *cobra.Command, o *options, r *deliver.DriftReport) error {
	f, err := o.compiler().Load(cmd.Context(), slices.Sorted(maps.Keys(d.apply.Drifted))...)
	if err != nil {
		return err
	}
	var left []string
	if f.Clusters[0].Rollout != nil {
		left = r.LeaveToWaves(d.apply.Drifted)
		f.Clusters = slices.DeleteFunc(f.Clusters, func(c *fleet.Cluster) bool { return slices.Contains(left, c.ID) })
	}
	for _, id := range left {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: not fixed: it does not run the fleet's bundle, which fleetc apply brings in its wave\n", id)
	}
	if len(f.Clusters) == 0 {
		return errDifferences
	}
	if err := d.apply.identify(o); err != nil {
		return err
	}
	return orDifferences(d.apply.planAndFinish(cmd, o, f, d.apply.report(cmd, o), nil), len(left) > 0)
}
