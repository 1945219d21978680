package compiler

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/crosscheck"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// CheckTogether checks clusters against each other and adds the faults to an evaluation.
// upToDate are clusters of the run that need not be evaluated.
func (c *Compiler) CheckTogether(ctx context.Context, loaded *load.Fleet, e *Evaluation, upToDate []*fleet.Cluster) {
	if loaded == nil || e.Fleet == nil || ctx.Err() != nil {
		return
	}
	in := crosscheck.Clusters{
		IDs: loaded.IDs, Selected: slices.Concat(e.All().Clusters, upToDate, c.Unchanged), AtFault: e.atFault, Valid: e.Faults == nil,
		Evaluate: func(ids []string) (all, atFault []*fleet.Cluster) {
			others := c.evaluateOthers(ctx, ids)
			if others.Fleet == nil {
				return nil, nil
			}
			return others.All().Clusters, others.atFault
		},
	}
	for _, cluster := range loaded.Clusters {
		in.Evaluated = append(in.Evaluated, cluster.ID)
	}
	err := crosscheck.Check(in)
	if err == nil {
		return
	}
	var faults diag.List
	faults.Add(e.Faults)
	faults.Add(err)
	e.Faults = faults.Err()
	var valid []*fleet.Cluster
	for _, cluster := range e.Clusters {
		if fleet.FaultsOf(cluster.ID, err) == nil {
			valid = append(valid, cluster)
		} else {
			e.atFault = append(e.atFault, cluster)
		}
	}
	e.Clusters = valid
}

// CheckUnchanged checks the clusters of c.Unchanged against each other. It is for runs that
// compile no clusters.
func (c *Compiler) CheckUnchanged(ctx context.Context) error {
	ids, err := c.ClusterIDs()
	if err != nil {
		return err
	}
	e := Evaluation{Fleet: &fleet.Fleet{}}
	c.CheckTogether(ctx, &load.Fleet{IDs: ids}, &e, nil)
	return e.Faults
}

// evaluateOthers evaluates clusters that the run does not select. Their faults are
// reported by runs that select them.
func (c *Compiler) evaluateOthers(ctx context.Context, ids []string) Evaluation {
	loaded, err := load.Load(cmp.Or(c.Dir, "."), ids, c.Edits)
	return c.Unify(ctx, loaded, err)
}

// CheckRules returns the faults of rules that hold in no cluster. checks has the checks of
// each cluster by ID. Rules of a layer are only checked if checks has all clusters of the
// layer.
func (c *Compiler) CheckRules(checks map[string][]fleet.RuleCheck) error {
	all, err := c.ClusterIDs()
	if err != nil {
		return err
	}
	return crosscheck.CheckRules(all, checks)
}
