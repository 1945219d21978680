package render

import (
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// AppVersion returns the appVersion of the chart or of a dependency whose text is in a text
// of the object, such as a tag: if it changes, the field changes with it. It is empty if no
// appVersion is in the text, or if the field does not depend on it.
func (p *Probe) AppVersion(field []string, text string) string {
	var charts []*chart.Chart
	eachChart(p.in.chart, nil, func(c *chart.Chart, _ []string) {
		if v := c.Metadata.AppVersion; v != "" && strings.Contains(text, v) {
			charts = append(charts, c)
		}
	})
	before, _ := fleet.Lookup(p.object, field)
	for _, c := range charts {
		other := otherVersion(c.Metadata.AppVersion)
		o, err := p.render(func() (*input, error) {
			in := p.in.copy()
			eachChart(in.chart, nil, func(copied *chart.Chart, _ []string) {
				if copied.ChartFullPath() == c.ChartFullPath() {
					copied.Metadata.AppVersion = other
				}
			})
			return in, nil
		})
		after, _ := fleet.Lookup(o, field)
		if after, ok := after.(string); err == nil && ok && after != before && strings.Contains(after, other) {
			return c.Metadata.AppVersion
		}
	}
	return ""
}

// otherVersion returns another version of the same form: the last digit changes.
func otherVersion(version string) string {
	i := strings.LastIndexAny(version, "0123456789")
	if i < 0 {
		return version + "0"
	}
	return version[:i] + string('0'+(version[i]-'0'+1)%10) + version[i+1:]
}
