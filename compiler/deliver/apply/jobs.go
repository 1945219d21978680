package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file tracks completed Jobs. A Job may be deleted after its end by its
// ttlSecondsAfterFinished; it is not run again, because its entry in the inventory
// has the digest of its content.

func isJob(o *unstructured.Unstructured) bool {
	return o != nil && o.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// isComplete reports whether a Job is complete. A suspended Job is healthy, but not
// complete.
func isComplete(job *unstructured.Unstructured) bool { return hasCondition(job, "Complete") }

// isFinished reports whether a Job or a pod has succeeded or failed.
func isFinished(o *unstructured.Unstructured) bool {
	switch {
	case o == nil:
		return false
	case isJob(o):
		return isComplete(o) || hasCondition(o, "Failed")
	case o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Pod"}:
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		return phase == "Succeeded" || phase == "Failed"
	}
	return false
}

func hasCondition(o *unstructured.Unstructured, typ string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == typ && condition["status"] == "True"
	})
}

// contentDigest returns a digest of the object in the bundle.
func (it *Item) contentDigest() string { return stateOf(it.object.Object) }

// completedBefore reports whether a Job that does not exist, or is being deleted,
// has already completed with the content in the bundle.
func (p *planner) completedBefore(it *Item, before *unstructured.Unstructured) bool {
	known := p.recorded[it.ID]
	if known.Completed == "" || !isJob(it.object) || before != nil && !isBeingDeleted(before) {
		return false
	}
	return known.Completed == it.contentDigest() && (before == nil || known.UID == string(before.GetUID()))
}

// keepCompleted sets the digest of a Job that the plan does not change, if the
// inventory or the cluster says that it is complete.
func (p *planner) keepCompleted(it *Item, before *unstructured.Unstructured) {
	if !isJob(it.object) || it.hook != nil {
		return
	}
	if digest := it.contentDigest(); p.recorded[it.ID].Completed == digest || before != nil && isComplete(before) {
		it.completedDigest = digest
	}
}

// checkPoll is the pause between two reads of a Job.
const checkPoll = time.Second

// CheckJob runs the Job of a check for a bundle, unless it has run already, and waits until it
// is complete. Several processes may call it at the same time: they wait for one Job.
func CheckJob(ctx context.Context, c *cluster.Cluster, a *fleet.Action, bundle string, timeout time.Duration) error {
	job := jobOf(a, false)
	spec, err := json.Marshal(job.Object)
	if err != nil {
		return err
	}
	job.SetName(fmt.Sprintf("fleetc-%s-%s", a.Name, hexSum(append(spec, bundle...), 6)))
	name := job.GetNamespace() + "/" + job.GetName()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the Job %s is not complete after %s", name, timeout))
	defer cancel()
	for {
		current, err := c.Object(ctx, cluster.RefOf(job))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case current == nil:
			if _, err := c.Apply(ctx, job, cluster.Application{}); err != nil {
				return err
			}
		case !isJobOf(current, a):
			return jobNameTaken(current)
		case isComplete(current):
			return nil
		case isFinished(current):
			return &diag.Diag{Code: diag.CodeActionFailed, Msg: "Job " + name + " failed" + failureOf(current), Hint: "look at its pods; to run it again, delete it"}
		}
		if err := par.Pause(ctx, checkPoll); err != nil {
			return err
		}
	}
}

// failureOf returns the message of the condition Failed, with a leading colon.
func failureOf(job *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if text, _ := condition["message"].(string); condition["type"] == "Failed" && text != "" {
			return ": " + diag.Line(text, diag.MaxText)
		}
	}
	return ""
}
