package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/health"
	"github.com/fleetc/fleetc/compiler/live"
)

const (
	waitPoll       = 500 * time.Millisecond
	defaultTimeout = 5 * time.Minute
)

func (o Options) timeout() time.Duration { return cmp.Or(o.Timeout, defaultTimeout) }

// wait waits until all of the objects are healthy. An object that has failed ends
// the wait, as does the time.
func (r *runner) wait(ctx context.Context, stage string, items []*Item) error {
	began := time.Now()
	w := &health.Waiting{Rules: r.rules, Timeout: r.timeout()}
	byID := make(map[string]*Item, len(items))
	var waiting []health.Observed
	for _, it := range items {
		declared := fleet.Object{Unstructured: it.object, Release: it.release}
		if it.uid != "" && (r.rules.ReadyOnceExists(declared) || it.Action == Unchanged && it.completed != "") {
			continue // the plan has seen it, or it was written
		}
		byID[it.ID] = it
		waiting = append(waiting, health.Observed{Declared: declared})
	}
	if len(waiting) == 0 {
		return nil
	}
	o := r.observe(ctx, slices.Collect(maps.Values(byID)))
	defer o.Close()
	reasons := make(map[string]string, len(items))
	for first := true; ; first = false {
		changes := o.Changes()
		if first {
			changes = nil
		}
		if err := o.Wait(ctx, changes, waitPoll); err != nil {
			return err
		}
		for i := range waiting {
			var err error
			if waiting[i].Live, err = r.observed(ctx, o, byID[waiting[i].Declared.ID()]); err != nil {
				return err
			}
		}
		p := w.Step(time.Since(began), waiting)
		r.noteReady(stage, byID, p.Ready, !first)
		if len(p.Failed) > 0 {
			return r.unhealthy(ctx, byID, p.Failed)
		}
		waiting = waiting[:0]
		for _, o := range p.Pending {
			waiting = append(waiting, o.Observed)
			if id := o.Declared.ID(); reasons[id] != o.Reason {
				r.tell(Event{Stage: stage, ID: id, What: "wait", Text: r.hide(o.Reason)})
				reasons[id] = o.Reason
			}
		}
		if len(waiting) == 0 {
			return nil
		}
	}
}

// noteReady tells of objects that got ready, and records Jobs that completed.
func (r *runner) noteReady(stage string, byID map[string]*Item, ready []health.Result, tell bool) {
	for _, o := range ready {
		it := byID[o.Declared.ID()]
		if o.Live != nil && isJob(o.Live) && isComplete(o.Live) {
			it.completed = it.contentDigest()
			r.record.setCompleted(it.ref, it.completed)
		}
		if tell {
			r.tell(Event{Stage: stage, ID: o.Declared.ID(), What: "ready"})
		}
	}
}

// observe follows objects until they are ready. Jobs that this run has written are
// followed from there on: they may be deleted as soon as they are complete.
func (r *runner) observe(ctx context.Context, items []*Item) *live.Observer {
	var refs []live.Ref
	var jobs []*unstructured.Unstructured
	for _, it := range items {
		if it.written != nil {
			jobs = append(jobs, it.written)
		} else {
			refs = append(refs, it.ref)
		}
	}
	return r.Live.Observe(ctx, refs, jobs...)
}

// observed returns an object as it is now. A Job that was deleted after its end,
// as its ttlSecondsAfterFinished says, is returned as it was at its end.
func (r *runner) observed(ctx context.Context, o *live.Observer, it *Item) (*unstructured.Unstructured, error) {
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
	if isFinished(now.Object) && isGoing(now.Object) {
		now.Object = now.Object.DeepCopy()
		now.Object.SetDeletionTimestamp(nil)
	}
	return now.Object, nil
}

// errLate is what pause returns when there is no more time.
var errLate = errors.New("late")

// pause waits a little, unless there is no more time.
func pause(ctx context.Context, end <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-end:
		return errLate
	case <-time.After(waitPoll):
		return nil
	}
}

// unhealthy returns the faults of objects that do not get healthy, with what
// keeps them from it.
func (r *runner) unhealthy(ctx context.Context, byID map[string]*Item, failed []health.Result) error {
	var faults diag.List
	for _, o := range failed {
		it := byID[o.Declared.ID()]
		faults.Add(r.explain(ctx, it, o.Live, o.Verdict))
	}
	return faults.Err()
}

// explain returns the fault of an object that is not healthy.
func (r *runner) explain(ctx context.Context, it *Item, is *unstructured.Unstructured, v health.Verdict) error {
	v.Reason = r.hide(v.Reason)
	d := &diag.Diag{At: it.at, Path: it.ID, Msg: diag.Visible(v.Reason, diag.MaxText)}
	if is == nil {
		return d
	}
	x := &health.Explainer{Reader: r.Live, Hide: r.hide}
	why := x.Explain(ctx, fleet.Object{Unstructured: is, Release: it.release}, v)
	if text := why.String(); len(why.Chain) > 1 && !strings.HasSuffix(text, v.Reason) {
		d.Msg += "; " + diag.Visible(text, diag.MaxText)
	}
	for _, line := range slices.Concat(why.Events, why.Logs) {
		d.Msg += "\n        " + diag.Visible(line, diag.MaxText)
	}
	return d
}

// holds says what keeps an object that is being deleted.
func holds(o *unstructured.Unstructured) string {
	var why []string
	if names := o.GetFinalizers(); len(names) > 0 {
		why = append(why, "it is held by "+strings.Join(names, ", "))
	}
	// Namespaces say what is left in them.
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
	return diag.Visible(strings.Join(why, "; "), maxPendingText)
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

// deleteSucceeded deletes the hooks that are to go when they have succeeded: as by
// Helm, not before all of the event have, or one has not.
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
	r.tell(Event{Stage: it.Stage, ID: it.ID, What: "hook"})
	is, err := r.apply(ctx, it)
	if err != nil {
		return it.failed(err)
	}
	it.Before, it.uid = is, string(is.GetUID())
	if !fleet.HookRuns(is) {
		return nil
	}
	state, fault, err := r.hookEnds(ctx, it, is)
	if err != nil || fault == nil {
		return err
	}
	if state == health.Failed && slices.Contains(it.hook.deletions, "hook-failed") {
		if err := r.deleteHook(ctx, it); err != nil {
			return err
		}
	}
	return fault
}

// hookEnds waits until a hook, which is now as it is, is through. It returns how
// it ended, and the fault of one that did not succeed.
func (r *runner) hookEnds(ctx context.Context, it *Item, is *unstructured.Unstructured) (state health.State, fault, err error) {
	o := &health.Observed{Declared: fleet.Object{Unstructured: it.object, Release: it.release}, Live: is}
	verdict, err := r.waitEnd(ctx, it, o, &health.Waiting{Rules: r.rules, Timeout: r.timeout()}, ended)
	if err != nil || verdict.State == health.Ready {
		return verdict.State, nil, err
	}
	return verdict.State, r.explain(ctx, it, o.Live, health.Verdict{State: verdict.State, Reason: "the hook did not succeed: " + verdict.Reason}), nil
}

// waitEnd waits until a Job or pod that is healthy has ended, and returns how it
// did.
func (r *runner) waitEnd(ctx context.Context, it *Item, o *health.Observed, w *health.Waiting, ended func(*unstructured.Unstructured) bool) (health.Verdict, error) {
	began := time.Now()
	follower := r.Live.Observe(ctx, nil, o.Live)
	defer follower.Close()
	it.uid = string(o.Live.GetUID())
	for first := true; ; first = false {
		changes := follower.Changes()
		elapsed := time.Since(began)
		p := w.Step(elapsed, []health.Observed{*o})
		switch {
		case len(p.Failed) > 0:
			return p.Failed[0].Verdict, nil
		case len(p.Ready) > 0 && !ended(o.Live):
			if elapsed > w.Timeout {
				return health.Verdict{State: health.InProgress, Reason: fmt.Sprintf("it has not ended after %s", w.Timeout)}, nil
			}
		case len(p.Ready) > 0:
			r.tell(Event{Stage: it.Stage, ID: it.ID, What: "ready"})
			return p.Ready[0].Verdict, nil
		case first:
			r.tell(Event{Stage: it.Stage, ID: it.ID, What: "wait", Text: r.hide(p.Pending[0].Reason)})
		}
		if err := follower.Wait(ctx, changes, waitPoll); err != nil {
			return health.Verdict{}, err
		}
		now, err := r.observed(ctx, follower, it)
		if err != nil {
			return health.Verdict{}, err
		}
		if now == nil {
			return health.Verdict{State: health.Failed, Reason: "it was deleted before it ended"}, nil
		}
		o.Live = now
	}
}

// deleteHook deletes what a hook made, now or at an earlier apply, and nothing
// that is no hook.
func (r *runner) deleteHook(ctx context.Context, it *Item) error {
	if !fleet.IsHook(it.Before) {
		return &diag.Diag{At: it.at, Path: it.ID, Msg: "an object of this name is there, and is no hook", Hint: "rename one of them"}
	}
	it.uid = string(it.Before.GetUID())
	if err := r.Live.Delete(ctx, it.ref, it.uid); err != nil && live.ReasonOf(err) != live.Moved {
		return it.failed(err)
	}
	if err := r.waitGone(ctx, it); err != nil {
		return err
	}
	it.Before, it.uid = nil, ""
	return nil
}
