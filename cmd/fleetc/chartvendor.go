package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

const chartVendorLong = `vendor puts the archives of all pinned charts into vendor/charts of the fleet's
repository, to be committed: compiling looks there first, and then needs neither
network nor cache. Archives of former pins are removed; other files are left
alone. Each archive is checked against its pin whenever the fleet is compiled,
and by chart verify.`

const chartVendorExample = `  fleetc chart vendor
  fleetc vet --offline --cache-dir /nonexistent`

func newChartVendorCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "vendor",
		Short:   "Put the archives of charts into the repository",
		Long:    chartVendorLong,
		Example: chartVendorExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			written, removed, err := o.compiler().Vendor(cmd.Context())
			w := cmd.OutOrStdout()
			for _, name := range written {
				fmt.Fprintf(w, "wrote   %s\n", name)
			}
			for _, name := range removed {
				fmt.Fprintf(w, "removed %s\n", name)
			}
			return err
		},
	}
}
