package compiler

import (
	"context"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// Destroy plans the removal of all that fleetc has applied to the one cluster that
// the pattern selects, or of the releases that the options name. It compiles nothing.
// The error is about the fleet; what is wrong with the cluster is in [Planned.Err].
func (c *Compiler) Destroy(ctx context.Context, pattern string, o ApplyOptions, key []byte) (*Planned, error) {
	e, record, err := c.recordOf(ctx, "destroy", pattern, o)
	if err != nil {
		return nil, err
	}
	p := &Planned{Cluster: record.Cluster, Reached: record.Reached, Err: record.Err}
	if p.Err == nil {
		p.Err = diag.In(p.Cluster.ID, record.Inventory.CheckReleases(o.Releases))
	}
	if p.Err == nil {
		o.Destroy = true
		bundle := record.Inventory.EmptyBundle(record.Cluster, len(o.Releases) == 0)
		p.plan(ctx, apply.Target{Fleet: e.Module, Bundle: bundle, Live: record.server.live, Options: o.Options}, key)
	}
	return p, ctx.Err()
}
