package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/actions"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/health"
	"github.com/fleetc/fleetc/compiler/live"
)

// CheckActions returns the faults of the plan's actions that cannot be done: for
// lack of a permission, of an environment variable or of a person.
func (t Target) CheckActions(p *Plan) error {
	var faults diag.List
	for _, a := range p.Actions {
		faults.Add(t.Actions.Check(&a.Action))
	}
	return faults.Err()
}

// secrets returns what nobody is to see: what the bundle's Secrets hold, and the
// environment variables of actions.
func (t Target) secrets() []string {
	out := secretsOf(slices.Concat(t.Bundle.Objects, t.Bundle.Hooks))
	for _, a := range t.Bundle.Cluster.AllActions() {
		out = append(out, t.Actions.Secrets(&a)...)
	}
	return out
}

// ofStage stands for a level where an action is of no release.
const ofStage = -1

// act does the actions of one moment of a stage, one after the other: of the stage
// itself, or of the releases of a level.
func (r *runner) act(ctx context.Context, stage string, level int, after bool) error {
	for i := range r.plan.Actions {
		a := &r.plan.Actions[i]
		if a.Stage != stage || a.level != level || a.After != after {
			continue
		}
		if err := r.lease.Check(ctx); err != nil {
			return err
		}
		outcome, err := r.actions.Run(ctx, &a.Action)
		r.result.Actions[a.ID()] = outcome
		if outcome == actions.Done || outcome == actions.Failed {
			r.begun = append(r.begun, &a.Action)
		}
		if err != nil {
			return err
		}
		if outcome == actions.Skipped {
			r.tellOf(&a.Action, "skip", "it is done already")
		}
	}
	return nil
}

func (r *runner) tellOf(a *fleet.Action, what, text string) {
	r.tell(Event{Stage: a.Stage, ID: "action " + a.ID(), What: what, Text: text})
}

// undoLimit is how long undoing may take once an apply was interrupted.
const undoLimit = 30 * time.Second

// undo takes back what was begun of a stage that failed, the last action first,
// also when the apply was interrupted. The error has what failed, and what could
// not be undone.
func (r *runner) undo(interrupted context.Context, failed error) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(interrupted))
	defer cancel(nil)
	defer context.AfterFunc(interrupted, func() {
		select {
		case <-time.After(undoLimit):
			cancel(fmt.Errorf("it is out of time %s after the apply was interrupted", undoLimit))
		case <-ctx.Done():
		}
	})()
	var faults diag.List
	var lost error // who has the lease now may rely on what was done
	for _, a := range slices.Backward(r.begun) {
		if !a.Undo.Exists() {
			continue
		}
		r.tellOf(a, "undo", actions.Describe(a.Undo))
		if lost == nil {
			lost = r.lease.Check(ctx)
		}
		err := lost
		if err == nil {
			err = r.actions.Undo(ctx, a)
		}
		r.result.Actions[a.ID()] = actions.Undone
		if _, ok := r.record.Releases[a.Release]; ok {
			r.record.Releases[a.Release] = "" // so that the next apply does the action again
		}
		for _, why := range diag.All(err) {
			r.result.Actions[a.ID()] = actions.Standing
			r.tellOf(a, "stand", why.Msg)
			faults.Add(&diag.Diag{At: []diag.Pos{a.Pos}, Path: "action " + a.ID(), Msg: "it is not undone: " + why.Msg, Hint: why.Hint})
		}
	}
	if len(faults) == 0 {
		return failed
	}
	faults.Add(failed)
	return faults.Err()
}

const (
	actionLabel      = "fleetc.dev/action"
	actionAnnotation = "fleetc.dev/action-id"

	// jobsLeft is how long a Job that failed is there for people to look at, in
	// seconds.
	jobsLeft = int64(24 * 60 * 60)
)

// jobOf returns the Job of an action, or that of its undo. Its name is the same
// at every run. It ends by itself: also when nobody is there any more to wait
// for it.
func jobOf(a *fleet.Action, undo bool) *unstructured.Unstructured {
	content := a.Task.Job
	what := a.ID()
	if undo {
		content = a.Undo.Job
		what += " undo"
	}
	job := (&unstructured.Unstructured{Object: content}).DeepCopy()
	sum := sha256.Sum256([]byte(what))
	const longest = 63 - len("fleetc--01234567")
	job.SetName(fmt.Sprintf("fleetc-%s-%s", a.Name[:min(len(a.Name), longest)], hex.EncodeToString(sum[:4])))
	labels, notes := job.GetLabels(), job.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if notes == nil {
		notes = map[string]string{}
	}
	labels[managedByLabel], labels[actionLabel], notes[actionAnnotation] = live.Manager, a.Name, a.ID()
	job.SetLabels(labels)
	job.SetAnnotations(notes)
	if spec, ok := job.Object["spec"].(map[string]any); ok {
		for field, value := range map[string]int64{"activeDeadlineSeconds": int64(actions.Timeout(a).Seconds()), "ttlSecondsAfterFinished": jobsLeft} {
			if _, has := spec[field]; !has {
				spec[field] = value
			}
		}
	}
	return job
}

// isJobOf reports whether what is there is a Job that fleetc made for the action.
func isJobOf(is *unstructured.Unstructured, a *fleet.Action) bool {
	return is.GetLabels()[actionLabel] == a.Name && is.GetAnnotations()[actionAnnotation] == a.ID() && ownFields(is) != nil
}

func taken(is *unstructured.Unstructured) string {
	return fmt.Sprintf("there is a Job %s/%s, which fleetc did not make for it", is.GetNamespace(), is.GetName())
}

// job runs the Job of an action, or that of its undo, until it is complete. One
// that succeeded is deleted. One that did not stays, to be looked at, and is
// deleted by the next run.
func (r *runner) job(ctx context.Context, a *fleet.Action, undo bool, timeout time.Duration) error {
	job := jobOf(a, undo)
	it := &Item{ID: fleet.Object{Unstructured: job}.ID(), Stage: a.Stage, ref: live.RefOf(job), object: job}
	was, err := r.Live.Object(ctx, it.ref)
	if err != nil {
		return it.failed(err)
	}
	if was != nil {
		if !isJobOf(was, a) {
			return errors.New(taken(was))
		}
		it.uid = string(was.GetUID())
		if err := r.Live.DeleteWhole(ctx, it.ref, it.uid); err != nil && live.ReasonOf(err) != live.Moved {
			return it.failed(err)
		}
		if err := r.waitGone(ctx, it); err != nil { // with its pods: two of them at a time may do harm
			return err
		}
	}
	is, err := r.Live.Apply(ctx, job, live.Application{})
	if err != nil {
		return it.failed(err)
	}
	o := &health.Observed{Declared: fleet.Object{Unstructured: job}, Live: is}
	verdict, err := r.waitEnd(ctx, it, o, &health.Waiting{Timeout: timeout}, isComplete) // no rule of the fleet is about it
	if err != nil {
		return err
	}
	if verdict.State != health.Ready {
		return r.explain(ctx, it, o.Live, verdict)
	}
	if err := r.Live.Delete(ctx, it.ref, string(is.GetUID())); err != nil && live.ReasonOf(err) != live.Moved {
		return it.failed(err)
	}
	return nil
}
