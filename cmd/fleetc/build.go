package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/export"
	"github.com/fleetc/fleetc/compiler/fleet"
)

const buildLong = `build compiles clusters and prints their objects, in the order in which they
apply. The YAML of one cluster can be piped into kubectl. Before each object
stands where it comes from.

Fields that a release keeps (random: keep: true) have the values of the exported
tree that --last names.

With -o json it prints one JSON object for each cluster, on a line of its own:
its ID, the digest of its bundle, and its objects.`

const buildExample = `  fleetc build dev/local
  fleetc build dev/local | kubectl diff -f -
  fleetc build -o json | jq -r '[.cluster, .digest] | @tsv'`

func newBuildCommand(o *options) *cobra.Command {
	var output, last string
	var shard func() (fleet.Shard, error)
	cmd := &cobra.Command{
		Use:               "build [CLUSTER...]",
		Short:             "Print the objects of clusters",
		Long:              buildLong,
		Example:           buildExample,
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			c := o.compiler()
			var err error
			if c.Shard, err = shard(); err != nil {
				return err
			}
			f, err := c.Load(cmd.Context(), patterns...)
			if err != nil {
				return err
			}
			if err := keepOf(o, f, last); err != nil {
				return err
			}
			write := buildYAML
			if output == "json" {
				write = buildJSON
			}
			return build(cmd, f, write)
		},
	}
	cmd.Flags().StringVar(&last, "last", "", "exported `directory` with the values that releases keep")
	_ = cmd.MarkFlagDirname("last")
	shard = shardFlag(cmd)
	outputFlag(cmd, &output, "yaml", "json")
	cacheRegistryFlag(cmd, o)
	return cmd
}

// keepOf makes the fleet keep the values of an exported tree. A release that
// keeps some is a fault when none is named.
func keepOf(o *options, f *compiler.Fleet, last string) error {
	if last == "" {
		if r := f.Keeps(); r != nil {
			return &diag.Diag{
				At: []diag.Pos{r.Pos}, Path: r.Path("random"), Msg: "this release keeps values of the last bundle",
				Hint: "name the exported tree with --last, which may be empty at first",
			}
		}
		return nil
	}
	dir, err := filepath.Abs(o.path(last))
	if err != nil {
		return err
	}
	f.Last = (&export.Tree{Dir: dir, Fleet: f.Module}).Objects
	return nil
}

// build compiles the clusters and prints them when nothing is wrong with any:
// half a fleet is no result. Until then, what is to be printed is in a file,
// which has the size of the fleet.
func build(cmd *cobra.Command, f *compiler.Fleet, write func(io.Writer, *fleet.Bundle) error) error {
	spool, err := os.CreateTemp("", "fleetc-build-*")
	if err != nil {
		return err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	w := bufio.NewWriter(spool)
	var faults diag.List
	p := newProgress(cmd, len(f.Clusters))
	for b, err := range f.Bundles(cmd.Context()) {
		if err == nil && len(faults) == 0 {
			err = write(w, b)
		}
		faults.Add(err)
		p.step()
	}
	p.clear()
	faults.Add(w.Flush())
	if err := faults.Err(); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(cmd.OutOrStdout(), spool)
	return err
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
