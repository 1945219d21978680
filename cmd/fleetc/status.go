package main

import (
	"fmt"
	"io"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/spf13/cobra"
)

const statusLong = `status shows the bundle and commit that each cluster runs, since when and
applied by whom, and compares the bundle with the current bundle of the fleet:

  up to date      the cluster runs the bundle of the fleet
  behind          the cluster runs another bundle, or has other hooks for the
                  deletion of a release
  applied         the cluster runs a whole bundle, which is not compared with
                  the fleet: with --no-compile, or if it does not compile
  destroyed       fleetc destroy removed the bundle and kept some objects
  unfinished      the last apply failed, or applied only a part of the bundle
  never applied   fleetc has not applied anything
  unreachable     the cluster does not answer
  forbidden       the user has no right to read its records: the fault says which
  unknown         its files do not evaluate, it has no context, or its records
                  could not be read
  refused         it is not the cluster that fleetc knows, or its records cannot
                  be used

status reads the records in the clusters, and writes nothing. It does not
compare objects: apply --dry-run shows changes that others have made.

--health reads all objects and lists those that are not ready. --orphans lists
objects that fleetc has applied and that are not in the inventory, for example
after the inventory was lost; apply --adopt takes them over. --no-compile does
not compile the fleet.

The exit status is 0 when all clusters are up to date (or applied, with
--no-compile), ready and without orphans. It is 1 when a cluster is not, and 2
when a cluster, or a kind for --orphans, could not be read, or when a cluster
does not compile.`

const statusExample = `  fleetc status
  fleetc status --health prod
  fleetc status --orphans prod/us-east-1
  fleetc status --no-compile -o json | jq -r '.clusters[] | [.id, .running.commit] | @tsv'`

func newStatusCommand(o *options) *cobra.Command {
	var a applyOptions
	var s deliver.StatusOptions
	cmd := &cobra.Command{
		Use:     "status [CLUSTER...]",
		Short:   "Show which bundles clusters run, and whether they are up to date",
		Long:    statusLong,
		Example: statusExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := a.identify(o); err != nil {
				return err
			}
			s.ApplyOptions = a.ApplyOptions
			return runStatus(cmd, o, s, patterns)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&s.NoCompile, "no-compile", false, "do not compile the fleet, and do not compare with it")
	f.BoolVar(&s.Orphans, "orphans", false, "list objects that fleetc applied and that are not in the inventory")
	f.BoolVar(&s.Health, "health", false, "read all objects, and list those that are not ready")
	accessFlags(cmd, &a.Access)
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

func runStatus(cmd *cobra.Command, o *options, s deliver.StatusOptions, patterns []string) error {
	clusters, err := deliver.ReadStatus(cmd.Context(), o.compiler(), s, patterns...)
	var faults diag.List
	faults.Add(err)
	differ := false
	for _, c := range clusters {
		faults.Add(c.Err)
		good := c.State == deliver.UpToDate || s.NoCompile && c.State == deliver.Applied
		differ = differ || !good || len(c.Unhealthy) > 0 || len(c.Orphans) > 0
	}
	if len(clusters) > 0 {
		err := writeResult(cmd, o, map[string]any{"clusters": clusters}, func(w io.Writer) { statusTable(w, clusters) })
		if err != nil {
			return err
		}
	}
	return orDifferences(faults.Err(), differ)
}

func statusTable(w io.Writer, clusters []*deliver.Status) {
	t := newTable(w, "CLUSTER\tSTATE\tREVISION\tSINCE\tWHO\tCOMMIT\tBUNDLE")
	for _, c := range clusters {
		revision, since, who, commit, digest := "-", "-", "-", "-", "-"
		if v := c.Revision(); v != nil {
			revision, since, who, commit, digest = fmt.Sprint(v.Number), v.Time.Format(time.RFC3339), cell(v.By), shortCommit(*v), shortDigest(v.Bundle)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.ID, c.State, revision, since, who, commit, digest)
	}
	_ = t.Flush()
	for _, c := range clusters {
		for _, line := range statusNotes(c) {
			fmt.Fprintf(w, "%s: %s\n", c.ID, line)
		}
	}
}

// statusNotes returns the notes about a cluster below the table.
func statusNotes(c *deliver.Status) []string {
	var lines []string
	if c.Holder != "" {
		lines = append(lines, c.Holder+" applies to it")
	}
	if c.Compile != nil {
		lines = append(lines, "does not compile: its target bundle is unknown")
	}
	if c.State == deliver.Unfinished && c.Running != nil {
		lines = append(lines, fmt.Sprintf("ran revision %d last", c.Running.Revision))
	}
	if c.State == deliver.Behind && c.Compiled == c.Inventory.Bundle {
		lines = append(lines, "runs the bundle, and has other hooks for the deletion of a release; run fleetc apply")
	}
	for _, u := range c.Unhealthy {
		lines = append(lines, u.String())
	}
	lines = append(lines, orphanNotes(c)...)
	if c.Unhealthy != nil && len(c.Unhealthy) == 0 && c.Inventory != nil {
		lines = append(lines, "all objects are ready")
	}
	return lines
}

// orphanNotes lists objects without an inventory entry, and what to do about
// them.
func orphanNotes(c *deliver.Status) []string {
	if c.Orphans == nil {
		return nil
	}
	lines := diag.Each(c.Orphans, func(id string) string { return "orphan " + id })
	switch n := len(c.Orphans); {
	case n == 0 && len(c.Unread) > 0:
		lines = append(lines, "has no orphans of the kinds that can be listed")
	case n == 0:
		lines = append(lines, "has no orphans")
	default:
		lines = append(lines, diag.Count(n, "orphan", "orphans")+": the inventory does not have them; run fleetc apply --adopt to take those in that the fleet has, and delete the others")
	}
	return lines
}
