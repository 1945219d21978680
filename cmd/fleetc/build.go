package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

const buildLong = `build compiles clusters and prints their objects, in the order in which they
apply. The YAML of one cluster can be piped into kubectl. Before each object
stands where it comes from.

With -o json it prints one JSON object for each cluster, on a line of its own:
its ID, the digest of its bundle, and its objects.`

const buildExample = `  fleetc build dev/local
  fleetc build dev/local | kubectl diff -f -
  fleetc build -o json | jq -r '[.cluster, .digest] | @tsv'`

func newBuildCommand(o *options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "build [CLUSTER...]",
		Short:             "Print the objects of clusters",
		Long:              buildLong,
		Example:           buildExample,
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			f, err := o.compiler().Load(cmd.Context(), patterns...)
			if err != nil {
				return err
			}
			write := buildYAML
			if output == "json" {
				write = buildJSON
			}
			w := bufio.NewWriter(cmd.OutOrStdout())
			var faults diag.List
			for b, err := range f.Bundles(cmd.Context()) {
				if err != nil {
					faults.Add(err)
					continue
				}
				// After a fault nothing more is printed: half a fleet is no result.
				if len(faults) == 0 {
					if err := write(w, b); err != nil {
						return err
					}
				}
			}
			if err := w.Flush(); err != nil {
				return err
			}
			return faults.Err()
		},
	}
	outputFlag(cmd, &output, "yaml", "json")
	return cmd
}

func buildYAML(w io.Writer, b *fleet.Bundle) error {
	for i, o := range b.Objects {
		from := o.Template
		if from == "" {
			from = o.Pos.File
		}
		if _, err := fmt.Fprintf(w, "---\n# cluster %s, release %s: %s\n%s", b.Cluster.ID, o.Release.Name, from, b.YAML[i]); err != nil {
			return err
		}
	}
	return nil
}

func buildJSON(w io.Writer, b *fleet.Bundle) error {
	out := struct {
		Cluster string           `json:"cluster"`
		Digest  string           `json:"digest"`
		Objects []map[string]any `json:"objects"`
	}{b.Cluster.ID, b.Digest, make([]map[string]any, len(b.Objects))}
	for i, o := range b.Objects {
		out.Objects[i] = o.Object
	}
	return json.NewEncoder(w).Encode(out)
}
