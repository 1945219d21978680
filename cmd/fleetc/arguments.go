package main

import (
	"fmt"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/spf13/cobra"
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
