package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/query"
)

// argCount accepts a number of arguments from least to most. Another number is a fault with the
// message and the hint.
func argCount(least, most int, msg, hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return &diag.Diag{Code: diag.CodeArguments, Msg: msg, Hint: hint}
		}
		return nil
	}
}

// noArguments rejects arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &diag.Diag{Code: diag.CodeArguments, Msg: cmd.CommandPath() + " takes no arguments", Hint: "leave out the arguments, see " + cmd.CommandPath() + " --help"}
	}
	return nil
}

// exactlyOneArg is [cobra.ExactArgs](1) with a fault that describes the
// argument.
func exactlyOneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return &diag.Diag{Code: diag.CodeArguments, Msg: cmd.CommandPath() + " takes " + what, Hint: "run " + cmd.CommandPath() + " --help"}
		}
		return nil
	}
}

// flagsNeed returns a fault if one of some flags is set, which need another that is not.
func flagsNeed(cmd *cobra.Command, needed, hint string, names ...string) error {
	return rejectFlags(cmd, "%s needs "+needed, hint, names...)
}

// rejectFlags returns a fault if one of some flags is set. It puts the flag into the message.
func rejectFlags(cmd *cobra.Command, msg, hint string, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return &diag.Diag{Code: diag.CodeFlagCombination, Msg: fmt.Sprintf(msg, "--"+name), Hint: hint}
		}
	}
	return nil
}

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

// Environment variables that set limits for evaluations.
const (
	timeVariable   = "FLEETC_CUE_TIME"
	memoryVariable = "FLEETC_CUE_MEMORY"
)

// limitsOf reads the limits of evaluations from the environment.
func limitsOf(getenv func(string) string) (par.Limits, error) {
	var l par.Limits
	if text := getenv(timeVariable); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return l, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%s does not accept %q", timeVariable, diag.Visible(text, diag.MaxText)), Hint: "write a duration, as in 5m"}
		}
		l.Time = d
	}
	if text := getenv(memoryVariable); text != "" {
		n, ok := parseBytes(text)
		if !ok {
			return l, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%s does not accept %q", memoryVariable, diag.Visible(text, diag.MaxText)), Hint: "write a size, as in 4GiB or 512MiB"}
		}
		l.Memory = n
	}
	return l, nil
}

// parseBytes parses a size such as 4GiB.
func parseBytes(text string) (uint64, bool) {
	for suffix, unit := range map[string]uint64{"MiB": 1 << 20, "GiB": 1 << 30} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseUint(digits, 10, 64)
			return n * unit, err == nil && n > 0 && n <= math.MaxInt64/unit/8
		}
	}
	return 0, false
}

// shardFlag adds --shard. The returned function parses it.
func shardFlag(cmd *cobra.Command) func() (fleet.Shard, error) {
	var text string
	cmd.Flags().StringVar(&text, "shard", "", "only this `part` of the clusters: 1/4 is the first of four parts")
	return func() (fleet.Shard, error) {
		if !cmd.Flags().Changed("shard") {
			return fleet.Shard{}, nil
		}
		return fleet.ParseShard(text)
	}
}
