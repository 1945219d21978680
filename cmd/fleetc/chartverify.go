package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/spf13/cobra"
)

const chartVerifyLong = `verify fetches every pinned chart and every pinned source of a kustomization
again, and compares their digests with the pins. With --offline, it checks the
archives in the cache.

The exit status is 0 when all digests are those of the pins, and 2 when one
differs or a chart cannot be fetched. The output then still has the others.`

const chartVerifyExample = `  fleetc chart verify
  fleetc chart verify prod --offline`

func newChartVerifyCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify [CLUSTER...]",
		Short:   "Check pinned charts against their sources",
		Long:    chartVerifyLong,
		Example: chartVerifyExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			charts, err := edit.VerifyCharts(cmd.Context(), o.compiler(), patterns...)
			if charts == nil {
				return err
			}
			return cmp.Or(writeResult(cmd, o, charts, func(w io.Writer) { verifiedTable(w, charts) }), err)
		},
	}
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

// verifiedTable writes the results of chart verify as a table.
func verifiedTable(w io.Writer, charts []edit.VerifiedChart) {
	if len(charts) == 0 {
		fmt.Fprintln(w, "no pinned charts or sources")
		return
	}
	t := newTable(w, "CHART\tDIGEST\tCLUSTERS\tRESULT")
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
	_ = t.Flush()
}
