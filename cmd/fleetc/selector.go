package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query"
)

// selectorFlags adds the flags that select clusters by labels and environments
// to a complete command whose arguments are cluster patterns, and completes
// these. The command receives the IDs of the selected clusters.
func selectorFlags(cmd *cobra.Command, o *options) {
	cmd.ValidArgsFunction = clusterArgs(o)
	var s query.Selector
	flags := cmd.Flags()
	flags.StringVarP(&s.Labels, "selector", "l", "", "only clusters with these `labels`, as in tier=gold or 'region in (eu,us)'")
	flags.StringSliceVarP(&s.Environments, "environment", "e", nil, "only clusters of this `environment`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("selector", clusterValues(o, func(c listedCluster) []string {
		var out []string
		for key, value := range c.Labels {
			out = append(out, key+"="+value)
		}
		return out
	}))
	_ = cmd.RegisterFlagCompletionFunc("environment", clusterValues(o, func(c listedCluster) []string { return []string{c.Environment} }))
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !flags.Changed("selector") && !flags.Changed("environment") {
			return run(cmd, args)
		}
		if flags.Changed("selector") && strings.TrimSpace(s.Labels) == "" {
			return &diag.Diag{Code: diag.CodeFlagValue, Msg: "the value of -l is empty", Hint: "write labels, as in -l tier=gold, or leave the flag out to select all clusters"}
		}
		if flags.Changed("environment") && (len(s.Environments) == 0 || slices.Contains(s.Environments, "")) {
			return &diag.Diag{Code: diag.CodeFlagValue, Msg: "the value of -e is empty", Hint: "write an environment, or leave the flag out to select all clusters"}
		}
		selected, err := query.SelectClusters(cmd.Context(), o.compiler(), s, args...)
		if err != nil {
			return err
		}
		return run(cmd, selected)
	}
}
