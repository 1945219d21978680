package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/spf13/cobra"
)

const chartVendorLong = `vendor writes the archives of all pinned charts and sources to vendor/charts in
the fleet's repository, for you to commit. Compiling looks there first, and then
needs neither the network nor the cache.

vendor removes archives that are no longer pinned, and leaves other files alone.
Every compilation, and chart verify, check each archive against its pin.

The exit status is 0 when vendor/charts has all archives, and 2 when one could
not be fetched or written.`

const chartVendorExample = `  fleetc chart vendor
  fleetc vet --offline --cache-dir /nonexistent`

func newChartVendorCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "vendor",
		Short:   "Write the archives of charts to the repository",
		Long:    chartVendorLong,
		Example: chartVendorExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			written, removed, err := edit.Vendor(cmd.Context(), o.compiler())
			lists := map[string][]string{"written": append([]string{}, written...), "removed": append([]string{}, removed...)}
			return errors.Join(err, writeResult(cmd, o, lists, func(w io.Writer) {
				for _, name := range written {
					fmt.Fprintf(w, "wrote   %s\n", name)
				}
				for _, name := range removed {
					fmt.Fprintf(w, "removed %s\n", name)
				}
				if len(written)+len(removed) == 0 && err == nil {
					fmt.Fprintln(w, "vendor/charts is up to date")
				}
			}))
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}
