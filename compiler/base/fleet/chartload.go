package fleet

import (
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// SchemaHint is the hint for a chart whose values.schema.json cannot be used.
const SchemaHint = "correct the values.schema.json of the chart, or use another version of the chart"

// LoadChart parses the files of a chart with Helm's loader.
func LoadChart(files []File) (*chart.Chart, error) {
	return loader.LoadFiles(diag.Each(files, func(f File) *loader.BufferedFile { return &loader.BufferedFile{Name: f.Name, Data: f.Data} }))
}

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

// ChartMetadata has the fields of the Chart.yaml of a chart.
type ChartMetadata = chart.Metadata

// Metadata returns the metadata of the chart; none if ch is nil. Charts of the first format
// list dependencies in another file.
func (ch *Chart) Metadata() (m ChartMetadata) {
	if ch == nil {
		return m
	}
	for _, f := range ch.Files {
		if f.Name == "Chart.yaml" || f.Name == "requirements.yaml" {
			_ = yaml.Unmarshal(f.Data, &m) // a chart that does not parse is a fault already
		}
	}
	return m
}
