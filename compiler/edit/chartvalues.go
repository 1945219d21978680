package edit

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// ChartValues are the values of a pinned chart.
type ChartValues struct {
	Package string // name of the package that pins the chart
	Version string // version that a layer selects; empty for a chart by path
	Ref     fleet.ChartRef
	Types   *values.Type
}

// ReadChartValues returns the types of the values of a pinned chart. name is the name of the
// package or of the chart. An empty version is the first one of the package.
func ReadChartValues(ctx context.Context, c *compiler.Compiler, name, version string) (*ChartValues, error) {
	root, pkg, err := findPinned(c, name)
	if err != nil {
		return nil, err
	}
	pin := pkg.Pins[0]
	if version != "" {
		i := slices.IndexFunc(pkg.Pins, func(p load.Pin) bool { return p.Version == version })
		if i < 0 {
			var versions []string
			for _, p := range pkg.Pins {
				versions = append(versions, p.Version)
			}
			hint := diag.OneOf(version, versions)
			if pin.Ref.Path != "" {
				hint = "leave --version out: a chart by path has one version"
			}
			return nil, &diag.Diag{At: []diag.Pos{{File: pkg.File}}, Msg: "the package pins no version " + version, Hint: hint}
		}
		pin = pkg.Pins[i]
	}
	ch, err := c.Source(root).Chart(ctx, pin.Ref)
	if err != nil {
		return nil, err
	}
	types, err := c.Results().Types(ch)
	if err != nil {
		return nil, err
	}
	return &ChartValues{Package: pkg.Name, Version: pin.Version, Ref: pin.Ref, Types: types}, nil
}

// ChartTypes returns the charts of the clusters that the patterns select, with the types of
// their values, sorted.
func ChartTypes(ctx context.Context, c *compiler.Compiler, patterns ...string) ([]ChartValues, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil || e.Faults != nil {
		return nil, e.Faults
	}
	users := fleet.ChartUsers(e.Fleet)
	charts, err := c.FindCharts(ctx, c.Results(), e.Dir, users)
	if err != nil {
		return nil, err
	}
	var out []ChartValues
	for _, ref := range fleet.SortedRefs(users) {
		out = append(out, ChartValues{Version: ref.Version, Ref: ref, Types: charts[ref].Types})
	}
	return out, nil
}
