package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/spf13/cobra"
)

const affectedLong = `affected lists the clusters whose bundle can be another than in a commit: those
of which a file was changed, added or removed that their bundle is made of, in
the commit or now. That is told by what each of them reads: its layers and the
CUE packages that they import, the files that these embed, charts in the
repository, Jsonnet and all that it imports, kustomizations and manifests.
Nothing is rendered. A cluster that is not listed has the bundle that it had.

It compares what is in the working tree, committed or not. Clusters that are
gone are not listed, except with -o json. Where the commit has faults, what they
concern is listed, since it cannot be told; a line on standard error says so.

With --files it lists files: with --since those that differ, of a cluster's
layers alone when there are such; without it all that the bundles of the
clusters are made of, from the fleet's root.

It is a listing: exit status is 0 with and without clusters. Since no cluster
pattern means all clusters, use vet --since rather than the list when there may
be none in it.`

const affectedExample = `  fleetc affected --since git:origin/main
  fleetc affected --since git:origin/main -o json 'prod/*'
  fleetc affected --files prod/us-east-1
  fleetc vet --render --since git:origin/main`

func newAffectedCommand(o *options) *cobra.Command {
	var since, output string
	var files bool
	cmd := &cobra.Command{
		Use:               "affected [CLUSTER...]",
		Short:             "List the clusters that changes since a commit can concern",
		Long:              affectedLong,
		Example:           affectedExample,
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			var clusters []affectedCluster
			var err error
			switch {
			case since != "":
				clusters, _, err = affectedSince(cmd, o, since, patterns)
			case files:
				clusters, err = inputFiles(cmd, o, patterns)
			default:
				err = &diag.Diag{Msg: "affected needs a commit to compare with", Hint: "name it with --since git:origin/main, or list what bundles are made of with --files"}
			}
			if err != nil {
				return err
			}
			return printAffected(cmd, clusters, files, output)
		},
	}
	sinceFlag(cmd, &since)
	cmd.Flags().BoolVar(&files, "files", false, "list files in place of clusters")
	outputFlag(cmd, &output, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

// sinceFlag adds --since.
func sinceFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "since", "", "only clusters whose bundle can be another than in this `commit`, as git:REF")
}

// An affectedCluster is a cluster in the output of affected -o json.
type affectedCluster struct {
	Cluster string   `json:"cluster"`
	Change  string   `json:"change,omitempty"`
	Files   []string `json:"files"`
}

// affectedSince returns the clusters that changes since a commit may affect,
// and the other clusters.
func affectedSince(cmd *cobra.Command, o *options, since string, patterns []string) (affected []affectedCluster, unchanged []*fleet.Cluster, err error) {
	ref, ok := strings.CutPrefix(since, "git:")
	if !ok {
		return nil, nil, &diag.Diag{Msg: fmt.Sprintf("--since takes git:REF, not %q", since), Hint: "write git:" + since}
	}
	report, err := incremental.AffectedSince(cmd.Context(), o.compiler(), ref, patterns...)
	if err != nil {
		return nil, nil, err
	}
	affected = make([]affectedCluster, len(report.Affected))
	unknown := 0
	for i, a := range report.Affected {
		affected[i] = affectedCluster{Cluster: a.ID, Change: string(a.Change), Files: append([]string{}, a.Files...)}
		if a.Change == incremental.Unknown {
			unknown++
		}
	}
	if unknown > 0 && !o.started.IsDocument() {
		first := diag.Visible(diag.All(report.OldFaults)[0].Error(), 4*diag.MaxText)
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, since the commit has faults: %s\n",
			plural(unknown, "cluster counts as affected", "clusters count as affected"), strings.TrimPrefix(first, "git:"))
	}
	return affected, report.Unchanged, nil
}

// inputFiles returns clusters with all files that their bundles depend on.
func inputFiles(cmd *cobra.Command, o *options, patterns []string) ([]affectedCluster, error) {
	inputs, err := incremental.ReadInputs(cmd.Context(), o.compiler(), patterns...)
	if err != nil {
		return nil, err
	}
	var out []affectedCluster
	for _, id := range slices.Sorted(maps.Keys(inputs)) {
		out = append(out, affectedCluster{Cluster: id, Files: slices.Sorted(maps.Keys(inputs[id]))})
	}
	return out, nil
}

func printAffected(cmd *cobra.Command, clusters []affectedCluster, files bool, output string) error {
	if output == "json" {
		return writeJSON(cmd.OutOrStdout(), append([]affectedCluster{}, clusters...))
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
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), diag.Visible(line, len(line))); err != nil {
			return err
		}
	}
	return nil
}

// existingIDs returns the IDs of the clusters that were not removed.
func existingIDs(clusters []affectedCluster) []string {
	var ids []string
	for _, c := range clusters {
		if c.Change != string(incremental.Removed) {
			ids = append(ids, c.Cluster)
		}
	}
	return ids
}
