package main

import (
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/spf13/cobra"
)

const liftLong = `lift moves values that all clusters of a layer set equally into the files of
that layer: to the root if all clusters of the fleet set them, else to an
environment. No bundle changes. lift compiles the fleet before and after, and
writes nothing unless the values and bundles of all clusters stay the same, byte
by byte.

PATH is the path of a release or of a value in it: releases.web, or
releases.web.values.image.tag. Without it, lift looks at all releases. It moves
literal values in defaults and in values, with their comments. Expressions,
references, conditional fields and values of embedded files stay where they are.

A value stays if one cluster of the layer does not set it, if the layer sets
another value, or if the files would have more lines and no PATH names it. lift
says why a value stays that all clusters set.

lift moves no value into a layer with only one cluster or one layer below it:
one cluster does not show what clusters have in common.`

const liftExample = `  fleetc lift --dry-run
  fleetc lift
  fleetc lift releases.ingress releases.web.values.replicas`

func newLiftCommand(o *options) *cobra.Command {
	var req edit.LiftRequest
	cmd := &cobra.Command{
		Use:     "lift [PATH...]",
		Short:   "Move values that clusters have in common to their layer",
		Long:    liftLong,
		Example: liftExample,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			paths, _ := edit.LiftPaths(o.compiler())
			return paths, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Paths = args
			r, err := edit.Lift(cmd.Context(), o.compiler(), req)
			if err != nil {
				return err
			}
			return writeResult(cmd, o, r, func(w io.Writer) { liftText(w, r, req.DryRun) })
		},
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "print what would change, and write nothing")
	outputFlag(cmd, "text", "json")
	return cmd
}

func liftText(w io.Writer, r *edit.LiftResult, dryRun bool) {
	wrote, removed := "wrote", "removed"
	if dryRun {
		wrote, removed = "would write", "would remove"
	}
	gone := map[string]bool{}
	for _, name := range r.Removed {
		gone[name] = true
	}
	for _, name := range r.Files {
		verb := wrote
		if gone[name] {
			verb = removed
		}
		fmt.Fprintf(w, "%s %s\n", verb, name)
	}
	if len(r.Moves) == 0 {
		fmt.Fprint(w, "nothing to lift\n")
	} else {
		fmt.Fprintln(w)
	}
	layer := ""
	for _, m := range r.Moves {
		if m.Layer != layer {
			layer = m.Layer
			fmt.Fprintf(w, "%s\n", layer)
		}
		verb := "from"
		if m.IsSet {
			verb = "is there already, removed from"
		}
		fmt.Fprintf(w, "  %s: %s  %s %s\n", m.Path, m.Value, verb, nameList(m.From))
	}
	if len(r.Kept) > 0 {
		fmt.Fprint(w, "\nstay, although all clusters set them equally:\n")
	}
	for _, k := range r.Kept {
		fmt.Fprintf(w, "  %s, to %s: %s\n", k.Path, k.Layer, k.Reason)
	}
	if len(r.Moves) > 0 {
		n, change := -r.Lines, "fewer"
		if n < 0 {
			n, change = -n, "more"
		}
		fmt.Fprintf(w, "\n%s moved, %s %s; the bundles of %s are the same\n",
			diag.Count(len(r.Moves), "value", "values"), diag.Count(n, "line", "lines"), change, diag.Count(r.Clusters, "cluster", "clusters"))
	}
}
