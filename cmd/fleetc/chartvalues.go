package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/values"
	"github.com/spf13/cobra"
)

const chartValuesLong = `values lists the values of a pinned chart: the type that fleetc checks, the
default of the chart, the source of the type, and the chart's description of the
value. NAME is the package below environments/charts, or the name of its chart.

FROM is one of

  schema      the chart's values.schema.json
  Kubernetes  the field of an object that a template prints the value to
  template    a template that reads the value
  default     the value in values.yaml
  Chart.yaml  the condition or the tags of a dependency

STATE is one of

  typed       a wrong value is a fault
  open        every value is accepted
  unread      no template reads the value; setting it is a fault

In a path, * stands for any key and [] for the elements of a list. The path * is
the top level.

The exit status is 0 when the chart could be read, and 2 when it could not.`

const chartValuesExample = `  fleetc chart values ingress_nginx
  fleetc chart values ingress_nginx --open
  fleetc chart values ingress_nginx --version 4.11.3 -o json`

func newChartValuesCommand(o *options) *cobra.Command {
	var version string
	var open bool
	cmd := &cobra.Command{
		Use:               "values NAME",
		Short:             "List the values of a chart with their types",
		Long:              chartValuesLong,
		Example:           chartValuesExample,
		Args:              exactlyOneArg("the name of one package of a chart"),
		ValidArgsFunction: packageArgs(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := edit.ReadChartValues(cmd.Context(), o.compiler(), args[0], version)
			if err != nil {
				return err
			}
			if open {
				v.Values = slices.DeleteFunc(v.Values, func(k values.Key) bool { return k.State != values.Open })
			}
			return writeResult(cmd, o, v, func(w io.Writer) { valuesTable(w, v) })
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "`version` of the chart (default: the first pin of the package)")
	cmd.Flags().BoolVar(&open, "open", false, "list only open values")
	outputFlag(cmd, "text", "json")
	return cmd
}

func valuesTable(w io.Writer, v *edit.ChartValues) {
	const wide = 60
	t := newTable(w, "VALUE\tTYPE\tDEFAULT\tFROM\tSTATE\tCOMMENT")
	for _, k := range v.Values {
		comment, _, _ := strings.Cut(k.Doc, "\n")
		if k.State == values.Open && k.Why != "" {
			comment = cmp.Or(comment, k.Why)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", diag.Visible(k.Path, 200), k.Type,
			cmp.Or(diag.Visible(k.Default, wide), "-"), cmp.Or(k.From, "-"), k.State, cmp.Or(diag.Visible(comment, 2*wide), "-"))
	}
	_ = t.Flush()
	writeMissing(w, "open: ", v.Missing)
	fmt.Fprintf(w, "%s: %d typed, %d open, %d unread\n", v.Ref, v.Typed, v.Open, v.Unread)
}
