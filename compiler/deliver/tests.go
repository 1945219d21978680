package deliver

import (
	"context"
	"iter"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// Test runs the test hooks of the releases of planned clusters, on at most parallel clusters
// at a time, and yields the results in the order of the plans. It calls report for each
// event, by one goroutine at a time. A fault of a cluster does not stop the others.
func Test(ctx context.Context, plans []*ClusterPlan, parallel int, report func(apply.Event)) iter.Seq2[[]apply.Test, error] {
	report = serialized(report)
	return par.Map(ctx, parallel, len(plans), func(ctx context.Context, i int) ([]apply.Test, error) {
		p := plans[i]
		if p.Err != nil {
			return nil, p.Err
		}
		tests, err := p.target.Test(ctx, p.Plan, report)
		return tests, diag.In(p.Cluster.ID, err)
	})
}
