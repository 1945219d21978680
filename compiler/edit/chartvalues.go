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

// ChartValues are the values of a pinned chart, and their numbers by state.
type ChartValues struct {
	Ref     fleet.ChartRef `json:"-"`
	Chart   string         `json:"chart"`             // without the version
	Package string         `json:"package"`           // name of the package that pins the chart
	Version string         `json:"version,omitempty"` // version that a layer selects; empty for a chart by path
	Typed   int            `json:"typed"`
	Open    int            `json:"open"`
	Unread  int            `json:"unread"`
	Missing []string       `json:"missing"` // unknown documents that the chart's schema refers to
	Values  []values.Key   `json:"values"`
}

// ReadChartValues returns the values of a pinned chart. name is the name of the
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
			versions := diag.Each(pkg.Pins, func(p load.Pin) string { return p.Version })
			hint := diag.OneOf(version, versions)
			if pin.Ref.Path != "" {
				hint = "leave --version out: a chart by path has one version"
			}
			return nil, &diag.Diag{Code: diag.CodeNoVersion, At: []diag.Pos{{File: pkg.File}}, Msg: "the package pins no version " + version, Hint: hint}
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
	n := types.Coverage()
	return &ChartValues{
		Ref: pin.Ref, Chart: pin.Ref.Location(), Package: pkg.Name, Version: pin.Version,
		Typed: n.Typed, Open: len(n.Open), Unread: n.Unread, Missing: n.Missing, Values: append([]values.Key{}, types.List()...),
	}, nil
}

// ChartCoverage is a chart with the coverage of its types.
type ChartCoverage struct {
	values.Coverage
	Ref fleet.ChartRef
}

// Coverage returns the charts of the clusters that the patterns select, sorted, with the
// coverage of their types.
func Coverage(ctx context.Context, c *compiler.Compiler, patterns ...string) ([]ChartCoverage, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil || e.Faults != nil {
		return nil, e.Faults
	}
	users := fleet.ChartUsers(e.Fleet)
	charts, err := c.FindCharts(ctx, c.Results(), e.Dir, users)
	if err != nil {
		return nil, err
	}
	var out []ChartCoverage
	for _, ref := range fleet.SortedRefs(users) {
		out = append(out, ChartCoverage{charts[ref].Types.Coverage(), ref})
	}
	return out, nil
}
