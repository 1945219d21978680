package main

import (
	"errors"
	"fmt"

	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/spf13/cobra"
)

const chartVendorLong = `vendor puts the archives of all pinned charts and sources into vendor/charts of the fleet's
repository, to be committed: compiling looks there first, and then needs neither
network nor cache. Archives of former pins are removed; other files are left
alone. Each archive is checked against its pin whenever the fleet is compiled,
and by chart verify.`

const chartVendorExample = `  fleetc chart vendor
  fleetc vet --offline --cache-dir /nonexistent`

func newChartVendorCommand(o *options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "vendor",
		ValidArgsFunction: cobra.NoFileCompletions,
		Short:             "Put the archives of charts into the repository",
		Long:              chartVendorLong,
		Example:           chartVendorExample,
		Args:              cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			written, removed, err := edit.Vendor(cmd.Context(), o.compiler())
			w := cmd.OutOrStdout()
			if output == "json" {
				lists := map[string][]string{"written": append([]string{}, written...), "removed": append([]string{}, removed...)}
				return errors.Join(err, writeJSON(w, lists))
			}
			for _, name := range written {
				fmt.Fprintf(w, "wrote   %s\n", name)
			}
			for _, name := range removed {
				fmt.Fprintf(w, "removed %s\n", name)
			}
			return err
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}
