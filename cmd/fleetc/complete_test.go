package main

import (
	"strings"
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

// TestHelp checks that the help of a command begins with its name, fits a terminal, and has
// no line of another command.
func TestHelp(t *testing.T) {
	const width, short = 80, 40
	commands := map[string]string{} // by long lines of help
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			return // cobra's
		}
		if cmd.Long != "" && cmd.HasParent() && !strings.HasPrefix(cmd.Long, cmd.Name()+" ") {
			t.Errorf("the help of %s does not begin with its name:\n%s", cmd.CommandPath(), cmd.Long)
		}
		for line := range strings.Lines(cmd.Long) {
			line = strings.TrimSpace(line)
			if len(line) > width {
				t.Errorf("the help of %s has a line of %d characters: %s", cmd.CommandPath(), len(line), line)
			}
			if other := commands[line]; other != "" && other != cmd.CommandPath() && len(line) > short {
				t.Errorf("%s and %s have the same line of help: %s", other, cmd.CommandPath(), line)
			}
			commands[line] = cmd.CommandPath()
		}
		if usage := cmd.UsageString(); strings.Contains(usage, "\x00") {
			t.Errorf("the usage of %s has a NUL byte: %q", cmd.CommandPath(), usage)
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRootCommand(&options{}))
}
