package query

import (
	"context"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// ChartVersions is the available versions of a chart that the fleet pins.
type ChartVersions struct {
	Chart    fleet.ChartRef `json:"-"`
	Location string         `json:"chart"`             // of the chart, without the version
	Package  string         `json:"package,omitempty"` // the generated package that pins it; empty if a layer pins it
	chart.Versions
	Outdated bool     `json:"outdated"` // whether a newer version than the pinned one exists
	Clusters []string `json:"clusters"` // IDs of the clusters with the chart, in the order of the fleet
}

// OutdatedCharts returns the available versions of the charts of the selected clusters, sorted by
// chart. It skips charts in the fleet's repository. The error holds the faults of clusters,
// and of charts whose versions cannot be listed.
func OutdatedCharts(ctx context.Context, c *compiler.Compiler, patterns ...string) ([]ChartVersions, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil {
		return nil, e.Faults
	}
	out, err := OutdatedChartsOf(ctx, e.All(), c.Source(e.Dir), nil)
	var faults diag.List
	faults.Add(e.Faults)
	faults.Add(err)
	return out, faults.Err()
}

// OutdatedChartsOf is [OutdatedCharts] for evaluated clusters. Optional charts have no faults; nil for
// none.
func OutdatedChartsOf(ctx context.Context, f *fleet.Fleet, source *chart.Source, optional func(chart string) bool) ([]ChartVersions, error) {
	const atATime = 8
	packages, err := load.Packages(f.Dir)
	if err != nil {
		return nil, err
	}
	users := fleet.ChartUsers(f)
	maps.DeleteFunc(users, func(ref fleet.ChartRef, _ *fleet.ChartUse) bool { return ref.Path != "" })
	refs := fleet.SortedRefs(users)
	results := par.Map(ctx, atATime, len(refs), func(ctx context.Context, i int) (ChartVersions, error) {
		v, err := source.Versions(ctx, refs[i])
		if err != nil {
			return ChartVersions{Chart: refs[i]}, users[refs[i]].Blame(err)
		}
		return ChartVersions{
			Chart: refs[i], Location: refs[i].Location(), Package: packageOf(packages, refs[i]),
			Versions: v, Outdated: v.Newest != v.Pinned, Clusters: users[refs[i]].Clusters,
		}, nil
	})
	out := []ChartVersions{}
	var faults diag.List
	for v, err := range results {
		switch {
		case err == nil:
			out = append(out, v)
		case optional == nil || !optional(v.Chart.ChartName()):
			faults.Add(err)
		}
	}
	return out, faults.Err()
}

// packageOf returns the name of the package that pins the chart, "" if none does.
func packageOf(packages []load.Package, ref fleet.ChartRef) string {
	for _, p := range packages {
		if slices.ContainsFunc(p.Pins, func(pin load.Pin) bool { return pin.Ref == ref }) {
			return p.Name
		}
	}
	return ""
}
