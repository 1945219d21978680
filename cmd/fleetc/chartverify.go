package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/spf13/cobra"
)

const chartVerifyLong = `verify fetches every pinned chart and every pinned source of a kustomization
again, and compares their digests with the pins. With --offline, it checks the
archives in the cache.`

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
			sources, more := verifySources(cmd.Context(), c, f.Dir)
			charts, faults = append(charts, sources...), errors.Join(faults, more)
			write := verifiedTable
			if output == "json" {
				write = func(w io.Writer, charts []verifiedChart) error { return writeJSON(w, charts) }
			}
			return cmp.Or(write(cmd.OutOrStdout(), charts), faults)
		},
	}
	outputFlag(cmd, &output, "text", "json")
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
	source, users := c.Source(f.Dir), fleet.ChartUsers(f)
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

// verifySources compares pinned sources of kustomizations with their origin.
func verifySources(ctx context.Context, c *compiler.Compiler, dir string) ([]verifiedChart, error) {
	sources, err := edit.Sources(c)
	if err != nil {
		return nil, err
	}
	source := c.Source(dir)
	var faults diag.List
	var out []verifiedChart
	for _, s := range sources {
		err := source.VerifyRemote(ctx, s)
		faults.Add(err)
		out = append(out, verifiedChart{Chart: s.Address, Digest: s.Digest, Clusters: []string{}, OK: err == nil})
	}
	return out, faults.Err()
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
		clusters := strconv.Itoa(len(c.Clusters))
		if len(c.Clusters) == 0 {
			clusters = "-" // a source of kustomizations
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Chart, cmp.Or(c.Digest, "-"), clusters, result)
	}
	return t.Flush()
}
