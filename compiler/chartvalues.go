package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// ChartValues are the values of a pinned chart.
type ChartValues struct {
	Package string // that pins the chart
	Version string // by which a layer chooses it; empty for a chart by path
	Ref     fleet.ChartRef
	Types   *values.Type
}

// ChartValues returns the types of the values of the chart that the package of
// the given name pins, or the package of the chart of that name; of its first
// version when none is given.
func (c *Compiler) ChartValues(ctx context.Context, name, version string) (*ChartValues, error) {
	root, pkg, err := c.packageOf(name)
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
	types, err := c.results().types(ch)
	if err != nil {
		return nil, err
	}
	return &ChartValues{Package: pkg.Name, Version: pin.Version, Ref: pin.Ref, Types: types}, nil
}

// ChartTypes returns the charts of the clusters that the patterns select with
// the types of their values, sorted.
func (c *Compiler) ChartTypes(ctx context.Context, patterns ...string) ([]ChartValues, error) {
	e := c.evaluate(ctx, patterns)
	if e.Fleet == nil || e.faults != nil {
		return nil, e.faults
	}
	users := ChartUsers(e.Fleet)
	charts, err := c.charts(ctx, c.results(), e.Dir, users)
	if err != nil {
		return nil, err
	}
	var out []ChartValues
	for _, ref := range sortedRefs(users) {
		out = append(out, ChartValues{Version: ref.Version, Ref: ref, Types: charts[ref].types})
	}
	return out, nil
}
