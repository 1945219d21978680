package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/health"
	"github.com/fleetc/fleetc/compiler/live"
)

const leaseName = "apply"

// A runner does what a plan says.
type runner struct {
	Target
	plan   *Plan
	rules  *health.Rules
	lease  *live.Lease
	record *Inventory // as it is stored, with what is known since
	tell   func(Event)
	hide   func(string) string // takes what the bundle's Secrets hold out of a text of the cluster's
	result Result
}

// Run does what the plan says, and tells each step. It takes the lease of the
// cluster and plans again under it; when it is to be exact, a difference is a
// fault for each object that moved. On a fault nothing later is begun; what was
// done is on record, and the next apply goes on from there.
func (t Target) Run(ctx context.Context, planned *Plan, tell func(Event)) (result Result, err error) {
	if err := planned.Faults(); err != nil || planned.Nothing() {
		return Result{}, err
	}
	r := &runner{Target: t, hide: health.Hider(secretsOf(t.Bundle)), tell: func(e Event) {
		e.Cluster = planned.Cluster
		tell(e)
	}}
	if r.rules, err = health.Compile(t.Bundle.Cluster); err != nil {
		return Result{}, err
	}
	r.rules.AddCRDs(t.Bundle.Objects...)
	if planned.First {
		if err := r.ownNamespace(ctx); err != nil {
			return Result{}, err
		}
	}
	r.lease, err = t.Live.Hold(ctx, Namespace, leaseName, t.Holder, func(holder string) {
		r.tell(Event{What: "wait", Text: "for the lease of " + diag.Visible(holder, diag.MaxText)})
	})
	if err != nil {
		return Result{}, err
	}
	defer func() {
		if rerr := r.lease.Release(ctx); err == nil {
			err = rerr
		}
	}()
	if r.plan, err = t.Plan(ctx); err != nil {
		return Result{}, err
	}
	if t.Exact {
		if err := planned.Frozen().Check(r.plan); err != nil {
			return Result{}, err
		}
	}
	if err := r.plan.Faults(); err != nil || r.plan.Nothing() {
		return Result{}, err
	}
	if err := r.begin(ctx); err != nil {
		return Result{}, err
	}
	err = r.stages(ctx)
	if err == nil {
		err = r.prune(ctx)
	}
	return r.result, r.end(ctx, err)
}

// ownNamespace makes the namespace that fleetc keeps its things in.
func (r *runner) ownNamespace(ctx context.Context) error {
	ns := &unstructured.Unstructured{Object: map[string]any{}}
	ns.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	ns.SetName(Namespace)
	ns.SetLabels(map[string]string{"app.kubernetes.io/managed-by": live.Manager})
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
	r.record.Objects = next.Objects
	if r.record.Stages == nil {
		r.record.Stages, r.record.Releases = map[string]string{}, map[string]string{}
	}
	for _, s := range r.todo() {
		delete(r.record.Stages, s)
	}
	for _, it := range r.plan.Items {
		// It is neither what it was nor what it is to be; that it is installed stays.
		if _, ok := r.record.Releases[it.Release]; ok && it.Action.writes() {
			r.record.Releases[it.Release] = ""
		}
	}
	return r.save(ctx)
}

// todo returns the stages that have something to be done or are not known to be
// healthy.
func (r *runner) todo() []string {
	var out []string
	for _, s := range r.Bundle.Cluster.Stages {
		writes := slices.ContainsFunc(r.plan.Items, func(it Item) bool { return it.Stage == s && it.object != nil && it.Action.writes() })
		stale := r.plan.settled.Stages[s] != r.plan.inventory.Stages[s]
		if writes || stale && r.inScope(s, "") && len(r.Options.Releases) == 0 || r.unfinished(s) {
			out = append(out, s)
		}
	}
	return out
}

// unfinished reports whether a release that is chosen was not applied to its end.
func (r *runner) unfinished(stage string) bool {
	return len(r.Options.Releases) > 0 && slices.ContainsFunc(r.Bundle.Cluster.Releases, func(rel *fleet.Release) bool {
		return rel.Stage == stage && r.inScope(stage, rel.Name) && r.plan.settled.Releases[rel.Name] != r.plan.inventory.Releases[rel.Name]
	})
}

func (r *runner) save(ctx context.Context) error {
	if err := r.lease.Check(ctx); err != nil {
		return err
	}
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
			if uid := known[e.id()].UID; uid != "" {
				settled.Objects[i].UID = uid
			}
		}
		settled.version, settled.chunks = r.record.version, r.record.chunks
		r.record = settled
		return r.save(ctx)
	}
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := r.save(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) && len(diag.All(failed)) == 0 {
		return err
	}
	return failed
}

// stages applies the stages in order.
func (r *runner) stages(ctx context.Context) error {
	todo := r.todo()
	for i, s := range todo {
		r.tell(Event{Stage: s, What: "start"})
		if err := r.stage(ctx, s); err != nil {
			r.result.NotReached = todo[i+1:]
			r.tell(Event{Stage: s, What: "failed"})
			return err
		}
		r.result.Done = append(r.result.Done, s)
		r.tell(Event{Stage: s, What: "done"})
	}
	return nil
}

// stage applies one stage: namespaces and CRDs, hooks before, all else in the
// order of the bundle, and hooks after, when the rest is healthy.
func (r *runner) stage(ctx context.Context, stage string) error {
	var base, pre, rest, post []*Item
	for i := range r.plan.Items {
		it := &r.plan.Items[i]
		switch {
		case it.Stage != stage || it.object == nil:
		case it.hook != nil:
			if it.hook.pre {
				pre = append(pre, it)
			}
			if it.hook.post {
				post = append(post, it)
			}
		case it.isBase():
			base = append(base, it)
		default:
			rest = append(rest, it)
		}
	}
	if err := r.applyAll(ctx, base); err != nil {
		return err
	}
	if err := r.wait(ctx, stage, base); err != nil {
		return err
	}
	if slices.ContainsFunc(base, func(it *Item) bool { return it.Action.writes() }) {
		r.Live.Renew()
	}
	if err := r.hooks(ctx, pre); err != nil {
		return err
	}
	if err := r.applyAll(ctx, rest); err != nil {
		return err
	}
	if err := r.wait(ctx, stage, rest); err != nil {
		return err
	}
	if err := r.hooks(ctx, post); err != nil {
		return err
	}
	r.note(stage)
	return r.save(ctx)
}

// note notes that a stage is applied and healthy, and which releases are.
func (r *runner) note(stage string) {
	if len(r.Options.Releases) == 0 {
		r.record.Stages[stage] = r.plan.settled.Stages[stage]
	}
	for _, rel := range r.Bundle.Cluster.Releases {
		if rel.Stage == stage && r.inScope(stage, rel.Name) {
			r.record.Releases[rel.Name] = r.plan.settled.Releases[rel.Name]
		}
	}
}

func (r *runner) applyAll(ctx context.Context, items []*Item) error {
	for _, it := range items {
		if !it.Action.writes() {
			continue
		}
		is, err := r.apply(ctx, it)
		if err != nil {
			return it.failed(err)
		}
		it.uid = string(is.GetUID())
		r.record.setUID(it.ref, it.uid)
		if it.Action == Create {
			r.result.Created++
		} else {
			r.result.Changed++
		}
		r.tell(Event{Stage: it.Stage, ID: it.ID, What: string(it.Action)})
	}
	return nil
}

// apply writes one object. One that was there must still be the same.
func (r *runner) apply(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
	if it.Before != nil && it.Before.GetDeletionTimestamp() != nil {
		if err := r.waitGone(ctx, it); err != nil {
			return nil, err
		}
		it.uid = ""
	}
	if it.Adopts {
		if err := r.lease.Check(ctx); err != nil {
			return nil, err
		}
		if err := r.Live.Adopt(ctx, it.ref, formerManagers(it.Before)); err != nil {
			return nil, err
		}
	}
	o := it.object
	if it.uid != "" && it.hook == nil {
		o = o.DeepCopy()
		unstructured.RemoveNestedField(o.Object, "metadata", "uid")
		if err := unstructured.SetNestedField(o.Object, it.uid, "metadata", "uid"); err != nil {
			return nil, fmt.Errorf("set the UID of %s: %w", it.ID, err)
		}
	}
	if err := r.lease.Check(ctx); err != nil {
		return nil, err
	}
	return r.Live.Apply(ctx, o, live.Application{Force: it.Forced || it.hook != nil && r.ForceConflicts})
}

// failed returns err as a fault of the object.
func (it *Item) failed(err error) error {
	var answer *live.Error
	if !errors.As(err, &answer) {
		return err
	}
	d := &diag.Diag{At: it.at, Path: it.ID, Msg: answer.Message, Cause: err}
	switch answer.Reason {
	case live.Conflict:
		d.Msg, d.Hint = "others have fields of it now: "+listFields(answer.Fields), "apply again to see them"
	case live.Moved:
		d.Msg, d.Hint = "it was changed while it was applied", "apply again"
	}
	return d
}

// prune deletes what the bundle has no more.
func (r *runner) prune(ctx context.Context) error {
	for i := range r.plan.Items {
		it := &r.plan.Items[i]
		if it.Action != Prune {
			continue
		}
		if err := r.lease.Check(ctx); err != nil {
			return err
		}
		if err := r.Live.Delete(ctx, it.ref, it.uid); err != nil && live.ReasonOf(err) != live.Moved {
			return it.failed(err)
		}
		r.tell(Event{Stage: it.Stage, ID: it.ID, What: "prune"})
		r.result.Pruned++
	}
	for i := range r.plan.Items {
		it := &r.plan.Items[i]
		if it.Action == Prune {
			if err := r.waitGone(ctx, it); err != nil {
				return err
			}
			r.record.remove(it.ref)
		}
	}
	return nil
}
