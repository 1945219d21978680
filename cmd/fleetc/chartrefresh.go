package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/spf13/cobra"
)

// refreshCharts runs chart add --refresh.
func refreshCharts(cmd *cobra.Command, o *options, names []string) error {
	if err := rejectFlags(cmd, "--refresh takes no %s", "leave it out: the packages have the versions", "version", "repo", "name"); err != nil {
		return err
	}
	refreshed, err := edit.RefreshCharts(cmd.Context(), o.compiler(), names...)
	return errors.Join(writeResult(cmd, o, append([]edit.RefreshedChart{}, refreshed...), func(w io.Writer) { refreshText(w, refreshed) }), err)
}

// refreshText prints the packages that changed, and the number of the others.
func refreshText(w io.Writer, refreshed []edit.RefreshedChart) {
	complete := 0
	for _, r := range refreshed {
		if !r.Changed {
			complete++
			continue
		}
		version := cmp.Or(r.Version, "-")
		if r.OldVersion != "" && r.OldVersion != version {
			version = r.OldVersion + " -> " + version
		}
		fmt.Fprintf(w, "%s %s\n", r.Chart, version)
		writePin(w, &r.AddedChart)
		writeTypes(w, &r.AddedChart)
	}
	if complete > 0 {
		fmt.Fprintf(w, "%s already complete\n", diag.Count(complete, "package is", "packages are"))
	}
}
