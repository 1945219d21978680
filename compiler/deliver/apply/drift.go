package apply

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// Drift is [Target.Compare] that only reads: it sends no dry run, also if the user
// may. It lists the objects of a kind and namespace by their label, so that
// the number of requests does not depend on the number of objects. It also judges the
// health of the objects of the bundle.
func (t Target) Drift(ctx context.Context) (*Comparison, error) {
	rules, err := kube.CompileHealthRules(t.Bundle.Cluster)
	if err != nil {
		return nil, err
	}
	return t.compare(ctx, rules)
}

// objects reads objects of one kind and namespace.
func (c *comparer) objects(ctx context.Context, gvk schema.GroupVersionKind, namespace string, names []string) (map[string]*unstructured.Unstructured, error) {
	if c.rules == nil {
		return c.Live.Objects(ctx, gvk, namespace, names)
	}
	return c.Live.LabelledObjects(ctx, gvk, namespace, fleet.ReleaseLabel, names)
}

// isKnownUnchanged reports whether an object is unchanged since the last apply. This is
// more exact than a simulated apply: the fingerprint includes the changes of webhooks.
func (c *comparer) isKnownUnchanged(it *Item, current *unstructured.Unstructured) bool {
	return c.rules != nil && it.parent == nil && otherFleet(current, c.Fleet) == "" && c.isUpToDate(it, current)
}

// judge sets the health of the live objects, whose items are in the same order.
func (c *comparer) judge(live []*unstructured.Unstructured, out []ObjectDiff) {
	if c.rules == nil {
		return
	}
	objs, fields := make([]fleet.Object, 0, len(live)), c.allSecretFields()
	for i, o := range live {
		if o != nil {
			objs = append(objs, fleet.Object{Unstructured: o, Release: &fleet.Release{Name: c.items[i].Release}, SecretFields: fields[c.items[i].ID]})
		}
	}
	c.rules.AddCRDs(objs...)
	hide := kube.SecretHider(secretsOf(objs))
	for i, o := range live {
		if o != nil {
			v := c.rules.Judge(fleet.Object{Unstructured: o, Release: &fleet.Release{Name: c.items[i].Release}})
			v.Reason = c.Live.Hidden(hide(v.Reason))
			out[i].Health = v
		}
	}
}

// IsUnhealthy reports whether the live object exists and is not ready. An object
// without a conclusive status counts as ready.
func (d *ObjectDiff) IsUnhealthy() bool {
	return d.Health.State != "" && d.Health.State != kube.HealthReady && d.Health.State != kube.HealthUnknown
}

// checkRestores returns a fault when drifted objects are to be restored in a cluster that
// does not run the bundle: an apply is due, with hooks, stages and pruning.
func (t Target) checkRestores(v *Inventory) error {
	if t.Drifted == nil || v != nil && v.Bundle == t.Bundle.Digest {
		return nil
	}
	return &diag.Diag{Code: diag.CodeNotCurrent, Msg: "the cluster does not run the current bundle of the fleet, so --fix cannot restore its objects", Hint: "run fleetc apply"}
}

// leavesAsIs plans an object without reading it, if possible: one that was unchanged in
// an earlier plan, and, if the plan restores drift, one that did not drift.
func (p *planner) leavesAsIs(it *Item) bool {
	if same := p.unchanged[it.ID]; same != nil {
		*it = *same
		return true
	}
	if p.Drifted == nil || p.Drifted[it.ID] || it.hook != nil || it.IsHelm() {
		return false
	}
	known := p.recorded[it.ID]
	it.Action, it.uid, it.Preexisting, it.adopted, it.appliedState, it.completedDigest = Unchanged, known.UID, known.Preexisting, known.Adopted, known.Applied, known.Completed
	return true
}

// An Author is a field manager that has a field of a live object.
type Author struct {
	Manager     string    `json:"manager"`
	Operation   string    `json:"operation"`             // Apply or Update
	Subresource string    `json:"subresource,omitempty"` // such as scale
	Time        time.Time `json:"time,omitzero"`         // of its last write of any field of the object
}

// Authors returns the managers that have the field at a path, or a field below it, the
// last writer first. A field that does not exist has none.
func Authors(o *unstructured.Unstructured, path []fleet.Step) []Author {
	var out []Author
	for _, m := range o.GetManagedFields() {
		if !hasField(o.Object, entryFields(m), path) {
			continue
		}
		a := Author{Manager: m.Manager, Operation: string(m.Operation), Subresource: m.Subresource}
		if m.Time != nil {
			a.Time = m.Time.UTC()
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b Author) int { return b.Time.Compare(a.Time) })
	return out
}

// hasField reports whether a set has the field at a path of a value, or one below it.
func hasField(v any, set fieldSet, path []fleet.Step) bool {
	switch {
	case set == nil:
		return false
	case set.isLeaf() || len(path) == 0:
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		return path[0].Key != "" && hasField(v[path[0].Key], set["f:"+path[0].Key], path[1:])
	case []any:
		for _, element := range v {
			if path[0].Key != "" || !path[0].Matches(element) {
				continue
			}
			if in, _ := set.element(element); hasField(element, in, path[1:]) || set.hasValue(element) {
				return true
			}
		}
	}
	return false
}

// OrphanedObjects returns the objects of [FindOrphans] that are not in the bundle, and the
// kinds that could not be listed, sorted.
func (t Target) OrphanedObjects(ctx context.Context, v *Inventory) (orphans []LabelledObject, unread []string, err error) {
	orphans, unread, err = FindOrphans(ctx, t.Live, t.Fleet, t.Bundle.Cluster.ID, v)
	inBundle := map[string]bool{}
	for _, o := range slices.Concat(t.Bundle.Objects, t.Bundle.Hooks) {
		inBundle[o.ID()] = true
	}
	return slices.DeleteFunc(orphans, func(o LabelledObject) bool {
		r := t.Bundle.Cluster.Release(o.Release)
		isFlux := o.Owner != "" && r != nil && r.Delivery == fleet.ByHelm // exports have Flux's objects of these releases
		return isFlux || inBundle[o.ID] || len(t.Releases) > 0 && !slices.Contains(t.Releases, o.Release)
	}), unread, err
}

// FieldSteps parses the path of a field change. It leaves out the end of a path from
// an index on, since managed fields do not have positions of lists.
func FieldSteps(path string) []fleet.Step {
	for {
		if steps, ok := fleet.ParseSteps(path); ok {
			return steps
		}
		end := strings.LastIndexByte(path, '[')
		if end < 0 {
			return nil
		}
		path = path[:end]
	}
}
