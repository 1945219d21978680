package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagsComplete checks that the shell completes names of files only for flags that take
// a file or directory.
func TestFlagsComplete(t *testing.T) {
	root := newRootCommand(&options{})
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, _ := pflag.UnquoteUsage(f)
			_, completes := cmd.GetFlagCompletionFunc(f.Name)
			_, files := f.Annotations[cobra.BashCompFilenameExt]
			_, directories := f.Annotations[cobra.BashCompSubdirsInDir]
			switch {
			case value == "": // a switch
			case value == "file":
				if !files || completes {
					t.Errorf("%s --%s does not complete files", cmd.CommandPath(), f.Name)
				}
			case value == "directory":
				if !directories && !completes {
					t.Errorf("%s --%s does not complete directories", cmd.CommandPath(), f.Name)
				}
			case !completes:
				t.Errorf("%s --%s completes files, and takes a %s", cmd.CommandPath(), f.Name, value)
			}
		})
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
}

// TestArgumentsComplete checks that each command says what the shell completes, except
// chart add, which takes files.
func TestArgumentsComplete(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Runnable() && cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() && cmd.Name() != "add" && !cmd.Hidden && cmd.Parent().Name() != "completion" {
			t.Errorf("%s completes names of files", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRootCommand(&options{}))
}
