package deliver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// ClusterRecord is a cluster with the inventory of its applies.
type ClusterRecord struct {
	Cluster   *fleet.Cluster
	Inventory *apply.Inventory // nil if fleetc never applied to the cluster, or Err is set
	Err       error            // why the inventory cannot be read
	Reached   bool             // whether there is a connection to the cluster

	server Server
}

// A RecordReport is the JSON form of a Record.
type RecordReport struct {
	ID        string                 `json:"id"`
	Revisions []apply.RevisionReport `json:"revisions"` // the newest first
	Faults    []string               `json:"faults"`
}

// Report returns the JSON form of the record.
func (r *ClusterRecord) Report() RecordReport {
	out := RecordReport{ID: r.Cluster.ID, Revisions: []apply.RevisionReport{}, Faults: diag.Texts(r.Err)}
	if r.Inventory != nil {
		current := r.Inventory.Current()
		for i, v := range slices.Backward(r.Inventory.History) {
			out.Revisions = append(out.Revisions, v.Report(current != nil && i == len(r.Inventory.History)-1))
		}
	}
	return out
}

// Revision returns the current revision of the cluster, or the last one if an apply is
// unfinished; nil when there is none.
func (r *ClusterRecord) Revision() *apply.Revision {
	if r.Inventory == nil || len(r.Inventory.History) == 0 {
		return nil
	}
	return &r.Inventory.History[len(r.Inventory.History)-1]
}

// Records reads the inventories of the clusters that the patterns select, in the order of
// IDs. It only evaluates the layers, for the contexts of clusters. The error has the faults
// of clusters whose layers cannot be evaluated.
func Records(ctx context.Context, c *compiler.Compiler, o ApplyOptions, patterns ...string) ([]*ClusterRecord, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil {
		return nil, e.Faults
	}
	records, err := records(ctx, e, o)
	if err != nil {
		return nil, err
	}
	return records, unreadableClusters(e)
}

// records reads the inventories of all clusters of the evaluation, sorted by ID.
func records(ctx context.Context, e compiler.Evaluation, o ApplyOptions) ([]*ClusterRecord, error) {
	all := e.All().Clusters
	slices.SortFunc(all, func(a, b *fleet.Cluster) int { return cmp.Compare(a.ID, b.ID) })
	faults := CheckContexts(all, e.Faults)
	valid := slices.DeleteFunc(slices.Clone(all), func(c *fleet.Cluster) bool { return fleet.FaultsOf(c.ID, faults) != nil })
	servers := ConnectAll(ctx, valid, o.Access, false)
	out := make([]*ClusterRecord, len(all))
	err := par.ForEach(ctx, readAtATime, len(all), func(ctx context.Context, i int) error {
		out[i] = readRecord(ctx, all[i], servers.Of(all[i].ID), e.Module, fleet.FaultsOf(all[i].ID, faults))
		return ctx.Err()
	})
	return out, err
}

// readRecord reads the inventory of a cluster, unless it has a fault.
func readRecord(ctx context.Context, c *fleet.Cluster, s Server, module string, fault error) *ClusterRecord {
	r := &ClusterRecord{Cluster: c, Err: cmp.Or(fault, s.Err), Reached: s.Live != nil, server: s}
	if r.Err == nil {
		r.Inventory, r.Err = apply.ReadInventory(ctx, s.Live, module, c.ID)
	}
	r.Err = diag.In(c.ID, r.Err)
	return r
}

// unreadableClusters returns the faults of clusters that the evaluation does not have, and
// those of the whole fleet.
func unreadableClusters(e compiler.Evaluation) error {
	evaluated := map[string]bool{}
	for _, c := range e.All().Clusters {
		evaluated[c.ID] = true
	}
	return diag.List(slices.DeleteFunc(slices.Clone(diag.All(e.Faults)), func(d *diag.Diag) bool {
		return len(d.Clusters) > 0 && !slices.ContainsFunc(d.Clusters, func(id string) bool { return !evaluated[id] })
	})).Err()
}

// Rollback is the plan to apply an earlier bundle to a cluster.
type Rollback struct {
	*ClusterPlan
	To        apply.Revision        // zero if Err is set
	Requested int                   // the revision that the user named, which may be older than To with an equal bundle; 0 for none
	Lasting   []apply.LastingEffect // effects of later revisions that a rollback does not undo
	Actions   []string              // IDs of the actions of the revision and the fleet, sorted; a rollback runs none
	Held      string                // why the next apply does not roll forward: a pause or an abort of the wave; empty if it does, or if that is not known
}

// recordOf returns the evaluated fleet, and the record of the cluster that the pattern
// selects. command is for the fault if the pattern selects several.
func recordOf(ctx context.Context, c *compiler.Compiler, command, pattern string, o ApplyOptions) (e compiler.Evaluation, record *ClusterRecord, err error) {
	e = c.Evaluate(ctx, []string{pattern})
	if e.Fleet == nil {
		return e, nil, e.Faults
	}
	switch n := len(e.All().Clusters); {
	case n == 0:
		return e, nil, e.Faults
	case n > 1:
		return e, nil, &diag.Diag{
			Code: diag.CodeSeveralMatches,
			Msg:  fmt.Sprintf("%s needs one cluster, but %s selects %d", command, diag.Visible(pattern, diag.MaxText), n),
			Hint: "name one, see fleetc list",
		}
	}
	records, err := records(ctx, e, o)
	if err != nil {
		return e, nil, err
	}
	return e, records[0], nil
}

// PlanRollback reads the bundle of a revision from the cluster that the pattern selects, and
// plans to apply it again. Revision 0 is the one before the current. It compiles nothing.
// The error has faults of the fleet, [ClusterPlan.Err] those of the cluster.
func PlanRollback(ctx context.Context, c *compiler.Compiler, pattern string, revision int, o ApplyOptions, key []byte) (*Rollback, error) {
	e, record, err := recordOf(ctx, c, "rollback", pattern, o)
	if err != nil {
		return nil, err
	}
	r := &Rollback{ClusterPlan: &ClusterPlan{Cluster: record.Cluster, Reached: record.Reached, Err: record.Err}}
	if r.Err == nil {
		r.Err = diag.In(r.Cluster.ID, r.read(ctx, record, revision, apply.Target{Fleet: e.Module, Live: record.server.Live, Options: o.Options}, key))
	}
	return r, ctx.Err()
}

// read reads the bundle of the revision and plans to apply it.
func (r *Rollback) read(ctx context.Context, record *ClusterRecord, revision int, t apply.Target, key []byte) error {
	inventory := cmp.Or(record.Inventory, &apply.Inventory{})
	to, err := inventory.Revision(revision)
	if err != nil {
		return err
	}
	recorded, err := t.ReadBundle(ctx, to, r.Cluster)
	if err != nil {
		return err
	}
	t.Bundle, t.Charts, t.Secrets = recorded.Bundle, recorded.Charts, recorded.Secrets
	t.Origin = apply.Origin{Commit: to.Commit, Dirty: to.Dirty, Rollback: to.Number}
	r.To, r.Requested, r.Actions = to, revision, slices.Clone(to.Actions)
	for _, a := range r.Cluster.AllActions() {
		r.Actions = append(r.Actions, a.ID())
	}
	r.Actions = diag.Distinct(r.Actions)
	if r.plan(ctx, t, key); r.Err != nil {
		return r.Err
	}
	var since []*fleet.Bundle
	for _, later := range inventory.History {
		if later.Number <= to.Number {
			continue
		}
		b, err := t.ReadBundle(ctx, later, r.Cluster)
		if err != nil {
			// An unreadable later revision does not prevent the rollback.
			for _, d := range diag.All(err) {
				r.Lasting = append(r.Lasting, apply.LastingEffect{Why: "unknown effects of hooks: " + d.Msg})
			}
			continue
		}
		since = append(since, b.Bundle)
	}
	r.Lasting = append(r.Plan.LastingEffects(t.Bundle, since), r.Lasting...)
	return nil
}
