package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// This file knows Jobs, which end and may be deleted after that by their
// ttlSecondsAfterFinished. A Job that completed is not run again because it is
// gone: its entry in the inventory has the digest of what completed.

func isJob(o *unstructured.Unstructured) bool {
	return o != nil && o.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// isComplete reports whether a Job is complete. A Job that is suspended is not,
// healthy as it is.
func isComplete(job *unstructured.Unstructured) bool { return hasCondition(job, "Complete") }

// isFinished reports whether a Job or a pod has ended, well or not.
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

// contentDigest returns a digest of the object as the bundle has it.
func (it *Item) contentDigest() string { return stateOf(it.object.Object) }

// completedBefore reports whether a Job, which does not exist or is being deleted,
// has completed since it was applied as the bundle has it.
func (p *planner) completedBefore(it *Item, was *unstructured.Unstructured) bool {
	known := p.known[it.ID]
	if known.Completed == "" || !isJob(it.object) || was != nil && !isGoing(was) {
		return false
	}
	return known.Completed == it.contentDigest() && (was == nil || known.UID == string(was.GetUID()))
}

// keepCompleted keeps what the inventory says of a Job that the plan does not
// change, and records that it is complete when the cluster says so.
func (p *planner) keepCompleted(it *Item, was *unstructured.Unstructured) {
	if !isJob(it.object) || it.hook != nil {
		return
	}
	if digest := it.contentDigest(); p.known[it.ID].Completed == digest || was != nil && isComplete(was) {
		it.completed = digest
	}
}
