package cache

import "github.com/fleetc/fleetc/compiler/base/fleet"

// Part is a blob of a result. Several results may share one.
type Part struct {
	Digest fleet.Sum
	Size   int64
}
