package fleet

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

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

// Version returns the version in the Chart.yaml of the chart; empty if ch is nil.
func (ch *Chart) Version() string {
	var metadata struct{ Version string }
	if ch == nil {
		return ""
	}
	if i := slices.IndexFunc(ch.Files, func(f File) bool { return f.Name == "Chart.yaml" }); i >= 0 {
		_ = yaml.Unmarshal(ch.Files[i].Data, &metadata) // a chart that does not parse is a fault already
	}
	return metadata.Version
}
