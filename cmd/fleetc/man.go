package main

import (
	"fmt"
	"os"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

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
