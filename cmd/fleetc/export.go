package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/export"
)

const exportLong = `export compiles clusters and writes their objects below a directory, which is
usually the checkout of a GitOps repository:

  DIR/<cluster ID>/<release>/<kind>-[namespace-]name.yaml
  DIR/<cluster ID>/bundle.json

bundle.json lists the objects with their digests, the charts, and the digest of
the whole. Nothing in the tree changes from run to run or from machine to
machine unless the fleet or fleetc does.

The tree is owned: files that fleetc wrote and that are no longer part of a
bundle are removed, unchanged files are not touched, and other files are left
alone. Without a cluster pattern the trees of clusters that are gone go too.
Nothing is written when anything is wrong with any of the clusters. Each
cluster's tree changes at once: an interrupted export leaves the old or the new
one.

With --check nothing is written; exit status 1 says that an export would change
something.`

const exportExample = `  fleetc export --out ../clusters
  fleetc export --out ../clusters 'prod/*'
  fleetc export --out ../clusters --check`

type exportOptions struct {
	out, output string
	check       bool
}

func newExportCommand(o *options) *cobra.Command {
	var e exportOptions
	cmd := &cobra.Command{
		Use:               "export [CLUSTER...]",
		Short:             "Write the objects of clusters as files",
		Long:              exportLong,
		Example:           exportExample,
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if e.out == "" {
				return &diag.Diag{Msg: "export needs a directory to write to", Hint: "name it with --out"}
			}
			return runExport(cmd, o, &e, patterns)
		},
	}
	cmd.Flags().StringVar(&e.out, "out", "", "`directory` to write to")
	cmd.Flags().BoolVar(&e.check, "check", false, "write nothing; exit with 1 when something would change")
	_ = cmd.MarkFlagDirname("out")
	outputFlag(cmd, &e.output, "text", "json")
	return cmd
}

func runExport(cmd *cobra.Command, o *options, e *exportOptions, patterns []string) error {
	f, err := o.compiler().Load(cmd.Context(), patterns...)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(o.path(e.out))
	if err != nil {
		return err
	}
	tree := &export.Tree{Dir: dir, Fleet: f.Module, Version: toolVersion()}
	f.Last = tree.Objects
	begin := func() (*export.Session, error) { return tree.Begin(cmd.Context()) }
	if e.check {
		begin = tree.Check
	}
	session, err := begin()
	if err != nil {
		return err
	}
	summary, err := exportAll(cmd, f, session, len(patterns) == 0)
	if cerr := session.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := printSummary(cmd.OutOrStdout(), summary, e); err != nil {
		return err
	}
	if e.check && summary.Changes() > 0 {
		return errDifferences
	}
	return nil
}

// exportAll stages every cluster, and commits when nothing is wrong with any.
func exportAll(cmd *cobra.Command, f *compiler.Fleet, session *export.Session, whole bool) (export.Summary, error) {
	var faults diag.List
	p := newProgress(cmd, len(f.Clusters))
	defer p.clear()
	for b, err := range f.Bundles(cmd.Context()) {
		if err == nil {
			_, err = session.Stage(b)
		}
		faults.Add(err)
		p.step()
	}
	if whole {
		var ids []string
		for _, c := range f.Clusters {
			ids = append(ids, c.ID)
		}
		_, err := session.Retire(ids)
		faults.Add(err)
	}
	if err := faults.Err(); err != nil {
		return export.Summary{}, err
	}
	if err := cmd.Context().Err(); err != nil {
		return export.Summary{}, err
	}
	return session.Commit()
}

func printSummary(w io.Writer, s export.Summary, e *exportOptions) error {
	if e.output == "json" {
		return exportJSON(w, s)
	}
	for _, c := range s.Clusters {
		for _, f := range c.Files {
			if _, err := fmt.Fprintf(w, "%-7s %s\n", f.Action, f.Name); err != nil {
				return err
			}
		}
	}
	clusters := 0
	for _, c := range s.Clusters {
		if !c.Retired {
			clusters++
		}
	}
	verb := "changed"
	if e.check {
		verb = "would change"
	}
	_, err := fmt.Fprintf(w, "%s, %s: %d %s\n", plural(clusters, "cluster", "clusters"),
		plural(s.Added+s.Changed+s.Unchanged, "file", "files"), s.Changes(), verb)
	return err
}

// exportJSON prints what an export did, or would do: counts, and the files of
// each cluster that are not as they were.
func exportJSON(w io.Writer, s export.Summary) error {
	type file struct {
		Name   string `json:"name"`
		Action string `json:"action"`
	}
	type cluster struct {
		ID        string `json:"id"`
		Retired   bool   `json:"retired"`
		Unchanged int    `json:"unchanged"`
		Files     []file `json:"files"`
	}
	out := struct {
		Added     int       `json:"added"`
		Changed   int       `json:"changed"`
		Removed   int       `json:"removed"`
		Unchanged int       `json:"unchanged"`
		Clusters  []cluster `json:"clusters"`
	}{s.Added, s.Changed, s.Removed, s.Unchanged, []cluster{}}
	for _, c := range s.Clusters {
		l := cluster{ID: c.Cluster, Retired: c.Retired, Unchanged: c.Unchanged, Files: []file{}}
		for _, f := range c.Files {
			l.Files = append(l.Files, file{f.Name, string(f.Action)})
		}
		out.Clusters = append(out.Clusters, l)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
