package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// protectedFlag adds --prune-protected with an optional list of kinds; all
// without a value.
func protectedFlag(cmd *cobra.Command, into *[]string) {
	f := cmd.Flags()
	f.StringSliceVar(into, "prune-protected", nil, "also prune objects of these `kinds`: Namespace, CustomResourceDefinition, PersistentVolume or PersistentVolumeClaim; without a value, all four")
	f.Lookup("prune-protected").NoOptDefVal = apply.AllKinds
	_ = cmd.RegisterFlagCompletionFunc("prune-protected", cobra.FixedCompletions(apply.ProtectedNames(), cobra.ShellCompDirectiveNoFileComp))
}

// parallelFlag adds --parallel.
func parallelFlag(cmd *cobra.Command, into *int) {
	cmd.Flags().IntVar(into, "parallel", defaultParallel, "number of clusters to process at the same time")
}

// defaultParallel is the default number of clusters that are applied to in
// parallel. Applying is mostly waiting.
const defaultParallel = 8

// checkParallel returns a fault for a number below 1.
func checkParallel(n int) error {
	if n < 1 {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("--parallel does not accept %d", n), Hint: "pass how many clusters to apply to at a time, from 1 on"}
	}
	return nil
}

// lockFlag adds --lock-timeout.
func lockFlag(cmd *cobra.Command, into *time.Duration) {
	cmd.Flags().DurationVar(into, "lock-timeout", 0, "how long to wait until another apply to the same cluster has ended")
}

// checkLock returns a fault for a negative duration.
func checkLock(timeout time.Duration) error {
	if timeout < 0 {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("--lock-timeout does not accept %s", timeout), Hint: "pass how long to wait, as in --lock-timeout 10m"}
	}
	return nil
}

// forceFlag adds --force-conflicts with an optional list of conflicts; all
// without a value.
func forceFlag(cmd *cobra.Command, into *[]string) {
	f := cmd.Flags()
	f.StringSliceVar(into, "force-conflicts", nil, "take over fields that other managers own: in all objects, or with a `value` in those of release:NAME, manager:NAME or object:ID; may be repeated")
	f.Lookup("force-conflicts").NoOptDefVal = apply.ForceAll
	_ = cmd.RegisterFlagCompletionFunc("force-conflicts", cobra.FixedCompletions([]string{
		apply.ForceAll, "manager:kubectl", "manager:kubectl-client-side-apply", "manager:kubectl-edit", "object:", "release:",
	}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

// checkForced adds faults for values of --force-conflicts without a conflict
// in any plan. It does nothing if a cluster could not be planned.
func (r *applyReport) checkForced(f apply.Force) {
	if plans := r.plans(); len(plans) > 0 {
		r.addFault(f.Unused(plans))
	}
}

// prunedKinds returns the kinds of --prune-protected. It reports a kind in the
// arguments: the flag's value must follow an equals sign.
func (a *applyOptions) prunedKinds(patterns []string) ([]schema.GroupKind, error) {
	for _, name := range patterns {
		if kinds, err := apply.ParseProtected([]string{name}); err == nil && len(kinds) == 1 && slices.Contains(a.protected, apply.AllKinds) {
			return nil, &diag.Diag{
				Code: diag.CodeFlagValue,
				Msg:  fmt.Sprintf("%s is a kind and not a cluster", diag.Visible(name, diag.MaxText)),
				Hint: "write --prune-protected=" + diag.Visible(name, diag.MaxText),
			}
		}
	}
	return apply.ParseProtected(a.protected)
}

// allowExecFlag adds --allow-exec to a command that runs no actions, but finds the values
// of secrets.
func allowExecFlag(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "allow-exec", false, "allow secrets of the fleet to run commands on this machine")
}
