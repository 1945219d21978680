package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/apply"
	"github.com/fleetc/fleetc/compiler/diag"
)

// protectedFlag adds --prune-protected, which takes kinds, and all without a value.
func protectedFlag(cmd *cobra.Command, into *[]string) {
	f := cmd.Flags()
	f.StringSliceVar(into, "prune-protected", nil, "also prune objects of these `kinds`: Namespace, CustomResourceDefinition, PersistentVolume or PersistentVolumeClaim; all four without a value")
	f.Lookup("prune-protected").NoOptDefVal = apply.AllKinds
	_ = cmd.RegisterFlagCompletionFunc("prune-protected", cobra.FixedCompletions(apply.ProtectedNames(), cobra.ShellCompDirectiveNoFileComp))
}

// prunedKinds returns the kinds of --prune-protected. A kind among the clusters was
// meant for the flag, whose value follows an equals sign.
func (a *applyOptions) prunedKinds(patterns []string) ([]schema.GroupKind, error) {
	for _, name := range patterns {
		if kinds, err := apply.ParseProtected([]string{name}); err == nil && len(kinds) == 1 && slices.Contains(a.protected, apply.AllKinds) {
			return nil, &diag.Diag{
				Msg:  fmt.Sprintf("%s is a kind and not a cluster", diag.Visible(name, diag.MaxText)),
				Hint: "write --prune-protected=" + diag.Visible(name, diag.MaxText),
			}
		}
	}
	return apply.ParseProtected(a.protected)
}
