// Package deliver exports bundles, and plans and runs applies, rollbacks and destroys on
// clusters.
//
// A [SecretResolver] finds the values of the secrets that a bundle refers to, in the memory of
// the process that applies it. It decrypts SOPS files with age keys itself, and with the sops
// program where a file has other keys. It runs vals and the commands of secrets, and reads
// values that are in the cluster alone.
//
// A [RolloutState] says which clusters may get a change now: it compares the waves of a
// fleet with the state of its clusters and with the records of approvals and pauses. It
// remembers nothing between two runs. The target of a cluster is its bundle as the files of
// the fleet say it now, so a new change starts again from the first wave, for the clusters
// that do not have it.
//
// [CheckDrift] finds out whether clusters still run what the fleet says. It compares the
// compiled bundle of each cluster with the live objects, and reports differences with a reason
// and with the field managers that made them. It only reads from clusters. A cluster that
// cannot be checked is not drift. [ServeDrift] repeats the check and serves the result as
// metrics.
//
// The package is large because all of these work on the same clusters, connections and plans.
package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// ApplyOptions are the options of applies. The zero value is ready for use.
type ApplyOptions struct {
	apply.Options
	cluster.Access
	RolloutOptions

	// Drifted are the objects to restore, by cluster ID and ID; nil to apply whole bundles,
	// see [apply.Target].
	Drifted map[string]map[string]bool
}

// ClusterPlan is the plan of an apply to a cluster.
type ClusterPlan struct {
	Cluster *fleet.Cluster
	Plan    *apply.Plan   // nil if Err is set
	Changes []diff.Change // of the plan, to show to users; without values of Secrets
	Err     error         // why planning failed, for example because the cluster is not reachable
	Reached bool          // whether there is a connection to the cluster

	Wave  string // of the cluster; empty without a rollout
	Waits []Wait // why the cluster gets no change now; nil if it may
	Runs  bool   // whether it was not planned because it runs its bundle already, while its wave waits
	Other bool   // whether a rollback of its wave leaves it out, because it runs another bundle than the fleet's

	target apply.Target
}

// Plans compiles the clusters, plans to apply the bundle of each, and yields the plans in
// the order of IDs. It writes nothing.
//
// A yielded error is a fault of the fleet: the caller should apply nothing. Faults of a
// running cluster are in [ClusterPlan.Err]. Plans may set it until the sequence ends,
// because only then it is known whether two contexts lead to the same cluster. The key is
// for hashes of Secrets, see [diff.Objects].
func Plans(ctx context.Context, f *compiler.Fleet, o ApplyOptions, key []byte) iter.Seq2[*ClusterPlan, error] {
	if err := cmp.Or(CheckContexts(f.Clusters, nil), checkApproved(f.Clusters, o.Actions.Approved)); err != nil {
		return func(yield func(*ClusterPlan, error) bool) { yield(nil, err) }
	}
	return func(yield func(*ClusterPlan, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := connectClusters(ctx, f.Clusters, o.Access, false)
		s.Keep(f)
		plansOn(ctx, f, f.Clusters, s, o, key)(yield)
	}
}

// plansOn plans some clusters of the fleet over connections to all of them.
func plansOn(ctx context.Context, f *compiler.Fleet, clusters []*fleet.Cluster, s Servers, o ApplyOptions, key []byte) iter.Seq2[*ClusterPlan, error] {
	return func(yield func(*ClusterPlan, error) bool) {
		var origin apply.Origin
		var err error
		if origin.Commit, origin.Dirty, err = Revision(ctx, f.Dir); err != nil {
			yield(nil, err)
			return
		}
		if origin.Commit != "" {
			var known par.Memo[string, bool]
			later := context.WithoutCancel(ctx) // of the applies, which follow
			origin.IsBehind = func(commit string) bool {
				return known.Get(commit, func() bool { return git.IsBehind(later, f.Dir, commit) })
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		o.Actions.Dir = f.Dir
		planned := withRules(f, plans(ctx, f, clusters, s, apply.Target{Fleet: f.Module, Origin: origin, Options: o.Options}, o.Drifted, key))
		all := map[string]*ClusterPlan{}
		for p, err := range planned {
			if p != nil {
				all[p.Cluster.ID] = p
			}
			if !yield(p, err) {
				return
			}
		}
		for id, err := range sameClusters(f.Clusters, s) {
			if p := all[id]; p != nil {
				p.Plan, p.Changes, p.Err = nil, nil, diag.In(id, err)
			}
		}
	}
}

// plans plans each cluster as soon as it is connected, so that a cluster that does not
// answer does not delay others.
func plans(ctx context.Context, f *compiler.Fleet, clusters []*fleet.Cluster, all Servers, t apply.Target, drifted map[string]map[string]bool, key []byte) iter.Seq2[*ClusterPlan, error] {
	turns := make(chan struct{}, f.Parallel)
	resolver := NewSecretResolver(f.Fleet, t.Actions.AllowExec)
	return par.Map(ctx, len(clusters), len(clusters), func(ctx context.Context, i int) (*ClusterPlan, error) {
		c := clusters[i]
		s := all.Of(c.ID)
		if err := acquire(ctx, turns); err != nil {
			return nil, err
		}
		defer func() { <-turns }()
		t := t
		t.Live, t.Drifted = s.Live, drifted[c.ID]
		if drifted != nil && t.Drifted == nil {
			t.Drifted = map[string]bool{} // nil stands for all objects
		}
		return plan(ctx, f, c, s, t, resolver, key)
	})
}

// plan compiles a cluster and plans to apply its bundle to the target.
func plan(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster, s Server, t apply.Target, resolver *SecretResolver, key []byte) (*ClusterPlan, error) {
	p := &ClusterPlan{Cluster: c, Reached: s.Live != nil}
	if s.Err != nil {
		p.Err = diag.In(c.ID, s.Err)
		return p, ctx.Err()
	}
	var err error
	if t.Bundle, err = f.Compile(ctx, c); err == nil {
		f.NoteRules(t.Bundle)
		t.Bundle, t.Secrets, err = resolver.Values(ctx, t.Bundle, NewSecretReader(s))
	}
	if _, ok := errors.AsType[*cluster.UnreadableError](err); ok {
		p.Err = diag.In(c.ID, err)
		return p, ctx.Err()
	}
	if err != nil {
		return nil, diag.In(c.ID, err)
	}
	t.Charts = ChartsByHelm(f, c)
	p.plan(ctx, t, key)
	return p, ctx.Err()
}

// plan plans to apply the bundle of the target.
func (p *ClusterPlan) plan(ctx context.Context, t apply.Target, key []byte) {
	p.target = t
	var err error
	if p.Plan, err = t.Plan(ctx); err != nil {
		p.Err = diag.In(p.Cluster.ID, err)
		return
	}
	p.Changes = changes(p.Plan, key)
}

// IsForbidden reports whether the user has no right to connect to the cluster.
func (p *ClusterPlan) IsForbidden() bool { return !p.Reached && hasCode(p.Err, diag.CodeRights) }

// ChartsByHelm returns the charts of the releases that Helm delivers, by release.
func ChartsByHelm(f *compiler.Fleet, c *fleet.Cluster) map[string]*fleet.Chart {
	charts := map[string]*fleet.Chart{}
	for _, r := range c.Releases {
		if r.Delivery == fleet.ByHelm {
			charts[r.Name] = f.Charts[r.Chart].Chart
		}
	}
	return charts
}

// Faults returns the faults that prevent an apply to the cluster.
func (p *ClusterPlan) Faults() error {
	if p.Err != nil {
		return p.Err
	}
	return diag.In(p.Cluster.ID, p.Plan.Faults())
}

// CheckActions returns the faults of actions that this process cannot run: a command that
// is not allowed, an environment variable that is not set, or an approval that no one can
// give. They do not prevent planning.
func (p *ClusterPlan) CheckActions() error {
	return diag.In(p.Cluster.ID, p.target.CheckActions(p.Plan))
}

// Run applies the plans, to at most parallel clusters at a time, and yields the results in
// the order of the plans. It calls report for each event, by one goroutine at a time; the
// last event of a cluster is its end. If exact is set, a cluster that changed since it was
// planned is a fault. A fault of a cluster does not stop the others.
func Run(ctx context.Context, plans []*ClusterPlan, parallel int, exact bool, report func(apply.Event)) iter.Seq2[apply.Result, error] {
	return runGuarded(ctx, plans, parallel, exact, report, nil)
}

// runGuarded is [Run] that starts a cluster only if the guard allows it. Otherwise the
// cluster has the error of the guard. The guard may be nil.
func runGuarded(ctx context.Context, plans []*ClusterPlan, parallel int, exact bool, report func(apply.Event), guard *waveGuard) iter.Seq2[apply.Result, error] {
	report = serialized(report)
	// Clusters start in the order of the plans. There is a goroutine for each cluster, so
	// that a slow one does not block a slot for its results.
	slots := make(chan struct{}, parallel)
	started := make([]chan struct{}, len(plans)+1)
	for i := range started {
		started[i] = make(chan struct{})
	}
	close(started[0])
	return par.Map(ctx, len(plans), len(plans), func(ctx context.Context, i int) (apply.Result, error) {
		if err := startInOrder(ctx, started[i], started[i+1], slots); err != nil {
			return apply.Result{}, err
		}
		defer func() { <-slots }()
		if guard != nil {
			if err := guard.mayStart(ctx, plans[i].Cluster); err != nil {
				return apply.Result{}, err
			}
		}
		t, id := plans[i].target, plans[i].Cluster.ID
		t.Exact = exact
		defer report(apply.Event{Cluster: id, What: "end"})
		r, err := t.Run(ctx, plans[i].Plan, report)
		if guard != nil && err != nil {
			guard.fail(id) // before the slot is free
		}
		return r, diag.In(id, err)
	})
}

// serialized returns a function that several goroutines may call. It calls report from one
// goroutine at a time.
func serialized(report func(apply.Event)) func(apply.Event) {
	var mu sync.Mutex
	return func(e apply.Event) {
		mu.Lock()
		defer mu.Unlock()
		report(e)
	}
}

// startInOrder acquires a slot after the previous cluster has started, and signals the
// next cluster.
func startInOrder(ctx context.Context, previous <-chan struct{}, next chan<- struct{}, slots chan<- struct{}) error {
	select {
	case <-previous:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case slots <- struct{}{}:
		close(next)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ManualActions returns the IDs of the actions that a person must approve, sorted.
func ManualActions(clusters []*fleet.Cluster) []string {
	var ids []string
	for _, c := range clusters {
		for _, a := range c.AllActions() {
			if a.Manual != "" {
				ids = append(ids, a.ID())
			}
		}
	}
	return diag.Distinct(ids)
}

// checkApproved returns a fault for each name that is not a manual action of a cluster.
func checkApproved(clusters []*fleet.Cluster, names []string) error {
	manual := ManualActions(clusters)
	var faults diag.List
	for _, name := range names {
		if !slices.Contains(manual, name) {
			faults.Add(&diag.Diag{
				Code: diag.CodeNoMatch,
				Msg:  fmt.Sprintf("unknown manual action %q", diag.Visible(name, diag.MaxText)),
				Hint: cmp.Or(diag.OneOf(name, manual), "leave out --approve, or list the actions with fleetc apply --dry-run"),
			})
		}
	}
	return faults.Err()
}

// changes returns the changes of a plan, to show to users.
func changes(p *apply.Plan, key []byte) []diff.Change {
	var before, after []fleet.Object
	items := slices.Clone(p.Items)
	for _, it := range p.Items {
		if it.Action != apply.Unchanged { // a Helm release that is not upgraded does not change its parts
			items = append(items, it.Parts...)
		}
	}
	for _, it := range items {
		r, hidden := &fleet.Release{Name: it.Release}, p.SecretFields[it.ID]
		if it.IsHelm() {
			continue // its parts have the changes
		}
		switch it.Action {
		case apply.Create, apply.Change, apply.Replace, apply.Conflict, apply.Prune:
			old, new := it.DisplayStates()
			before, after = append(before, contentOf(old, r, hidden)...), append(after, contentOf(new, r, hidden)...)
		}
	}
	return diff.Objects(before, after, key)
}

// ConflictChange returns the change of a field in conflict, false if there is none.
func (p *ClusterPlan) ConflictChange(id string, field cluster.Field) (diff.FieldChange, bool) {
	for _, c := range p.Changes {
		if c.ID != id {
			continue
		}
		for _, f := range c.Fields {
			if f.Path == field.Path {
				return f, true
			}
		}
	}
	return diff.FieldChange{}, false
}

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
