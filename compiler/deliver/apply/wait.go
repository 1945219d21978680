package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

const (
	waitPoll       = 500 * time.Millisecond
	defaultTimeout = 5 * time.Minute
)

func (o Options) timeout() time.Duration { return cmp.Or(o.Timeout, defaultTimeout) }

// wait waits until all objects are healthy at the same time. A failed object or the
// timeout ends the wait with a fault.
func (r *runner) wait(ctx context.Context, stage string, items []*Item) error {
	start := time.Now()
	w := &waiter{runner: r, HealthWaiting: kube.HealthWaiting{Rules: r.rules, Timeout: r.timeout()}, byID: make(map[string]*Item, len(items))}
	// Jobs of this run are watched from their creation on: they may be deleted as soon as they
	// are complete.
	var jobs []*unstructured.Unstructured
	var refs []cluster.Ref
	for _, it := range items {
		declared := fleet.Object{Unstructured: it.object, Release: it.release}
		if it.uid != "" && (r.rules.ReadyOnceExists(declared) || it.Action == Unchanged && it.completedDigest != "") {
			continue // the plan or the apply has found it
		}
		w.byID[it.ID] = it
		w.pending = append(w.pending, kube.JudgedObject{ObservedObject: kube.ObservedObject{Declared: declared, Existed: it.uid != ""}})
		if it.writtenJob != nil {
			jobs = append(jobs, it.writtenJob)
		} else {
			refs = append(refs, it.ref)
		}
	}
	if len(w.pending) == 0 {
		return nil
	}
	w.observer = r.Live.Observe(ctx, refs, jobs...)
	defer w.observer.Close()
	reasons := make(map[string]string, len(items))
	for first := true; ; first = false {
		changes := w.observer.Changes()
		if first {
			changes = nil
		}
		if err := w.observer.Wait(ctx, changes, waitPoll); err != nil {
			return err
		}
		p, err := w.step(ctx, time.Since(start))
		if err != nil {
			return err
		}
		r.recordReady(stage, w.byID, p.Ready, !first)
		if len(p.Failed) > 0 {
			var faults diag.List
			for _, o := range p.Failed {
				faults.Add(r.explain(ctx, w.byID[o.Declared.ID()], o.Live, o.HealthVerdict))
			}
			return faults.Err()
		}
		for _, o := range p.Pending {
			if id := o.Declared.ID(); reasons[id] != o.Reason {
				r.report(Event{Stage: stage, ID: id, What: "wait", Text: r.hide(o.Reason)})
				reasons[id] = o.Reason
			}
		}
		if len(p.Pending) == 0 {
			return nil
		}
	}
}

// A waiter is the state of a wait.
type waiter struct {
	kube.HealthWaiting
	runner         *runner
	observer       *cluster.Observer
	byID           map[string]*Item
	pending, ready []kube.JudgedObject
}

// step checks the objects that are not ready. Before the wait ends, it also checks those
// that were ready, because a container in a crash loop is briefly ready after each restart.
func (w *waiter) step(ctx context.Context, elapsed time.Duration) (kube.HealthProgress, error) {
	p, err := w.judge(ctx, elapsed, w.pending)
	if err == nil && (len(p.Failed) > 0 || len(p.Pending) == 0) {
		var again kube.HealthProgress
		again, err = w.judge(ctx, elapsed, w.ready)
		w.ready = again.Ready
		p.Pending, p.Failed = append(p.Pending, again.Pending...), append(p.Failed, again.Failed...)
	}
	w.pending, w.ready = p.Pending, append(w.ready, p.Ready...)
	return p, err
}

// judge reads the states of objects and checks their health.
func (w *waiter) judge(ctx context.Context, elapsed time.Duration, objects []kube.JudgedObject) (p kube.HealthProgress, err error) {
	observed := make([]kube.ObservedObject, len(objects))
	for i, o := range objects {
		observed[i] = o.ObservedObject
		if observed[i].Live, err = w.runner.liveObject(ctx, w.observer, w.byID[o.Declared.ID()]); err != nil {
			return p, err
		}
	}
	return w.Step(elapsed, observed), nil
}

// recordReady reports objects that became ready, and records completed Jobs.
func (r *runner) recordReady(stage string, byID map[string]*Item, ready []kube.JudgedObject, report bool) {
	for _, o := range ready {
		it := byID[o.Declared.ID()]
		if o.Live != nil && isJob(o.Live) && isComplete(o.Live) {
			it.completedDigest = it.contentDigest()
			if e := r.record.entry(it.ref); e != nil {
				e.Completed = it.completedDigest
			}
		}
		if report {
			r.report(Event{Stage: stage, ID: o.Declared.ID(), What: "ready"})
		}
	}
}

// liveObject returns the current object. For a Job that its ttlSecondsAfterFinished
// has deleted, it returns the last state.
func (r *runner) liveObject(ctx context.Context, o *cluster.Observer, it *Item) (*unstructured.Unstructured, error) {
	now := o.Object(it.ref)
	if now.Object == nil && now.Last != nil && string(now.Last.GetUID()) == it.uid {
		now.Object = now.Last
		if !isFinished(now.Last) {
			return nil, nil
		}
	}
	if now.Object == nil && it.uid != "" && isJob(it.object) {
		// The change may not have reached the watch yet.
		return r.Live.Object(ctx, it.ref)
	}
	if isFinished(now.Object) && isBeingDeleted(now.Object) {
		now.Object = now.Object.DeepCopy()
		now.Object.SetDeletionTimestamp(nil)
	}
	return now.Object, nil
}

// errTimeout is the cause of contexts that limit a wait.
var errTimeout = errors.New("late")

// explain returns the fault of an unhealthy object.
func (r *runner) explain(ctx context.Context, it *Item, current *unstructured.Unstructured, v kube.HealthVerdict) error {
	v.Reason = r.hide(v.Reason)
	d := &diag.Diag{
		Code: diag.CodeNotReady, At: it.positions, Path: it.ID, Msg: diag.Line(v.Reason, diag.MaxText),
		Hint: "correct the cause, then run the command again",
	}
	if v.State != kube.HealthFailed {
		d.Hint = "correct the cause or raise the timeout, then run the command again"
	}
	if current == nil {
		return d
	}
	x := &kube.Explainer{Reader: r.Live, Hide: r.hide}
	why := x.Explain(ctx, fleet.Object{Unstructured: current, Release: it.release}, v)
	if text := why.String(); len(why.Chain) > 1 && !strings.HasSuffix(text, v.Reason) {
		d.Msg += "; " + diag.Line(text, diag.MaxText)
	}
	if policy, _, _ := unstructured.NestedString(current.Object, "spec", "template", "spec", "restartPolicy"); isJob(current) && policy == "OnFailure" && len(why.Logs) == 0 {
		d.Hint += "; to see its log here, set restartPolicy: Never, because the pods of a failed Job with OnFailure are deleted"
	}
	for _, line := range slices.Concat(why.Events, why.Logs) {
		d.Msg += "\n        " + diag.Line(line, diag.MaxText)
	}
	return d
}

// deletionBlockers describes what an object that is being deleted waits for.
func deletionBlockers(o *unstructured.Unstructured) string {
	var why []string
	if names := o.GetFinalizers(); len(names) > 0 {
		why = append(why, "it is held by "+strings.Join(names, ", "))
	}
	// Namespaces list their remaining content.
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		c, ok := c.(map[string]any)
		message, isText := c["message"].(string)
		if ok && isText && o.GetKind() == "Namespace" && c["status"] == "True" {
			why = append(why, message)
		}
	}
	if len(why) == 0 {
		return "it is still being deleted"
	}
	return diag.Line(strings.Join(why, "; "), maxPendingText)
}

// hooks runs hooks by weight and, as Helm does, by name.
func (r *runner) hooks(ctx context.Context, items []*Item) error {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b *Item) int {
		return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.hook.weight, b.hook.weight))
	})
	for i, it := range items {
		if err := r.runHook(ctx, it); err != nil {
			if derr := r.deleteSucceeded(ctx, items[:i]); derr != nil {
				return append(diag.All(err), diag.All(derr)...).Err()
			}
			return err
		}
		r.result.Hooks++
	}
	return r.deleteSucceeded(ctx, items)
}

// deleteSucceeded deletes the hooks with the policy hook-succeeded. As in Helm,
// this happens only when all hooks of the event have succeeded, or one has failed.
func (r *runner) deleteSucceeded(ctx context.Context, items []*Item) error {
	for _, it := range items {
		if slices.Contains(it.hook.deletions, "hook-succeeded") {
			if err := r.deleteHook(ctx, it); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) runHook(ctx context.Context, it *Item) error {
	if it.Before != nil && slices.Contains(it.hook.deletions, "before-hook-creation") {
		if err := r.deleteHook(ctx, it); err != nil {
			return err
		}
	}
	r.report(Event{Stage: it.Stage, ID: it.ID, What: "hook"})
	current, err := r.apply(ctx, it)
	if err != nil {
		return it.fault(err)
	}
	it.Before, it.uid = current, string(current.GetUID())
	if !fleet.HookRuns(current) {
		return nil
	}
	state, fault, err := r.hookEnds(ctx, it, current)
	if err != nil || fault == nil {
		return err
	}
	if state == kube.HealthFailed && slices.Contains(it.hook.deletions, "hook-failed") {
		if err := r.deleteHook(ctx, it); err != nil {
			return err
		}
	}
	return fault
}

// hookEnds waits until a hook has ended. It returns the final state, and a fault if
// the hook did not succeed.
func (r *runner) hookEnds(ctx context.Context, it *Item, current *unstructured.Unstructured) (state kube.HealthState, fault, err error) {
	o := &kube.ObservedObject{Declared: fleet.Object{Unstructured: it.object, Release: it.release}, Live: current}
	verdict, err := r.waitEnd(ctx, it, o, &kube.HealthWaiting{Rules: r.rules, Timeout: r.timeout()}, hasEnded)
	if err != nil || verdict.State == kube.HealthReady {
		return verdict.State, nil, err
	}
	return verdict.State, r.explain(ctx, it, o.Live, kube.HealthVerdict{State: verdict.State, Reason: "the hook did not succeed: " + verdict.Reason}), nil
}

// waitEnd waits until a Job or pod has ended, and returns the verdict.
func (r *runner) waitEnd(ctx context.Context, it *Item, o *kube.ObservedObject, w *kube.HealthWaiting, ended func(*unstructured.Unstructured) bool) (kube.HealthVerdict, error) {
	start := time.Now()
	follower := r.Live.Observe(ctx, nil, o.Live)
	defer follower.Close()
	it.uid = string(o.Live.GetUID())
	for first := true; ; first = false {
		changes := follower.Changes()
		elapsed := time.Since(start)
		p := w.Step(elapsed, []kube.ObservedObject{*o})
		switch {
		case len(p.Failed) > 0:
			return p.Failed[0].HealthVerdict, nil
		case len(p.Ready) > 0 && !ended(o.Live):
			if elapsed > w.Timeout {
				return kube.HealthVerdict{State: kube.HealthInProgress, Reason: fmt.Sprintf("it has not ended after %s", w.Timeout)}, nil
			}
		case len(p.Ready) > 0:
			r.report(Event{Stage: it.Stage, ID: it.ID, What: "ready"})
			return p.Ready[0].HealthVerdict, nil
		case first:
			r.report(Event{Stage: it.Stage, ID: it.ID, What: "wait", Text: r.hide(p.Pending[0].Reason)})
		}
		if err := follower.Wait(ctx, changes, waitPoll); err != nil {
			return kube.HealthVerdict{}, err
		}
		now, err := r.liveObject(ctx, follower, it)
		if err != nil {
			return kube.HealthVerdict{}, err
		}
		if now == nil {
			return kube.HealthVerdict{State: kube.HealthFailed, Reason: "it was deleted before it ended"}, nil
		}
		o.Live = now
	}
}

// deleteHook deletes the live object of a hook. An object that is not a hook is a
// fault.
func (r *runner) deleteHook(ctx context.Context, it *Item) error {
	if !fleet.IsHook(it.Before) {
		return &diag.Diag{Code: diag.CodeObjectRefused, At: it.positions, Path: it.ID, Msg: "an object with this name exists and is not a hook", Hint: "rename one of them"}
	}
	it.uid = string(it.Before.GetUID())
	if err := r.Live.Delete(ctx, it.ref, it.uid); err != nil && cluster.ReasonOf(err) != cluster.Moved {
		return it.fault(err)
	}
	if err := r.waitDeleted(ctx, it); err != nil {
		return err
	}
	it.Before, it.uid = nil, ""
	return nil
}
