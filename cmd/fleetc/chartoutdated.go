package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/fleetc/fleetc/compiler/query"
	"github.com/spf13/cobra"
)

const chartOutdatedLong = `outdated lists the pinned charts that have a newer stable version. It asks the
repositories of all charts that clusters use, and shows the newest compatible
version and the newest version of all. A version is compatible if it has the
same major number and, below 1.0, the same minor number. For a chart in git,
the versions are the tags of the repository. Nothing is written.

The exit status is 0 when no chart has a newer version, 1 when one has, and 2
when a repository cannot be read. The output then still has the other charts.`

const chartOutdatedExample = `  fleetc chart outdated
  fleetc chart outdated --all -o json
  fleetc chart outdated prod`

func newChartOutdatedCommand(o *options) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "outdated [CLUSTER...]",
		Short:   "List charts that have newer versions",
		Long:    chartOutdatedLong,
		Example: chartOutdatedExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			versions, err := query.OutdatedCharts(cmd.Context(), o.compiler(), patterns...)
			outdated := slices.ContainsFunc(versions, func(v query.ChartVersions) bool { return v.Outdated })
			if !all {
				versions = slices.DeleteFunc(versions, func(v query.ChartVersions) bool { return !v.Outdated })
			}
			if err != nil && len(versions) == 0 {
				return err
			}
			// Print the known versions even if some requests failed.
			printed := writeResult(cmd, o, append([]query.ChartVersions{}, versions...), func(w io.Writer) { outdatedTable(w, versions) })
			return orDifferences(cmp.Or(err, printed), outdated)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list charts without a newer version")
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

func outdatedTable(w io.Writer, versions []query.ChartVersions) {
	if len(versions) == 0 {
		fmt.Fprintln(w, "no chart has a newer version")
		return
	}
	t := newTable(w, "CHART\tPACKAGE\tPINNED\tCOMPATIBLE\tNEWEST\tCLUSTERS")
	for _, v := range versions {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\n", v.Location, cmp.Or(v.Package, "-"),
			shortRef(v.Pinned), shortRef(v.Compatible), shortRef(v.Newest), len(v.Clusters))
	}
	_ = t.Flush()
}

// shortRef shortens a commit.
func shortRef(ref string) string {
	const commit, short = 40, 12
	if len(ref) == commit {
		return ref[:short]
	}
	return ref
}
