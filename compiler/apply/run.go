package apply

import (
	"context"
	"errors"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/actions"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/health"
	"github.com/fleetc/fleetc/compiler/live"
)

const leaseName = "apply"

// A runner does what a plan says.
type runner struct {
	Target
	plan    *Plan
	rules   *health.Rules
	lease   *live.Lease
	record  *Inventory                // as it is stored, with what is known since
	fresh   map[schema.GroupKind]bool // kinds whose CRDs this run has written
	tell    func(Event)
	actions actions.Runner
	begun   []*fleet.Action // of the stage, which are to be undone when it fails
	result  Result
}

// Run does what the plan says, and tells each step. It takes the lease of the
// cluster and plans again under it; when it is to be exact, a difference is a
// fault for each object that moved. On a fault nothing later is begun; what was
// done is on record, and the next apply goes on from there.
func (t Target) Run(ctx context.Context, planned *Plan, tell func(Event)) (result Result, err error) {
	if err := planned.Faults(); err != nil || planned.Nothing() {
		return Result{}, err
	}
	if err := t.CheckActions(planned); err != nil {
		return Result{}, err
	}
	r, err := t.newRunner(planned, tell)
	if err != nil {
		return Result{}, err
	}
	if planned.First {
		if err := r.firstContact(ctx, planned); err != nil {
			return Result{}, err
		}
	}
	if removed, err := r.waitRemoved(ctx); removed || err != nil {
		return Result{}, err
	}
	r.lease, err = r.hold(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		if rerr := r.lease.Release(ctx); err == nil {
			err = rerr
		}
	}()
	if r.plan, err = t.planAfter(ctx, planned); err != nil {
		return Result{}, err
	}
	if t.Exact {
		if err := planned.Frozen().Check(r.plan); err != nil {
			return Result{}, err
		}
	}
	r.plan.KeepRecords(planned.Frozen())
	r.result.HelmRecords = r.plan.HelmRecords
	if err := r.plan.Faults(); err != nil || r.plan.Nothing() {
		return r.result, err
	}
	if err := t.CheckActions(r.plan); err != nil {
		return Result{}, err
	}
	if !r.plan.IsApplied() || r.plan.removesRecord {
		if err := r.applyPlan(ctx); err != nil {
			return r.result, err
		}
	}
	return r.result, r.removeRecords(ctx)
}

// applyPlan applies the stages, prunes and records the end.
func (r *runner) applyPlan(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	err := r.stages(ctx)
	if err == nil {
		err = r.prune(ctx)
	}
	err = r.end(ctx, err)
	r.result.Pending = r.plan.Count(Pending)
	return err
}

// newRunner returns what does something about a cluster that is as planned.
func (t Target) newRunner(planned *Plan, tell func(Event)) (*runner, error) {
	r := &runner{Target: t, plan: planned, fresh: map[schema.GroupKind]bool{}, tell: func(e Event) {
		e.Cluster = planned.Cluster
		tell(e)
	}}
	t.Live.OnDelay(func(reason string) {
		r.tell(Event{What: "wait", Text: "and tries again: " + diag.Visible(reason, diag.MaxText)})
	})
	r.result.Actions = map[string]actions.Outcome{}
	r.actions = actions.Runner{Options: t.Actions, Cluster: t.Bundle.Cluster, Bundle: t.Bundle.Digest, Hide: r.hide, Job: r.job}
	r.actions.Begin = func(a *fleet.Action) { r.tellOf(a, "run", actions.Describe(a.Task)) }
	var err error
	if r.rules, err = health.Compile(t.Bundle.Cluster); err != nil {
		return nil, err
	}
	r.rules.AddCRDs(t.Bundle.Objects...)
	return r, nil
}

// hold takes the lease of the cluster.
func (r *runner) hold(ctx context.Context) (*live.Lease, error) {
	return r.Live.Hold(ctx, Namespace, leaseName, r.Holder, r.LockTimeout, func(holder string, since time.Time) {
		text := "for the lease of " + diag.Visible(holder, diag.MaxText)
		if !since.IsZero() {
			text += ", held since " + since.Format(time.RFC3339)
		}
		r.tell(Event{What: "wait", Text: text})
	})
}

// hide takes what the bundle's Secrets hold, and the variables of actions, out of
// a text of the cluster's.
func (r *runner) hide(text string) string { return r.Live.Hidden(text) }

// firstContact makes the namespace that fleetc keeps its things in, unless the
// plan does not hold any more.
func (r *runner) firstContact(ctx context.Context, planned *Plan) error {
	if r.Exact {
		now, err := r.Plan(ctx)
		if err != nil {
			return err
		}
		if err := planned.Frozen().Check(now); err != nil {
			return err
		}
	}
	ns := &unstructured.Unstructured{Object: map[string]any{}}
	ns.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	ns.SetName(Namespace)
	ns.SetLabels(map[string]string{managedByLabel: live.Manager})
	_, err := r.Live.Apply(ctx, ns, live.Application{})
	return err
}

// begin records what was there and what is to come, before anything changes.
func (r *runner) begin(ctx context.Context) error {
	r.record = r.plan.inventory.clone()
	r.record.Bundle = ""
	next := r.plan.settled.clone()
	stays := next.entries()
	for _, e := range r.plan.inventory.Objects {
		if _, ok := stays[e.id()]; !ok {
			next.Objects = append(next.Objects, e)
		}
	}
	// What fleetc has no part in yet is not its own, even if this run goes no
	// further.
	foreign := map[string]bool{}
	for _, it := range r.plan.Items {
		foreign[it.ID] = it.foreign
	}
	for i, e := range next.Objects {
		if foreign[e.id()] {
			next.Objects[i].UID = ""
		}
	}
	r.record.Objects, r.record.Hooks = next.Objects, map[string]string{}
	maps.Copy(r.record.Hooks, r.plan.inventory.Hooks)
	maps.Copy(r.record.Hooks, next.Hooks)
	if r.record.Stages == nil {
		r.record.Stages, r.record.Releases = map[string]string{}, map[string]string{}
	}
	for _, s := range r.plan.due {
		delete(r.record.Stages, s)
	}
	for name, is := range r.plan.installed {
		if _, ok := r.record.Releases[name]; is && !ok {
			r.record.Releases[name] = "" // for its hooks, if this run goes no further
		}
	}
	for _, it := range r.plan.Items {
		// It is neither what it was nor what it is to be; that it is installed stays.
		if _, ok := r.record.Releases[it.Release]; ok && it.Action.writes() {
			r.record.Releases[it.Release] = ""
		}
	}
	if err := r.writeHooks(ctx); err != nil {
		return err
	}
	return r.save(ctx)
}

func (r *runner) save(ctx context.Context) error {
	return r.record.write(ctx, r.Live)
}

// end records how far the run came, also when it was interrupted.
func (r *runner) end(ctx context.Context, failed error) error {
	if failed == nil {
		settled := r.plan.settled.clone()
		if !r.whole() {
			settled.Bundle = "" // some of one, and some of another
		}
		known := r.record.entries()
		for i, e := range settled.Objects {
			if e := known[e.id()]; e.UID != "" {
				settled.Objects[i].UID, settled.Objects[i].Applied, settled.Objects[i].Completed = e.UID, e.Applied, e.Completed
			}
		}
		r.addPending(settled)
		settled.version, settled.chunks = r.record.version, r.record.chunks
		r.record = settled
		return r.settle(ctx)
	}
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := r.save(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) && len(diag.All(failed)) == 0 {
		return err
	}
	return failed
}

// apply writes one object. One that was there must still be the same.
func (r *runner) apply(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
	if it.Before != nil && it.Before.GetDeletionTimestamp() != nil {
		if err := r.waitGone(ctx, it); err != nil {
			return nil, err
		}
		it.uid = ""
	}
	switch {
	case it.Action == Replace:
		if err := r.remove(ctx, it); err != nil {
			return nil, err
		}
	case it.Adopts:
		if err := r.Live.Adopt(ctx, it.ref, it.uid, func(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, bool) {
			return take(entries, it.former(it.Before), it.spared())
		}); err != nil {
			return nil, err
		}
	}
	return r.send(ctx, it)
}

// remove deletes an object to make it anew, and waits until it is gone.
func (r *runner) remove(ctx context.Context, it *Item) error {
	if err := r.Live.Delete(ctx, it.ref, it.uid); err != nil {
		return err
	}
	if err := r.waitGone(ctx, it); err != nil {
		return err
	}
	it.uid = ""
	return nil
}

// failed returns err as a fault of the object.
func (it *Item) failed(err error) error {
	var answer *live.Error
	if !errors.As(err, &answer) {
		return err
	}
	d := &diag.Diag{At: it.at, Path: it.ID, Msg: withoutOld(it.Before, answer), Cause: err}
	switch answer.Reason {
	case live.Conflict:
		d.Msg, d.Hint = "others have fields of it now: "+listFields(answer.Fields), "apply again to see them"
	case live.Webhook:
		d.Msg, d.Hint = "a webhook does not answer: "+d.Msg, "see that its pods run, and apply again; or delete its configuration"
	case live.Moved:
		d.Msg, d.Hint = "it was changed while it was applied", "apply again"
	}
	return d
}
