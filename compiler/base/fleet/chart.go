package fleet

import (
	"cmp"
	"maps"
	"slices"
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

// A ChartPin is a chart in the form of schema.#Chart.
type ChartPin struct {
	Path         string            `json:"path"`
	Repo         string            `json:"repo"`
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Digest       string            `json:"digest"`
	Schemas      map[string]string `json:"schemas"`
	Dependencies map[string]string `json:"dependencies"`
	Git          GitRef            `json:"git"`
}

// Ref returns the chart that the pin refers to.
func (c ChartPin) Ref() ChartRef {
	if c.Git.URL != "" {
		c.Version = "" // the version only selects the commit
	}
	return ChartRef{
		Path: c.Path, Repo: c.Repo, Name: c.Name, Version: c.Version, Digest: c.Digest, Git: c.Git,
		Schemas: NewDigests(c.Schemas), Dependencies: NewDigests(c.Dependencies),
	}
}

// Request returns the chart and the version as fleetc chart add takes them. The version of a
// chart by path is empty.
func (r ChartRef) Request() (name, version string) {
	switch {
	case r.Path != "":
		return "./" + r.Path, ""
	case r.Git.URL == "":
		return r.Repo + "/" + r.Name, r.Version
	case r.Git.Path == "":
		return "git+" + r.Git.URL, r.Git.Ref
	}
	return "git+" + r.Git.URL + "//" + r.Git.Path, r.Git.Ref
}

// ChartUse is the uses of a chart in a fleet.
type ChartUse struct {
	Release  *Release // the first release of the chart
	Clusters []string // IDs of all clusters with a release of the chart
}

// ChartUsers returns the charts of a fleet and their uses.
func ChartUsers(f *Fleet) map[ChartRef]*ChartUse {
	users := map[ChartRef]*ChartUse{}
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			if r.Chart == (ChartRef{}) {
				continue
			}
			u := users[r.Chart]
			if u == nil {
				u = &ChartUse{Release: r}
				users[r.Chart] = u
			}
			if !slices.Contains(u.Clusters, c.ID) {
				u.Clusters = append(u.Clusters, c.ID)
			}
		}
	}
	return users
}

// Blame adds the line that pins the chart, and the clusters, to the faults of err.
func (u *ChartUse) Blame(err error) error {
	return diag.Changed(err, func(d *diag.Diag) {
		d.At = append(slices.Clone(d.At), u.Release.SourcePos)
		d.Clusters = u.Clusters
		d.Path = u.Release.Path("chart")
	})
}

// SortedRefs returns the charts of a fleet in the order of their text.
func SortedRefs(users map[ChartRef]*ChartUse) []ChartRef {
	return slices.SortedFunc(maps.Keys(users), func(a, b ChartRef) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.Digest, b.Digest))
	})
}
