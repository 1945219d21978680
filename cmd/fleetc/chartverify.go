package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

const chartVerifyLong = `verify fetches every pinned chart again and compares its digest with the pin.
With --offline it checks the archives in the cache.`

const chartVerifyExample = `  fleetc chart verify
  fleetc chart verify prod --offline`

func newChartVerifyCommand(o *options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "verify [CLUSTER...]",
		Short:             "Check pinned charts against their sources",
		Long:              chartVerifyLong,
		Example:           chartVerifyExample,
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			c := o.compiler()
			f, err := c.Clusters(cmd.Context(), patterns...)
			if err != nil {
				return err
			}
			charts, faults := verifyCharts(cmd.Context(), c, f)
			write := verifiedTable
			if output == "json" {
				write = func(w io.Writer, charts []verifiedChart) error { return writeJSON(w, charts) }
			}
			return cmp.Or(write(cmd.OutOrStdout(), charts), faults)
		},
	}
	outputFlag(cmd, &output, "table", "json")
	selectorFlags(cmd, o)
	return cmd
}

// A verifiedChart is the result of chart verify for one chart.
type verifiedChart struct {
	Chart    string   `json:"chart"`
	Digest   string   `json:"digest,omitempty"`
	Clusters []string `json:"clusters"`
	OK       bool     `json:"ok"`
}

// verifyCharts compares the charts of a fleet with their sources.
func verifyCharts(ctx context.Context, c *compiler.Compiler, f *fleet.Fleet) ([]verifiedChart, error) {
	source, users := c.Source(f.Dir), compiler.ChartUsers(f)
	var faults diag.List
	charts := []verifiedChart{}
	byName := func(a, b fleet.ChartRef) int { return cmp.Compare(a.String(), b.String()) }
	for _, ref := range slices.SortedFunc(maps.Keys(users), byName) {
		err := source.Verify(ctx, ref)
		if err != nil {
			faults.Add(users[ref].Blame(err))
		}
		charts = append(charts, verifiedChart{Chart: ref.String(), Digest: ref.Digest, Clusters: users[ref].Clusters, OK: err == nil})
	}
	return charts, faults.Err()
}

// verifiedTable writes the results of chart verify as a table.
func verifiedTable(w io.Writer, charts []verifiedChart) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "CHART\tDIGEST\tCLUSTERS\tRESULT")
	for _, c := range charts {
		result := "ok"
		if !c.OK {
			result = "FAULT"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", c.Chart, cmp.Or(c.Digest, "-"), len(c.Clusters), result)
	}
	return t.Flush()
}
