package edit

import (
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// topmostLayers returns the topmost layers below a layer, or the layer itself, in which every
// cluster of the fleet satisfies a condition. A line in each of them is for all clusters that
// satisfy it, and for no other.
func topmostLayers(root string, f *fleet.Fleet, from fleet.Layer, satisfies func(*fleet.Cluster) bool) ([]fleet.Layer, error) {
	all, err := load.Layers(root)
	var out []fleet.Layer
	for _, l := range all { // sorted: a layer comes before those below it
		isBelow := func(above fleet.Layer) bool { return fleet.IsWithin(l.Dir, above.Dir) }
		if !isBelow(from) || slices.ContainsFunc(out, isBelow) {
			continue
		}
		within := diag.Filter(f.Clusters, func(c *fleet.Cluster) bool { return fleet.IsWithin("environments/"+c.ID, l.Dir) })
		if len(within) > 0 && !slices.ContainsFunc(within, func(c *fleet.Cluster) bool { return !satisfies(c) }) {
			out = append(out, l.Layer)
		}
	}
	return out, err
}
