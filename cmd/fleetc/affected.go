package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/spf13/cobra"
)

const affectedLong = `affected lists the clusters whose bundles may have changed since a commit. A
cluster is listed when a file that its bundle depends on was changed, added or
removed: a file of its layers or of an imported CUE package, an embedded file, a
chart in the repository, a Jsonnet file, a kustomization or a manifest. Nothing
is rendered. A cluster that is not listed has the same bundle as before.

affected compares the commit with the working tree, including changes that are
not committed. Deleted clusters appear with -o json only. If the commit has
faults, affected lists the clusters that they concern, and prints a line about
it on standard error.

--files lists files instead of clusters. With --since, it lists the files that
differ, or only those in the clusters' layers if there are any. Without --since,
it lists all files that the bundles of the clusters depend on. Paths are
relative to the fleet's root.

The exit status is 0 with and without affected clusters. The list may be empty,
and other commands take an empty list as all clusters: use vet --since rather
than passing the list to vet.`

const affectedExample = `  fleetc affected --since git:origin/main
  fleetc affected --since git:origin/main -o json 'prod/*'
  fleetc affected --files prod/us-east-1
  fleetc vet --render --since git:origin/main`

func newAffectedCommand(o *options) *cobra.Command {
	var since string
	var files bool
	cmd := &cobra.Command{
		Use:     "affected [CLUSTER...]",
		Short:   "List the clusters that changes since a commit may affect",
		Long:    affectedLong,
		Example: affectedExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			var clusters []incremental.AffectedCluster
			var err error
			switch {
			case since != "":
				var report incremental.ChangeReport
				report, err = affectedSince(cmd, o, since, patterns)
				clusters = report.Affected
			case files:
				clusters, err = inputFiles(cmd, o, patterns)
			default:
				err = &diag.Diag{
					Code: diag.CodeArguments,
					Msg:  "affected needs a commit to compare with",
					Hint: "pass --since git:origin/main, or pass --files to list the files that bundles depend on",
				}
			}
			if err != nil {
				return err
			}
			return printAffected(cmd, o, clusters, files)
		},
	}
	sinceFlag(cmd, &since)
	cmd.Flags().BoolVar(&files, "files", false, "list files instead of clusters")
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

// sinceFlag adds --since.
func sinceFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "since", "", "only clusters that changes since this `commit` may affect, as git:REF")
}

// affectedSince returns the clusters that changes since a commit may affect,
// and the other clusters.
func affectedSince(cmd *cobra.Command, o *options, since string, patterns []string) (report incremental.ChangeReport, err error) {
	ref, ok := strings.CutPrefix(since, "git:")
	if !ok {
		return report, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("--since takes git:REF, not %q", since), Hint: "write git:" + since}
	}
	if report, err = incremental.AffectedSince(cmd.Context(), o.compiler(), ref, patterns...); err != nil {
		return report, err
	}
	unknown := 0
	for _, a := range report.Affected {
		if a.Change == incremental.Unknown {
			unknown++
		}
	}
	if unknown > 0 && !o.started.IsDocument() {
		first := diag.Line(diag.All(report.OldFaults)[0].Error(), 4*diag.MaxText)
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, since the commit has faults: %s\n",
			diag.Count(unknown, "cluster counts as affected", "clusters count as affected"), strings.TrimPrefix(first, "git:"))
	}
	return report, nil
}

// inputFiles returns clusters with all files that their bundles depend on.
func inputFiles(cmd *cobra.Command, o *options, patterns []string) ([]incremental.AffectedCluster, error) {
	inputs, err := incremental.ReadInputs(cmd.Context(), o.compiler(), patterns...)
	if err != nil {
		return nil, err
	}
	var out []incremental.AffectedCluster
	for _, id := range slices.Sorted(maps.Keys(inputs)) {
		out = append(out, incremental.AffectedCluster{ID: id, Files: slices.Sorted(maps.Keys(inputs[id]))})
	}
	return out, nil
}

func printAffected(cmd *cobra.Command, o *options, clusters []incremental.AffectedCluster, files bool) error {
	if o.output == "json" {
		return writeJSON(cmd.OutOrStdout(), append([]incremental.AffectedCluster{}, clusters...))
	}
	lines := existingIDs(clusters)
	if files {
		lines = nil
		for _, c := range clusters {
			lines = append(lines, c.Files...)
		}
		slices.Sort(lines)
	}
	for _, line := range slices.Compact(lines) {
		fmt.Fprintln(cmd.OutOrStdout(), diag.Visible(line, len(line)))
	}
	return nil
}

// existingIDs returns the IDs of the clusters that were not removed.
func existingIDs(clusters []incremental.AffectedCluster) []string {
	var ids []string
	for _, c := range clusters {
		if c.Change != incremental.Removed {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
