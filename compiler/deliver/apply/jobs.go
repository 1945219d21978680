package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
