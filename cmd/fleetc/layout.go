package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// layouts returns the names of all layouts.
func layouts() []string {
	return diag.Each(fleet.Layouts(), func(l fleet.Layout) string { return string(l) })
}

// layoutFlag adds --layout.
func layoutFlag(cmd *cobra.Command, into *string, absent fleet.Layout, usage string) {
	cmd.Flags().StringVar(into, "layout", string(absent), usage)
	_ = cmd.RegisterFlagCompletionFunc("layout", cobra.FixedCompletions(layouts(), cobra.ShellCompDirectiveNoFileComp))
}

// layoutOf returns the layout with a name.
func layoutOf(name string) (fleet.Layout, error) {
	if !slices.Contains(layouts(), name) {
		return "", &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("unknown layout %q", name), Hint: diag.OneOf(name, layouts())}
	}
	return fleet.Layout(name), nil
}
