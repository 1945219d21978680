package main

import (
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/values"
	"github.com/spf13/cobra"
)

// maxOpen is the maximum number of listed open values.
const maxOpen = 10

// coverageText returns the coverage in one line.
func coverageText(c values.Coverage) string {
	text := fmt.Sprintf("%d typed, %d open, %d unread", c.Typed, len(c.Open), c.Unread)
	if len(c.Open) == 0 {
		return text
	}
	return diag.Visible(text+"; anything passes for "+diag.JoinFirst(c.Open, maxOpen), 2000)
}

// writeMissing prints unknown documents that the chart's schema refers to.
func writeMissing(w io.Writer, lead string, missing []string) {
	for i, name := range missing {
		if i == maxOpen {
			fmt.Fprintf(w, "%sand %d more documents\n", lead, len(missing)-i)
			return
		}
		fmt.Fprintf(w, "%s%s, which the chart's schema refers to, is unknown: its rules are not checked\n", lead, diag.Visible(name, 300))
	}
}

// writeCoverage prints the coverage of each chart of the clusters.
func writeCoverage(cmd *cobra.Command, c *compiler.Compiler, patterns []string) error {
	charts, err := edit.Coverage(cmd.Context(), c, patterns...)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	for _, ch := range charts {
		fmt.Fprintf(w, "%s: %s\n", ch.Ref, coverageText(ch.Coverage))
		writeMissing(w, "  open: ", ch.Missing)
	}
	return nil
}
