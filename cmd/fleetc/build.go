package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/spf13/cobra"
)

const buildLong = `build compiles clusters and prints their objects in the order in which they are
applied. A comment before each object says where it comes from. You can pipe the
YAML of one cluster into kubectl.

If a release keeps random values (random: keep: true), name the exported tree
that has them with --last.

With -o json, build prints one line for each cluster: a JSON object with its ID,
the digest of its bundle, and its objects. --release limits the objects to some
releases; the digest is still the digest of the whole bundle.`

const buildExample = `  fleetc build dev/local
  fleetc build dev/local | kubectl diff -f -
  fleetc build -l tier=gold --release web
  fleetc build -o json | jq -r '[.cluster, .digest] | @tsv'`

func newBuildCommand(o *options) *cobra.Command {
	var last string
	var releases []string
	var shard func() (fleet.Shard, error)
	cmd := &cobra.Command{
		Use:     "build [CLUSTER...]",
		Short:   "Compile clusters and print their objects",
		Long:    buildLong,
		Example: buildExample,
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
			if err := setLast(o, f, last); err != nil {
				return err
			}
			write := buildYAML
			if o.output == "json" {
				write = buildJSON
			}
			if err := checkReleaseNames(f.Fleet, releases); err != nil {
				return err
			}
			return build(cmd, f, releases, write)
		},
	}
	cmd.Flags().StringVar(&last, "last", "", "exported `directory` with the random values that releases keep")
	_ = cmd.MarkFlagDirname("last")
	cmd.Flags().StringSliceVar(&releases, "release", nil, "print only the objects of this `release`; may be repeated")
	shard = shardFlag(cmd)
	outputFlag(cmd, "yaml", "json")
	selectorFlags(cmd, o)
	return cmd
}

// setLast makes the fleet keep values of an exported tree. Without a tree, a
// release that keeps values is a fault. So is a directory that is not an exported
// tree, which would give new values.
func setLast(o *options, f *compiler.Fleet, last string) error {
	if last == "" {
		if r := f.Keeps(); r != nil {
			return &diag.Diag{
				Code: diag.CodeFlagCombination,
				At:   []diag.Pos{r.Pos}, Path: r.Path("random"), Msg: "this release keeps random values of the last bundle",
				Hint: "pass the exported directory with --last; it may be empty at first",
			}
		}
		return nil
	}
	dir, err := filepath.Abs(o.path(last))
	if err != nil {
		return err
	}
	tree := &export.Tree{Dir: dir, Fleet: f.Module}
	f.KeepLast(fleet.PlainLayout, tree.Objects)
	if f.Keeps() == nil {
		return nil
	}
	_, err = tree.ExportedClusters("name a directory that fleetc export wrote, or an empty one for new values")
	return err
}

// build compiles the clusters and prints them if none has faults. It spools
// the output to a file, because it may be as large as the fleet.
func build(cmd *cobra.Command, f *compiler.Fleet, releases []string, write func(io.Writer, *fleet.Bundle) error) error {
	spool, err := os.CreateTemp("", "fleetc-build-*")
	if err != nil {
		return diag.NoTempFile(err)
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	_ = os.Remove(spool.Name()) // a closed pipe ends the process without the deferred calls; Windows keeps an open file
	w := bufio.NewWriter(spool)
	var faults diag.List
	p := newProgress(cmd, len(f.Clusters))
	for b, err := range f.Bundles(cmd.Context()) {
		if err == nil && len(faults) == 0 {
			err = write(w, selectReleases(b, releases))
		}
		faults.Add(err)
		p.step()
	}
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

// checkReleaseNames reports releases that no cluster has.
func checkReleaseNames(f *fleet.Fleet, releases []string) error {
	names := f.ReleaseNames()
	var faults diag.List
	for _, r := range releases {
		if !slices.Contains(names, r) {
			faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: fmt.Sprintf("no selected cluster has a release %q", diag.Visible(r, diag.MaxText)), Hint: fleet.ReleaseHint(r, names)})
		}
	}
	return faults.Err()
}

// selectReleases returns a bundle with the objects of some releases, or of all
// if the list is empty.
func selectReleases(b *fleet.Bundle, releases []string) *fleet.Bundle {
	if len(releases) == 0 {
		return b
	}
	out := *b
	out.Objects, out.YAML = nil, nil
	for i, o := range b.Objects {
		if slices.Contains(releases, o.Release.Name) {
			out.Objects, out.YAML = append(out.Objects, o), append(out.YAML, b.YAML[i])
		}
	}
	return &out
}

func buildYAML(w io.Writer, b *fleet.Bundle) error {
	for i, o := range b.Objects {
		from := cmp.Or(o.Template, o.Pos.File)
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
