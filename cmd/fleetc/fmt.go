package main

import (
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/spf13/cobra"
)

const fmtLong = `fmt formats CUE files as cue fmt does. It formats the named files, or all files
of the fleet's module. Without names, it skips cue.mod, nested modules, and
directories whose names begin with . or _. It prints the names of the files that
it writes. fmt keeps CRLF line endings. If a file does not parse, fmt writes
nothing.

With --check, fmt writes nothing, prints the names of files that are not
formatted, and exits with status 1 if there are any.`

const fmtExample = `  fleetc fmt
  fleetc fmt environments/prod/env.cue
  fleetc fmt --check`

func newFmtCommand(o *options) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:               "fmt [FILE...]",
		Short:             "Format CUE files",
		Long:              fmtLong,
		Example:           fmtExample,
		ValidArgsFunction: cobra.FixedCompletions([]string{"cue"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			files := diag.Each(args, o.path)
			changed, err := edit.Format(o.compiler(), check, files...)
			if err != nil {
				return err
			}
			return orDifferences(writeNames(cmd, o, changed, load.FileNames(o.dir)), check && len(changed) > 0)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit with status 1 if a file is not formatted")
	outputFlag(cmd, "text", "json")
	return cmd
}

// writeNames writes the names of files, one per line or as a JSON list.
func writeNames(cmd *cobra.Command, o *options, files []string, name func(string) string) error {
	names := diag.Each(files, name)
	return writeResult(cmd, o, names, func(w io.Writer) {
		for _, name := range names {
			fmt.Fprintln(w, name)
		}
	})
}
