package edit

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// A ChartPin is a chart that gets another version.
type ChartPin struct {
	Package load.Package // that pins the chart
	Version string       // the new version
	In      string       // layer whose clusters move; the default of the package changes if empty
}

// A ChartEditor pins several charts at once. It asks each repository once. It is not safe
// for concurrent use.
type ChartEditor struct {
	Compiler *compiler.Compiler
	Source   *chart.Source
	Before   *compiler.Fleet // the whole fleet

	resolved map[chart.Request]chart.Resolution
}

// Pin adds the edits that pin charts to edits, and returns the charts.
func (e *ChartEditor) Pin(ctx context.Context, pins []ChartPin, edits load.Edits) (*PinnedCharts, error) {
	out := &PinnedCharts{}
	for _, pin := range pins {
		i := slices.IndexFunc(out.pinnings, func(p *pinning) bool { return p.pkg.Name == pin.Package.Name })
		if i < 0 {
			resolved, err := e.resolve(ctx, pin)
			if err != nil {
				return nil, err
			}
			i = len(out.pinnings)
			out.pinnings = append(out.pinnings, &pinning{
				c: e.Compiler, source: e.Source, root: e.Before.Dir, pkg: pin.Package, edits: edits, versions: []chart.Resolution{resolved},
			})
		}
		if pin.In == "" {
			continue
		}
		if err := out.pinnings[i].selectIn(pin.In, e.Before.Fleet); err != nil {
			return nil, err
		}
	}
	for _, p := range out.pinnings {
		if slices.ContainsFunc(pins, func(pin ChartPin) bool { return pin.Package.Name == p.pkg.Name && pin.In == "" }) {
			p.addExisting()
		} else {
			p.addBesideDefault()
		}
	}
	_, err := writePins(ctx, out.pinnings...)
	return out, err
}

// resolve finds the new version of a chart.
func (e *ChartEditor) resolve(ctx context.Context, pin ChartPin) (chart.Resolution, error) {
	wanted := requestOf(pin.Package.Pins[0].Ref, pin.Version)
	if r, ok := e.resolved[wanted]; ok {
		return r, nil
	}
	r, err := e.Source.Resolve(ctx, wanted)
	if err == nil { // another group may ask again after a failed request
		if e.resolved == nil {
			e.resolved = map[chart.Request]chart.Resolution{}
		}
		e.resolved[wanted] = r
	}
	return r, err
}

// PinnedCharts are the charts of one call of [ChartEditor.Pin].
type PinnedCharts struct {
	pinnings []*pinning
}

// Moves returns the clusters that change from one version to another, by package in the
// order of the pins.
func (c *PinnedCharts) Moves(ctx context.Context, before, after State) []Move {
	var out []Move
	for _, p := range c.pinnings {
		out = append(out, p.moves(ctx, p.moved(before.All, after.All), before.Fleet, after.Fleet)...)
	}
	return out
}

// Stays returns a fault for each cluster that does not get the new version of a chart, among
// those that use another one and should get it.
func (c *PinnedCharts) Stays(after State, pin ChartPin, clusters []string) error {
	var faults diag.List
	for _, p := range c.pinnings {
		if p.pkg.Name != pin.Package.Name {
			continue
		}
		for _, cluster := range after.All.Clusters {
			if !slices.Contains(clusters, cluster.ID) {
				continue
			}
			for _, r := range cluster.Releases {
				if sameChart(r.Chart, p.versions[0].Ref) && p.isOld(r.Chart, pin.Version) {
					faults.Add(&diag.Diag{
						Code: diag.CodeCannotEdit,
						At:   []diag.Pos{r.SourcePos}, Path: r.Path("chart"), Clusters: []string{cluster.ID},
						Msg: "the release would not get version " + diag.Visible(pin.Version, diag.MaxText) + " of its chart", Hint: "change the line that selects its version",
					})
				}
			}
		}
	}
	return faults.Err()
}

// isOld reports whether a chart is a pinned version other than the given one.
func (p *pinning) isOld(ref fleet.ChartRef, version string) bool {
	return slices.ContainsFunc(p.pkg.Pins, func(pin load.Pin) bool { return pin.Ref == ref && pin.Version != version })
}
