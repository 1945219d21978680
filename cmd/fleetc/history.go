package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/spf13/cobra"
)

const historyLong = `history lists the whole bundles that were applied to clusters, the newest first.
For each one it shows the time, the user, the commit of the fleet, the version
of fleetc, and how many objects were created, changed and pruned. A + after a
commit means that the working tree had other changes. An * marks the current
bundle. If the same bundle is applied again, to repair a cluster or after a
rollback, its revision shows how often and by whom.

history reads this from the clusters, and compiles nothing. cluster.history sets
how many revisions a cluster stores.`

const historyExample = `  fleetc history prod/us-east-1
  fleetc history -o json | jq '.clusters[] | {id, revision: .revisions[0]}'`

func newHistoryCommand(o *options) *cobra.Command {
	var a applyOptions
	cmd := &cobra.Command{
		Use:     "history [CLUSTER...]",
		Short:   "List the bundles that were applied to clusters",
		Long:    historyLong,
		Example: historyExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := a.identify(o); err != nil {
				return err
			}
			records, err := deliver.Records(cmd.Context(), o.compiler(), a.ApplyOptions, patterns...)
			var faults diag.List
			faults.Add(err)
			var reports []deliver.RecordReport
			for _, r := range records {
				faults.Add(r.Err)
				reports = append(reports, r.Report())
			}
			if len(records) > 0 {
				if err := writeResult(cmd, o, map[string]any{"clusters": reports}, func(w io.Writer) { historyTable(w, records) }); err != nil {
					return err
				}
			}
			return faults.Err()
		},
	}
	accessFlags(cmd, &a.Access)
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

func historyTable(w io.Writer, records []*deliver.ClusterRecord) {
	t := newTable(w, "CLUSTER\tREVISION\tWHEN\tWHO\tCOMMIT\tBUNDLE\tFLEETC\tWHAT\tOBJECTS\tAPPLIED")
	for _, r := range records {
		if r.Inventory == nil || len(r.Inventory.History) == 0 {
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\t-\t-\t-\t-\t-\n", r.Cluster.ID)
			continue
		}
		current := r.Inventory.Current()
		for i, v := range slices.Backward(r.Inventory.History) {
			mark := ""
			if current != nil && i == len(r.Inventory.History)-1 {
				mark = "*"
			}
			fmt.Fprintf(t, "%s\t%d%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Cluster.ID, v.Number, mark, v.Time.Format(time.RFC3339), cell(v.By),
				shortCommit(v), shortDigest(v.Bundle), cell(v.Tool), v.Action(), counts(v.Created, v.Changed, v.Pruned, v.Replaced), appliedOf(v))
		}
	}
	_ = t.Flush()
}

// cell returns external text for a table cell.
func cell(s string) string {
	if s == "" {
		return "-"
	}
	return diag.Visible(s, diag.MaxText)
}

// shortLength is the number of digits of a hash in tables.
const shortLength = 12

func shortCommit(v apply.Revision) string {
	s := cell(v.Commit[:min(len(v.Commit), shortLength)])
	if v.Dirty {
		s += "+"
	}
	return s
}

func shortDigest(digest string) string {
	hash := digest[strings.Index(digest, ":")+1:]
	return cell(hash[:min(len(hash), shortLength)])
}

// appliedOf returns how often the bundle of a revision was applied, and by
// whom last.
func appliedOf(v apply.Revision) string {
	if v.Count() == 1 {
		return "once"
	}
	last := v.LastApply()
	s := fmt.Sprintf("%d times, last at %s by %s", v.Count(), last.Time.Format(time.RFC3339), cell(last.By))
	if len(v.Folded) > 0 {
		s += ", earlier as " + strings.Trim(fmt.Sprint(v.Folded), "[]")
	}
	return s
}

// revisionOrigin describes who made a revision, when and how.
func revisionOrigin(v apply.Revision) string {
	s := fmt.Sprintf("%s by %s at %s", v.Action(), cell(v.By), v.Time.Format(time.RFC3339))
	if v.Commit != "" {
		s += ", commit " + shortCommit(v)
	}
	return s
}
