package edit

import (
	"cmp"
	"context"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// Vendor copies the archives of all charts of the fleet into its repository, see
// [chart.Source.Vendor].
func Vendor(ctx context.Context, c *compiler.Compiler) (written, removed []string, err error) {
	e := c.Evaluate(ctx, nil)
	if e.Faults != nil {
		return nil, nil, e.Faults // the charts of a cluster may be unknown
	}
	users := fleet.ChartUsers(e.Fleet)
	packages, err := load.Packages(e.Dir)
	if err != nil {
		return nil, nil, err
	}
	refs := fleet.SortedRefs(users)
	for _, p := range packages {
		for _, pin := range p.Pins {
			if users[pin.Ref] == nil {
				refs = append(refs, pin.Ref)
			}
		}
	}
	sources, err := load.Sources(e.Dir)
	if err != nil {
		return nil, nil, err
	}
	return c.Source(e.Dir).Vendor(ctx, refs, sortedSources(sources))
}

// Packages returns the generated packages of the fleet, sorted by name.
func Packages(c *compiler.Compiler) ([]load.Package, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	return load.Packages(root)
}

// LayerNames returns the names of the fleet's layers that have layers below them.
func LayerNames(c *compiler.Compiler) ([]string, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	return load.LayerNames(root)
}
