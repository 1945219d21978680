package main

import (
	"github.com/fleetc/fleetc/compiler/deliver/apply"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// alsoDeletes returns a part of a question: the number of objects that are
// deleted along with others and that fleetc has not applied.
func alsoDeletes(ready []*applyCluster) string {
	n := 0
	for _, c := range ready {
		n += c.Plan.Cascaded()
	}
	if n == 0 {
		return ""
	}
	return " and delete " + diag.Count(n, "object", "objects") + " along with namespaces, CRDs and volumes"
}

// cascadeNotes returns the objects that are deleted along with an object.
func cascadeNotes(it apply.Item) []string {
	if text := it.Cascade.String(); text != "" {
		return []string{"deletes " + it.ID + ": " + text}
	}
	return nil
}

// pending returns the number of objects whose deletion is not complete.
func (c *applyCluster) pending() int {
	if c.Plan == nil {
		return 0
	}
	return max(c.result.Pending, c.Plan.Count(apply.Pending))
}

// pendingText returns the summary of incomplete deletions, if there are any.
func (c *applyCluster) pendingText() []string {
	n := c.pending()
	if n == 0 {
		return nil
	}
	return []string{diag.Count(n, "object is", "objects are") + " still being deleted"}
}

// objects returns the changed objects of a plan, and objects of Helm releases
// that another tool manages or that cause other deletions.
func (c *applyCluster) objects() []appliedObject {
	out := []appliedObject{}
	for _, it := range c.Plan.Items {
		if it.Action != apply.Unchanged {
			out = append(out, objectJSON(it))
		}
		for _, part := range it.Parts {
			if part.Owner != "" || part.Cascade.String() != "" {
				out = append(out, objectJSON(part))
			}
		}
	}
	return out
}
