package deliver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// A Record is a cluster with what it knows of what was applied to it.
type Record struct {
	Cluster   *fleet.Cluster
	Inventory *apply.Inventory // nil when nothing was, or there is Err
	Err       error            // why it is not known
	Reached   bool             // whether the cluster answers

	server Server
}

// Records asks the clusters that the patterns select what was applied to them,
// and returns that in the order of their IDs. It compiles nothing: of the fleet,
// it needs how clusters are reached. The error has the faults of clusters of
// which even this is not known.
func Records(ctx context.Context, c *compiler.Compiler, o ApplyOptions, patterns ...string) ([]*Record, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil {
		return nil, e.Faults
	}
	records, err := records(ctx, e, o)
	if err != nil {
		return nil, err
	}
	return records, unread(e)
}

// records asks all clusters that can be read, sorted by ID.
func records(ctx context.Context, e compiler.Evaluation, o ApplyOptions) ([]*Record, error) {
	const atATime = 16 // asking is waiting
	f := &compiler.Fleet{Fleet: e.All()}
	slices.SortFunc(f.Clusters, func(a, b *fleet.Cluster) int { return cmp.Compare(a.ID, b.ID) })
	all := f.Clusters
	wrong := CheckContexts(all)
	f.Clusters = slices.DeleteFunc(slices.Clone(all), func(c *fleet.Cluster) bool { return fleet.FaultsOf(c.ID, wrong) != nil })
	servers := ConnectAll(ctx, f, o.Access)
	var out []*Record
	asked := ordered.Map(ctx, atATime, len(all), func(ctx context.Context, i int) (*Record, error) {
		r := &Record{Cluster: all[i], Err: fleet.FaultsOf(all[i].ID, wrong), server: servers.Of(all[i].ID)}
		r.Reached = r.server.Live != nil
		if r.Err = cmp.Or(r.Err, r.server.Err); r.Err == nil {
			r.Inventory, r.Err = apply.ReadInventory(ctx, r.server.Live, f.Module, r.Cluster.ID)
		}
		r.Err = diag.In(r.Cluster.ID, r.Err)
		return r, ctx.Err()
	})
	for r, err := range asked {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// unread returns the faults of clusters that cannot be read at all, and those of
// the whole fleet.
func unread(e compiler.Evaluation) error {
	known := map[string]bool{}
	for _, c := range e.All().Clusters {
		known[c.ID] = true
	}
	return diag.List(slices.DeleteFunc(slices.Clone(diag.All(e.Faults)), func(d *diag.Diag) bool {
		return len(d.Clusters) > 0 && !slices.ContainsFunc(d.Clusters, func(id string) bool { return !known[id] })
	})).Err()
}

// A Rollback is what going back to an earlier bundle means for a cluster.
type Rollback struct {
	*Planned
	To      apply.Revision        // zero when there is Err
	Asked   int                   // the number that the user gave, also when To has its bundle by now; 0 for none
	Lasting []apply.LastingEffect // what it does not undo
	Actions []string              // IDs of those that the revision or the fleet has, sorted; none is done
}

// recordOf returns the evaluated fleet and the record of the one cluster that the
// pattern selects, for the command of that name.
func recordOf(ctx context.Context, c *compiler.Compiler, command, pattern string, o ApplyOptions) (e compiler.Evaluation, record *Record, err error) {
	e = c.Evaluate(ctx, []string{pattern})
	if e.Fleet == nil {
		return e, nil, e.Faults
	}
	switch n := len(e.All().Clusters); {
	case n == 0:
		return e, nil, e.Faults
	case n > 1:
		return e, nil, &diag.Diag{Msg: fmt.Sprintf("%s takes one cluster, and %s selects %d", command, diag.Visible(pattern, diag.MaxText), n), Hint: "name one, see fleetc list"}
	}
	records, err := records(ctx, e, o)
	if err != nil {
		return e, nil, err
	}
	return e, records[0], nil
}

// PlanRollback reads the bundle of a revision from the one cluster that the pattern
// selects, and plans to apply it again. Revision 0 is the one before the current. It
// compiles nothing. The error is about the fleet; [Planned.Err] is about the cluster.
func PlanRollback(ctx context.Context, c *compiler.Compiler, pattern string, revision int, o ApplyOptions, key []byte) (*Rollback, error) {
	e, record, err := recordOf(ctx, c, "rollback", pattern, o)
	if err != nil {
		return nil, err
	}
	r := &Rollback{Planned: &Planned{Cluster: record.Cluster, Reached: record.Reached, Err: record.Err}}
	if r.Err == nil {
		r.Err = diag.In(r.Cluster.ID, r.read(ctx, record, revision, apply.Target{Fleet: e.Module, Live: record.server.Live, Options: o.Options}, key))
	}
	return r, ctx.Err()
}

// read reads the revision, and plans it.
func (r *Rollback) read(ctx context.Context, record *Record, revision int, t apply.Target, key []byte) error {
	inventory := cmp.Or(record.Inventory, &apply.Inventory{})
	to, err := inventory.Revision(revision)
	if err != nil {
		return err
	}
	if t.Bundle, t.Charts, err = t.ReadBundle(ctx, to, r.Cluster); err != nil {
		return err
	}
	t.Origin = apply.Origin{Commit: to.Commit, Dirty: to.Dirty, Rollback: to.Number}
	r.To, r.Asked, r.Actions = to, revision, slices.Clone(to.Actions)
	for _, a := range r.Cluster.AllActions() {
		r.Actions = append(r.Actions, a.ID())
	}
	slices.Sort(r.Actions)
	r.Actions = slices.Compact(r.Actions)
	if r.plan(ctx, t, key); r.Err != nil {
		return r.Err
	}
	var since []*fleet.Bundle
	for _, later := range inventory.History {
		if later.Number <= to.Number {
			continue
		}
		b, _, err := t.ReadBundle(ctx, later, r.Cluster)
		if err != nil {
			// It does not keep anybody from going back to one that is whole.
			for _, d := range diag.All(err) {
				r.Lasting = append(r.Lasting, apply.LastingEffect{Why: "what hooks did is not known: " + d.Msg})
			}
			continue
		}
		since = append(since, b)
	}
	r.Lasting = append(r.Plan.LastingEffects(t.Bundle, since), r.Lasting...)
	return nil
}
