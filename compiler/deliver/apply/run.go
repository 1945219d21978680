package apply

import (
	"context"
	"errors"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

const leaseName = fleet.LeaseRecord

// A runner executes a plan.
type runner struct {
	Target
	plan     *Plan
	rules    *kube.HealthRules
	lease    *cluster.Lease
	record   *Inventory                // the stored inventory, updated during the run
	newKinds map[schema.GroupKind]bool // kinds whose CRDs this run has written
	report   func(Event)
	actions  ActionRunner
	started  []*fleet.Action // actions of the stage that have started, to be undone if it fails
	result   Result
}

// Run executes the plan and reports each step. It takes the cluster's lease and
// plans again under it; with [Options.Exact], each difference from the first plan
// is a fault. After a fault no further step starts; the inventory has the progress,
// and the next apply resumes from there.
func (t Target) Run(ctx context.Context, planned *Plan, report func(Event)) (result Result, err error) {
	if err := planned.Faults(); err != nil || planned.IsUpToDate() {
		return Result{}, err
	}
	if err := t.CheckActions(planned); err != nil {
		return Result{}, err
	}
	r, err := t.newRunner(planned, report)
	if err != nil {
		return Result{}, err
	}
	if planned.FirstApply {
		if err := r.createNamespace(ctx, planned); err != nil {
			return Result{}, err
		}
	}
	if removed, err := r.waitNamespaceDeleted(ctx); removed || err != nil {
		return Result{}, err
	}
	r.lease, err = r.lock(ctx, planned)
	if err != nil {
		return Result{}, err
	}
	defer r.lease.Release(ctx)
	if r.plan, err = t.planAfter(ctx, planned); err != nil {
		return Result{}, err
	}
	if err := r.plan.checkNewer(planned); err != nil {
		return Result{}, err
	}
	if t.Exact {
		if err := planned.Saved().Check(r.plan); err != nil {
			return Result{}, err
		}
	}
	r.plan.KeepRecords(planned.Saved())
	r.result.HelmRecords = r.plan.HelmRecords
	if err := r.plan.Faults(); err != nil {
		return r.result, err
	}
	if r.plan.IsUpToDate() {
		r.result.UpToDate, r.result.Revision = true, r.plan.Current
		return r.result, nil
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

// applyPlan applies the stages, prunes and records the result.
func (r *runner) applyPlan(ctx context.Context) error {
	if err := r.recordStart(ctx); err != nil {
		return err
	}
	err := r.stages(ctx)
	if err == nil {
		err = r.prune(ctx)
	}
	err = r.recordEnd(ctx, err)
	r.result.Pending = r.plan.Count(Pending)
	return err
}

// newRunner returns a runner for the plan.
func (t Target) newRunner(planned *Plan, report func(Event)) (*runner, error) {
	r := &runner{Target: t, plan: planned, newKinds: map[schema.GroupKind]bool{}, report: func(e Event) {
		e.Cluster = planned.Cluster
		report(e)
	}}
	t.Live.OnDelay(func(reason string) {
		r.report(Event{What: "wait", Text: "and tries again: " + diag.Line(reason, diag.MaxText)})
	})
	r.result.Actions = map[string]ActionOutcome{}
	r.actions = ActionRunner{ActionOptions: t.Actions, Cluster: t.Bundle.Cluster, Bundle: t.Bundle.Digest, Hide: r.hide, Job: r.job}
	r.actions.OnStart = func(a *fleet.Action) { r.reportAction(a, "run", DescribeTask(a.Task)) }
	var err error
	if r.rules, err = kube.CompileHealthRules(t.Bundle.Cluster); err != nil {
		return nil, err
	}
	r.rules.AddCRDs(t.Bundle.Objects...)
	return r, nil
}

// lock takes the lease of the cluster. A destroy of another fleet may delete fleetc's
// namespace meanwhile. The first apply of a fleet then creates it again.
func (r *runner) lock(ctx context.Context, planned *Plan) (*cluster.Lease, error) {
	const tries = 3
	for try := 1; ; try++ {
		lease, err := r.acquireLease(ctx)
		if cluster.ReasonOf(err) == "" || !planned.FirstApply || r.Destroy || try == tries {
			return lease, err
		}
		ns, nsErr := r.Live.Object(ctx, systemNamespace)
		if nsErr != nil || ns != nil && !isBeingDeleted(ns) {
			return nil, err
		}
		if ns != nil {
			if err := r.waitDeleted(ctx, &Item{ID: idOf(systemNamespace), ref: systemNamespace, uid: string(ns.GetUID())}); err != nil {
				return nil, err
			}
		}
		if err := EnsureNamespace(ctx, r.Live); err != nil {
			return nil, err
		}
	}
}

// acquireLease takes the lease of the cluster.
func (r *runner) acquireLease(ctx context.Context) (*cluster.Lease, error) {
	return r.Live.AcquireLease(ctx, Namespace, leaseName, r.Holder, r.LockTimeout, func(holder string, since time.Time) {
		text := "for the lease of " + diag.Visible(holder, diag.MaxText)
		if !since.IsZero() {
			text += ", held since " + since.Format(time.RFC3339)
		}
		r.report(Event{What: "wait", Text: text})
	})
}

// hide removes the contents of Secrets and the variables of actions from a text of
// the cluster.
func (r *runner) hide(text string) string { return r.Live.Hidden(text) }

// createNamespace creates fleetc's namespace. With Exact, it first checks the plan
// again.
func (r *runner) createNamespace(ctx context.Context, planned *Plan) error {
	if r.Exact {
		now, err := r.Plan(ctx)
		if err != nil {
			return err
		}
		if err := planned.Saved().Check(now); err != nil {
			return err
		}
	}
	return EnsureNamespace(ctx, r.Live)
}

// EnsureNamespace creates fleetc's namespace unless it exists.
func EnsureNamespace(ctx context.Context, c *cluster.Cluster) error {
	ns := placeholder(systemNamespace, "")
	ns.SetLabels(map[string]string{managedByLabel: cluster.Manager})
	_, err := c.Apply(ctx, ns, cluster.Application{})
	return err
}

// recordStart stores the old and the planned objects before anything changes.
func (r *runner) recordStart(ctx context.Context) error {
	if err := r.store().moveOld(ctx, r.plan.inventory, r.plan.next); err != nil {
		return err
	}
	r.record = r.plan.inventory.clone()
	r.record.Bundle, r.record.Rollback = "", r.Origin.Rollback
	next := r.plan.next.clone()
	stays := next.entries()
	for _, e := range r.plan.inventory.Objects {
		if _, ok := stays[e.id()]; !ok {
			next.Objects = append(next.Objects, e)
		}
	}
	// Objects of other tools are not recorded as fleetc's own until they are
	// adopted.
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
	for _, s := range r.plan.dueStages {
		delete(r.record.Stages, s)
	}
	for name, installed := range r.plan.installedReleases {
		if _, ok := r.record.Releases[name]; installed && !ok {
			r.record.Releases[name] = "" // so that its hooks run as on an upgrade if this run fails
		}
	}
	for _, it := range r.plan.Items {
		// The release is between two states, but still installed.
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

// recordEnd stores the result of the run, even after an interruption.
func (r *runner) recordEnd(ctx context.Context, failed error) error {
	if failed == nil {
		next := r.plan.next.clone()
		next.Rollback = 0
		if !r.whole() {
			next.Bundle = "" // it has objects of two bundles
		}
		known := r.record.entries()
		for i, e := range next.Objects {
			if e := known[e.id()]; e.UID != "" {
				next.Objects[i].UID, next.Objects[i].Applied, next.Objects[i].Completed = e.UID, e.Applied, e.Completed
			}
		}
		r.addRemaining(next)
		next.version, next.chunks = r.record.version, r.record.chunks
		r.record = next
		return r.recordSuccess(ctx)
	}
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := r.save(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) && len(diag.All(failed)) == 0 {
		return err
	}
	return failed
}

// apply writes one object, which must not have been replaced since the plan.
func (r *runner) apply(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
	if it.Before != nil && it.Before.GetDeletionTimestamp() != nil {
		if err := r.waitDeleted(ctx, it); err != nil {
			return nil, err
		}
		it.uid = ""
	}
	switch {
	case it.Action == Replace:
		if err := r.remove(ctx, it); err != nil {
			return nil, err
		}
	case it.unstored != nil:
		if err := r.removeUnstored(ctx, it); err != nil {
			return nil, err
		}
	case it.Adopts:
		if err := r.Live.SetManagedFields(ctx, it.ref, it.uid, func(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, bool) {
			return transferFields(entries, it.formerManagers(it.Before), it.exemptPaths())
		}); err != nil {
			return nil, err
		}
	}
	return r.send(ctx, it)
}

// remove deletes an object that is recreated, and waits for the deletion.
func (r *runner) remove(ctx context.Context, it *Item) error {
	if err := r.Live.Delete(ctx, it.ref, it.uid); err != nil {
		return err
	}
	if err := r.waitDeleted(ctx, it); err != nil {
		return err
	}
	it.uid = ""
	return nil
}

// locate adds the object to a fault of the API server that does not name one.
func (it *Item) locate(err error) error {
	d, ok := errors.AsType[*diag.Diag](err)
	if !ok || d.Code != diag.CodeAPIServer || d.Path != "" {
		return err
	}
	located := *d
	located.At, located.Path = it.positions, it.ID
	return &located
}

// fault returns err as a fault of the object.
func (it *Item) fault(err error) error {
	var answer *cluster.Error
	if !errors.As(err, &answer) {
		return it.locate(err)
	}
	code, hint := answer.Classify()
	d := &diag.Diag{Code: code, At: it.positions, Path: it.ID, Msg: errorText(it.Before, answer), Hint: hint, Cause: err}
	switch answer.Reason {
	case cluster.Conflict:
		d.Msg, d.Hint = "other managers own fields of it now: "+listFields(it.withPaths(answer.Fields, it.Before)), "apply again to see them"
	case cluster.Webhook:
		d.Msg = "a webhook does not answer: " + d.Msg
	case cluster.Moved:
		d.Msg, d.Hint = "it was changed while it was applied", "apply again"
	}
	return d
}
