package main

import (
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/spf13/cobra"
)

const fixLong = `fix renames fields in CUE files that have another name in the schema of this
fleetc, and references to them. It changes nothing else: comments and formatting
stay. It changes the files at the paths, or all files: those below environments
and those of packages that they import.

Where the schema does not say what a struct is, as in a hidden field, fix does
not rename. It lists these names with their lines after "look at these", and
exits with status 1. Rename them by hand if they mean the renamed field.

Install a new version of fleetc and run fleetc init before fix. The fleet may
have faults. fix writes nothing if a cluster that compiles would have a fault,
if a reference would mean another value, or if a file changes meanwhile.

fleetc vet says where a field has an old name. docs/compatibility.md says how to
update a fleet.`

const fixExample = `  fleetc fix --dry-run
  fleetc fix
  fleetc fix environments/prod`

func newFixCommand(o *options) *cobra.Command {
	var req edit.FixRequest
	cmd := &cobra.Command{
		Use:               "fix [PATH...]",
		Short:             "Rename fields that have another name in this version",
		Long:              fixLong,
		Example:           fixExample,
		ValidArgsFunction: cobra.FixedCompletions([]string{"cue"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, a := range args {
				req.Paths = append(req.Paths, o.path(a))
			}
			r, err := edit.Fix(cmd.Context(), o.compiler(), req)
			if err != nil {
				return err
			}
			err = writeResult(cmd, o, r, func(w io.Writer) { fixText(w, r, load.FileNames(o.dir), req.DryRun) })
			return orDifferences(err, len(r.Unsure) > 0)
		},
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "print what would change as a diff, and write nothing")
	outputFlag(cmd, "text", "json")
	return cmd
}

func fixText(w io.Writer, r *edit.FixResult, name func(string) string, dryRun bool) {
	for _, c := range r.Changes {
		if !dryRun {
			fmt.Fprintf(w, "%s:%d:%d: %s is now %s\n", name(c.File), c.Line, c.Column, c.Old, c.New)
		}
	}
	for _, file := range r.Files {
		if dryRun {
			fmt.Fprint(w, r.Diff(file, name(file)))
		}
	}
	if len(r.Changes) == 0 && len(r.Unsure) == 0 {
		fmt.Fprint(w, "no field has an old name\n")
	} else if len(r.Changes) > 0 && !dryRun {
		fmt.Fprintf(w, "%s in %s\n", diag.Count(len(r.Changes), "name changed", "names changed"), diag.Count(len(r.Files), "file", "files"))
	}
	if len(r.Unsure) > 0 {
		fmt.Fprint(w, "look at these, and rename them by hand where they mean a renamed field:\n")
	}
	for _, u := range r.Unsure {
		fmt.Fprintf(w, "%s:%d:%d: %s may mean the field that is now called %s\n", name(u.File), u.Line, u.Column, u.Old, u.New)
	}
	if r.Faults > 0 {
		fmt.Fprintf(w, "the fleet still has %s: run fleetc vet\n", diag.Count(r.Faults, "fault", "faults"))
	}
}
