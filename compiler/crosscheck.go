package compiler

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/unify"
)

// CheckTogether checks clusters against each other and adds the faults to an evaluation.
// upToDate are clusters of the run that need not be evaluated.
func (c *Compiler) CheckTogether(ctx context.Context, loaded *load.Fleet, e *Evaluation, upToDate []*fleet.Cluster) {
	if loaded == nil || e.Fleet == nil || ctx.Err() != nil {
		return
	}
	in := unify.Clusters{
		IDs: loaded.IDs, Selected: slices.Concat(e.All().Clusters, upToDate, c.Unchanged), AtFault: e.atFault, Valid: e.Faults == nil,
		Evaluate: func(ids []string) (all, atFault []*fleet.Cluster) {
			others := c.evaluateOthers(ctx, ids)
			if others.Fleet == nil {
				return nil, nil
			}
			return others.All().Clusters, others.atFault
		},
		Mentioning: func(ids []string, word, except string) []string {
			ids, _ = load.Mentioning(cmp.Or(c.Dir, "."), c.Edits, ids, []string{word}, except)
			return ids
		},
	}
	for _, cluster := range loaded.Clusters {
		in.Evaluated = append(in.Evaluated, cluster.ID)
	}
	others, err := c.otherShards(ctx, in.Selected)
	if err == nil {
		in.OtherShards = others
		err = unify.CheckClusters(in)
	}
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

// otherShards returns the clusters that a run with a shard does not select, with the
// fields that [unify.IdentityWords] covers. It may omit clusters that cannot share such a field
// with a selected cluster.
func (c *Compiler) otherShards(ctx context.Context, selected []*fleet.Cluster) ([]*fleet.Cluster, error) {
	words := unify.IdentityWords(selected)
	if c.Shard == (fleet.Shard{}) || len(words) == 0 {
		return nil, nil
	}
	ids, err := c.ClusterIDs()
	if err != nil {
		return nil, err
	}
	own := fleet.IDs(selected)
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(own, id) })
	dir := cmp.Or(c.Dir, ".")
	if ids, err = load.Mentioning(dir, c.Edits, ids, words, ""); err != nil || len(ids) == 0 {
		return nil, err
	}
	loaded, err := load.Load(dir, ids, c.Edits)
	if loaded == nil {
		return nil, err
	}
	var others []*fleet.Cluster
	for cluster, err := range par.Map(ctx, c.Parallel(), len(loaded.Clusters), func(ctx context.Context, i int) (*fleet.Cluster, error) {
		in := loaded.Clusters[i]
		return par.RunLimited(ctx, c.Limits, func() (*fleet.Cluster, error) {
			return unify.Identity(loaded.Root, in.ID, in.Layers, in.Instance)
		})
	}) {
		if err == nil { // the run with the cluster reports its faults
			others = append(others, cluster)
		}
	}
	return others, ctx.Err()
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

// NoteRules records which rules match the objects of a rendered cluster.
func (f *Fleet) NoteRules(b *fleet.Bundle) {
	f.Rules.Store(b.Cluster.ID, append(slices.Clip(b.Checks), objects.RuleChecks(b.Cluster, b.Objects, f.KnownCRDs[b.Cluster.ID])...))
}

// CheckRules returns the faults of rules that hold in none of the clusters with recorded
// rules. It checks rules of a layer only if all clusters of the layer have recorded rules.
func (f *Fleet) CheckRules() error {
	all, err := load.ClusterIDs(f.Dir)
	if err != nil {
		return err
	}
	checks := map[string][]fleet.RuleCheck{}
	f.Rules.Range(func(id, found any) bool {
		checks[id.(string)] = found.([]fleet.RuleCheck)
		return true
	})
	return unify.CheckRuleMatches(all, checks)
}
