package main

import (
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/spf13/cobra"
)

const fmtLong = `fmt brings CUE files into the standard format, that of cue fmt: all of the
fleet's module but for those in cue.mod, in modules below it, and in directories
whose names begin with . or _; or those that are named. It prints the names of
the files that it writes. Nothing is written when one of them does not parse.

With --check nothing is written; exit status 1 says that there are files to
format, and their names are printed.`

const fmtExample = `  fleetc fmt
  fleetc fmt environments/prod/env.cue
  fleetc fmt --check`

func newFmtCommand(o *options) *cobra.Command {
	var check bool
	var output string
	cmd := &cobra.Command{
		Use:     "fmt [FILE...]",
		Short:   "Format CUE files",
		Long:    fmtLong,
		Example: fmtExample,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"cue"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var files []string
			for _, a := range args {
				files = append(files, o.path(a))
			}
			changed, err := edit.Format(o.compiler(), check, files...)
			if err != nil {
				return err
			}
			if err := writeNames(cmd.OutOrStdout(), changed, load.FileNames(o.dir), output); err != nil {
				return err
			}
			if check && len(changed) > 0 {
				return errDifferences
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 when there are files to format")
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// writeNames writes the names of files, one per line or as a JSON list.
func writeNames(w io.Writer, files []string, name func(string) string, output string) error {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = name(file)
	}
	if output == "json" {
		return writeJSON(w, names)
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(w, name); err != nil {
			return err
		}
	}
	return nil
}
