package apply

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// CheckActions returns a fault for each action of the plan that cannot run: a
// permission, an environment variable or a user's approval is missing.
func (t Target) CheckActions(p *Plan) error {
	var faults diag.List
	for _, a := range p.Actions {
		faults.Add(t.Actions.Check(&a.Action))
	}
	return faults.Err()
}

// secrets returns the texts that messages must not show: the contents of the
// bundle's Secrets and the environment variables of actions.
func (t Target) secrets() []string {
	out := secretsOf(slices.Concat(t.Bundle.Objects, t.Bundle.Hooks))
	for _, reference := range slices.Sorted(maps.Keys(t.Secrets)) {
		value := t.Secrets[reference]
		out = append(out, value, base64.StdEncoding.EncodeToString([]byte(value)))
	}
	for _, a := range t.Bundle.Cluster.AllActions() {
		out = append(out, t.Actions.Secrets(&a)...)
	}
	return out
}

// noLevel is the level of an action that belongs to no release.
const noLevel = -1

// runActions runs the actions of a stage that are due before or after its level, in
// order. Actions of the stage itself have the level noLevel.
func (r *runner) runActions(ctx context.Context, stage string, level int, after bool) error {
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
		if outcome == ActionDone || outcome == ActionFailed {
			r.started = append(r.started, &a.Action)
		}
		if err != nil {
			return err
		}
		if outcome == ActionSkipped {
			r.reportAction(&a.Action, "skip", "it has already run")
		}
	}
	return nil
}

func (r *runner) reportAction(a *fleet.Action, what, text string) {
	r.report(Event{Stage: a.Stage, ID: "action " + a.ID(), What: what, Text: text})
}

// undoTimeout limits the undo after an interrupted apply.
const undoTimeout = 30 * time.Second

// undo undoes the actions of a failed stage that have started, the last one first,
// even when the apply was interrupted. It returns the failure, with a fault for
// each action that could not be undone.
func (r *runner) undo(interrupted context.Context, failed error) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(interrupted))
	defer cancel(nil)
	defer context.AfterFunc(interrupted, func() {
		select {
		case <-time.After(undoTimeout):
			cancel(fmt.Errorf("it did not finish within %s after the interruption", undoTimeout))
		case <-ctx.Done():
		}
	})()
	var faults diag.List
	var lost error // the new holder of the lease may rely on these actions
	for _, a := range slices.Backward(r.started) {
		if !a.Undo.Exists() {
			continue
		}
		r.reportAction(a, "undo", DescribeTask(a.Undo))
		if lost == nil {
			lost = r.lease.Check(ctx)
		}
		err := lost
		if err == nil {
			err = r.actions.Undo(ctx, a)
		}
		r.result.Actions[a.ID()] = ActionUndone
		if _, ok := r.record.Releases[a.Release]; ok {
			r.record.Releases[a.Release] = "" // so that the next apply does the action again
		}
		for _, why := range diag.All(err) {
			r.result.Actions[a.ID()] = ActionNotUndone
			r.reportAction(a, "stand", why.Msg)
			faults.Add(&diag.Diag{
				Code: diag.CodeActionFailed, At: []diag.Pos{a.Pos}, Path: "action " + a.ID(),
				Msg:  "it could not be undone: " + why.Msg,
				Hint: "undo it by hand: the next apply starts the action again",
			})
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

	// failedJobTTL is how long a failed Job is kept for inspection, in seconds.
	failedJobTTL = int64(24 * 60 * 60)
)

// jobOf returns the Job of an action, or the Job that undoes it. The name is the
// same in every run. Deadline and TTL make sure that the Job ends and disappears
// without fleetc.
func jobOf(a *fleet.Action, undo bool) *unstructured.Unstructured {
	content := a.Task.Job
	what := a.ID()
	if undo {
		content = a.Undo.Job
		what += " undo"
	}
	job := cluster.Marked(&unstructured.Unstructured{Object: content}, map[string]string{managedByLabel: cluster.Manager, actionLabel: a.Name}, map[string]string{actionAnnotation: a.ID()})
	const longest = 63 - len("fleetc--01234567")
	job.SetName(fmt.Sprintf("fleetc-%s-%s", a.Name[:min(len(a.Name), longest)], hexSum([]byte(what), 4)))
	if spec, ok := job.Object["spec"].(map[string]any); ok {
		for field, value := range map[string]int64{"activeDeadlineSeconds": int64(actionTimeout(a).Seconds()), "ttlSecondsAfterFinished": failedJobTTL} {
			if _, ok := spec[field]; !ok {
				spec[field] = value
			}
		}
	}
	return job
}

// isJobOf reports whether fleetc created the Job for this action.
func isJobOf(current *unstructured.Unstructured, a *fleet.Action) bool {
	return current.GetLabels()[actionLabel] == a.Name && current.GetAnnotations()[actionAnnotation] == a.ID() && ownFields(current) != nil
}

// jobNameTaken returns the fault of an action whose Job has the name of another Job.
func jobNameTaken(current *unstructured.Unstructured) *diag.Diag {
	return &diag.Diag{
		Code: diag.CodeActionInvalid,
		Msg:  fmt.Sprintf("Job %s/%s exists, and fleetc did not create it for this action", current.GetNamespace(), current.GetName()),
		Hint: "delete it, or rename the action",
	}
}

// job runs the Job of an action, or the Job that undoes it, until it is complete,
// and then deletes it. A failed Job stays for inspection; the next run deletes it.
func (r *runner) job(ctx context.Context, a *fleet.Action, undo bool, timeout time.Duration) error {
	job := jobOf(a, undo)
	it := &Item{ID: fleet.Object{Unstructured: job}.ID(), Stage: a.Stage, ref: cluster.RefOf(job), object: job}
	before, err := r.Live.Object(ctx, it.ref)
	if err != nil {
		return it.fault(err)
	}
	if before != nil {
		if !isJobOf(before, a) {
			return jobNameTaken(before)
		}
		it.uid = string(before.GetUID())
		if err := r.Live.DeleteForeground(ctx, it.ref, it.uid); err != nil && cluster.ReasonOf(err) != cluster.Moved {
			return it.fault(err)
		}
		if err := r.waitDeleted(ctx, it); err != nil { // and its pods: two runs at the same time may do harm
			return err
		}
	}
	current, err := r.Live.Apply(ctx, job, cluster.Application{})
	if err != nil {
		return it.fault(err)
	}
	o := &kube.ObservedObject{Declared: fleet.Object{Unstructured: job}, Live: current}
	verdict, err := r.waitEnd(ctx, it, o, &kube.HealthWaiting{Timeout: timeout}, isComplete) // the fleet's health rules do not apply to it
	if err != nil {
		return err
	}
	if verdict.State != kube.HealthReady {
		return r.explain(ctx, it, o.Live, verdict)
	}
	if err := r.Live.Delete(ctx, it.ref, string(current.GetUID())); err != nil && cluster.ReasonOf(err) != cluster.Moved {
		return it.fault(err)
	}
	return nil
}
