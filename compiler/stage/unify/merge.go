package unify

import (
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// merge lays the defaults of a layer, hi, over those of the layers above it,
// lo, by the rule with which Helm merges values files: maps merge, everything
// else replaces. A null replaces too, and so reaches the chart, where it
// deletes the chart's own default. Either may be nil. Both belong to the
// result, which is made of their parts.
func merge(lo, hi *fleet.Tree) *fleet.Tree {
	switch {
	case lo == nil:
		return hi
	case hi == nil:
		return lo
	case !lo.IsMap() || !hi.IsMap():
		hi.Shadows = lo
		return hi
	}
	for k, v := range hi.Fields {
		lo.Fields[k] = merge(lo.Fields[k], v)
	}
	return lo
}
