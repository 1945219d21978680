package unify

import (
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// merge merges the defaults of a layer, hi, over those of the layers above,
// lo, as Helm merges values files: maps merge, other values replace. A null
// replaces too and deletes the chart's default. Either tree may be nil; the
// result reuses both.
func merge(lo, hi *fleet.Tree) *fleet.Tree {
	switch {
	case lo == nil, lo == hi: // withOrigins shares its nulls
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
