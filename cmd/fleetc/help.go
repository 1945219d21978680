package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const helpLong = `help explains a command, or the code at the end of a fault: what the fault
means, why fleetc refuses it, and what to do, with an example.`

// explainCodes makes cobra's help command explain the codes of faults, too.
func explainCodes(c *cobra.Command) {
	c.Use, c.Short, c.Long = "help [command or code]", "Explain a command or a fault code", helpLong
	c.Example = "  fleetc help export\n  fleetc help FL1001"
	c.Run, c.RunE = nil, help
	c.ValidArgsFunction = withCodes(c.ValidArgsFunction)
}

// help shows the help of a command, or the page of a fault code.
func help(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		if code, ok := diag.ParseCode(strings.Trim(args[0], "[]:.,")); ok { // as it is copied from a fault
			return helpOfCode(cmd, code)
		}
	}
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return noSubcommand(cmd.Root(), args)
	}
	found.InitDefaultHelpFlag()
	return found.Help()
}

// helpOfCode prints the page of a code.
func helpOfCode(cmd *cobra.Command, code diag.Code) error {
	if text := code.Text(); text != "" {
		_, err := fmt.Fprint(cmd.OutOrStdout(), text)
		return err
	}
	known := diag.Each(diag.Codes(), func(c diag.Code) string { return string(c) })
	return &diag.Diag{
		Code: diag.CodeUnknownCommand,
		Msg:  fmt.Sprintf("no fault has the code %s", diag.Visible(string(code), diag.MaxText)), Hint: cmp.Or(diag.DidYouMean(string(code), known), "copy it from the end of the first line of a fault"),
	}
}

// withCodes returns a completion of commands that also completes codes, in upper or lower
// case.
func withCodes(commands cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		out, directive := commands(cmd, args, typed)
		if len(args) > 0 || typed == "" {
			return out, directive
		}
		for _, c := range diag.Codes() {
			if text := string(c); strings.HasPrefix(text, strings.ToUpper(typed)) {
				if typed[0] == 'f' {
					text = strings.ToLower(text)
				}
				out = append(out, text+"\t"+c.Title())
			}
		}
		return out, directive
	}
}

// newManCommand returns the hidden command that packages call to get their
// manual pages.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "man DIRECTORY",
		Hidden:            true,
		Short:             "Write manual pages",
		Long:              "man writes a manual page for each command into a directory. The pages have the\ndate of SOURCE_DATE_EPOCH, or today's.",
		Example:           "  fleetc man /usr/local/share/man/man1",
		Args:              exactlyOneArg("one directory"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE:              func(cmd *cobra.Command, args []string) error { return writeManPages(cmd.Root(), args[0]) },
	}
}

// writeManPages writes a page for each command into a directory.
func writeManPages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &diag.Diag{Code: diag.CodeFileSystem, Msg: fmt.Sprintf("create %s: %v", diag.Visible(dir, diag.MaxText), err), Hint: "name a directory that fleetc can write", Cause: err}
	}
	root.DisableAutoGenTag = true // it contains the date
	header := &doc.GenManHeader{Section: "1", Source: "fleetc " + toolVersion(), Manual: "fleetc"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return &diag.Diag{Code: diag.CodeFileSystem, Msg: fmt.Sprintf("write manual pages to %s: %v", diag.Visible(dir, diag.MaxText), err), Hint: "name a directory that fleetc can write", Cause: err}
	}
	return nil
}
