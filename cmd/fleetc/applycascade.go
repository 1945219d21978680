package main

import "github.com/fleetc/fleetc/compiler/deliver/apply"

// alsoDeletes says in a question how many objects that fleetc has not applied are
// deleted along with others.
func alsoDeletes(ready []*applyCluster) string {
	n := 0
	for _, c := range ready {
		n += c.Plan.Cascaded()
	}
	if n == 0 {
		return ""
	}
	return " and delete " + plural(n, "object", "objects") + " along with namespaces, CRDs and volumes"
}

// cascadeNotes says what is deleted along with an object.
func cascadeNotes(it apply.Item) []string {
	if text := it.Cascade.String(); text != "" {
		return []string{"deletes " + it.ID + ": " + text}
	}
	return nil
}

// pending returns how many objects are to be gone and are still being deleted.
func (c *applyCluster) pending() int {
	if c.Plan == nil {
		return 0
	}
	return max(c.result.Pending, c.Plan.Count(apply.Pending))
}

// pendingText says in a summary what is still being deleted; nothing when all is gone.
func (c *applyCluster) pendingText() []string {
	n := c.pending()
	if n == 0 {
		return nil
	}
	return []string{plural(n, "object is", "objects are") + " still being deleted"}
}

// An appliedCascade is what is deleted along with an object.
type appliedCascade struct {
	Count  int      `json:"count"`
	Names  []string `json:"names"`            // the first ten
	Unread []string `json:"unread,omitempty"` // kinds that could not be listed
	Volume string   `json:"volume,omitempty"` // what happens to the data of a volume
}

func cascadeJSON(c *apply.Cascade) *appliedCascade {
	if c.String() == "" {
		return nil
	}
	return &appliedCascade{c.Count(), append([]string{}, c.Names...), c.Unread, c.Volume}
}

// objects returns the objects of a plan that are not unchanged, and those of
// releases that Helm delivers which another tool manages or that delete others.
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
