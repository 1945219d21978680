package fleet

import (
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// SchemaHint is the hint for a chart whose values.schema.json cannot be used.
const SchemaHint = "correct the values.schema.json of the chart, or use another version of the chart"

// UnloadableChart returns the code, the message and the hint of a fault for an error of
// Helm's loader of charts.
func UnloadableChart(err error) (code diag.Code, msg, hint string) {
	text := err.Error()
	field, ok := strings.CutPrefix(text, "validation: chart.metadata.")
	if !ok {
		return diag.CodeChartNotInstallable, "cannot load the chart: " + text, "correct the files of the chart, or use another version of it"
	}
	if name, ok := strings.CutSuffix(field, " is required"); ok {
		return diag.CodeChartFiles, "Chart.yaml has no " + name, "set " + name + " in Chart.yaml"
	}
	return diag.CodeChartFiles, "Chart.yaml is not valid: " + field, "correct Chart.yaml"
}
