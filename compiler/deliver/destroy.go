package deliver

import (
	"context"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// PlanDestroy plans the removal of all objects that fleetc applied to the one cluster that
// the pattern selects, or of the releases that the options name. It compiles nothing.
// The error is about the fleet; [ClusterPlan.Err] is about the cluster.
func PlanDestroy(ctx context.Context, c *compiler.Compiler, pattern string, o ApplyOptions, key []byte) (*ClusterPlan, error) {
	e, record, err := recordOf(ctx, c, "destroy", pattern, o)
	if err != nil {
		return nil, err
	}
	p := &ClusterPlan{Cluster: record.Cluster, Reached: record.Reached, Err: record.Err}
	if p.Err == nil {
		p.Err = diag.In(p.Cluster.ID, record.Inventory.CheckReleases(o.Releases))
	}
	if p.Err == nil {
		o.Destroy = true
		bundle := record.Inventory.EmptyBundle(record.Cluster, len(o.Releases) == 0)
		p.plan(ctx, apply.Target{Fleet: e.Module, Bundle: bundle, Live: record.server.Live, Options: o.Options}, key)
	}
	return p, ctx.Err()
}
