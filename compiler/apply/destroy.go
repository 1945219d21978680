package apply

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// This file destroys: the target is an empty bundle, so that all that the inventory
// has, or all of some releases, is pruned.

// EmptyBundle returns a bundle without objects for a cluster with the inventory. It
// has the stages of the inventory, in order, when only some releases are destroyed.
func (v *Inventory) EmptyBundle(of *fleet.Cluster, whole bool) *fleet.Bundle {
	c := *of
	c.Stages, c.Releases, c.Actions = nil, nil, nil
	if v != nil && !whole {
		for _, e := range v.Objects {
			if !e.Kept && !slices.Contains(c.Stages, e.Stage) {
				c.Stages = append(c.Stages, e.Stage)
			}
		}
		for _, stage := range slices.Sorted(maps.Keys(v.Stages)) {
			if !slices.Contains(c.Stages, stage) {
				c.Stages = append(c.Stages, stage)
			}
		}
	}
	return &fleet.Bundle{Cluster: &c}
}

// CheckReleases returns a fault for each name that is not a release of the inventory.
func (v *Inventory) CheckReleases(names []string) error {
	var known []string
	if v != nil {
		for _, e := range v.Objects {
			known = append(known, e.Release)
		}
		for name := range v.Releases {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var faults diag.List
	for _, name := range names {
		if !slices.Contains(known, name) {
			faults.Add(&diag.Diag{Msg: "fleetc has not applied a release " + quote(name) + " to the cluster", Hint: diag.OneOf(name, known)})
		}
	}
	return faults.Err()
}

// Destroyed reports whether a cluster was destroyed: the inventory has nothing but
// objects that were kept.
func (v *Inventory) Destroyed() bool {
	return v.Bundle == "" && len(v.History) == 0 && !slices.ContainsFunc(v.Objects, func(e Entry) bool { return !e.Kept })
}

// destroyLimit is how many objects that fleetc has not applied may be deleted along
// with those that are destroyed.
const destroyLimit = 10

// destroying completes a plan that destroys.
func (p *planner) destroying(plan *Plan) {
	plan.Destroys, plan.Partial = p.Destroy, !p.whole()
	if !p.Destroy {
		return
	}
	if p.PruneLimit == 0 {
		plan.Limit = plan.pruned() - plan.Cascaded() + destroyLimit
	}
	for _, name := range p.Options.Releases {
		delete(plan.settled.Releases, name)
	}
	plan.removesRecord = p.whole() && len(plan.settled.Objects) == 0 && p.inventory.version != ""
}

var systemNamespace = live.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: Namespace}

// waitRemoved waits for the namespace of fleetc when an earlier run has deleted it,
// and reports whether it had.
func (r *runner) waitRemoved(ctx context.Context) (bool, error) {
	if !r.Destroy {
		return false, nil
	}
	ns, err := r.Live.Object(ctx, systemNamespace)
	if err != nil || !isGoing(ns) {
		return false, err
	}
	return true, r.waitGone(ctx, &Item{ID: idOf(systemNamespace), ref: systemNamespace, uid: string(ns.GetUID())})
}

// settleDestroyed stores the record of a cluster that was destroyed, which has
// nothing but what was kept, and removes it when nothing was. The inventory goes
// last: a run that is killed before is finished by the next one.
func (r *runner) settleDestroyed(ctx context.Context) error {
	r.record.History = nil
	if err := r.save(ctx); err != nil {
		return err
	}
	if err := r.record.sweep(ctx, r.Live, r.lease.Check); err != nil || len(r.record.Objects) > 0 {
		return err
	}
	ns, err := r.Live.Object(ctx, systemNamespace)
	if err != nil {
		return err
	}
	why, err := r.whyNamespaceStays(ctx, ns)
	if err != nil {
		return err
	}
	if why == "" {
		it := &Item{ID: idOf(systemNamespace), ref: systemNamespace, uid: string(ns.GetUID())}
		err := r.Live.Delete(ctx, it.ref, it.uid)
		if err == nil {
			return r.waitGone(ctx, it)
		}
		if live.ReasonOf(err) != live.Forbidden {
			return err
		}
		why = "the user may not delete it"
	}
	r.tell(Event{ID: idOf(systemNamespace), What: "keep", Text: why})
	head, err := r.Live.Object(ctx, headRef(r.Fleet))
	if err != nil || head == nil {
		return err
	}
	if err := r.Live.Delete(ctx, headRef(r.Fleet), string(head.GetUID())); err != nil {
		return err
	}
	return r.removeLease(ctx)
}

var leaseRef = live.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, Namespace: Namespace, Name: leaseName}

// removeLease deletes the lease, which the run holds. One that the user may not
// delete is given back instead.
func (r *runner) removeLease(ctx context.Context) error {
	lease, err := r.Live.Object(ctx, leaseRef)
	if err == nil && lease != nil {
		err = r.Live.Delete(ctx, leaseRef, string(lease.GetUID()))
	}
	if live.ReasonOf(err) == live.Forbidden {
		return nil
	}
	return err
}

// whyNamespaceStays says why the namespace of fleetc is not deleted, empty when it
// is: others have created it, or it has more than the inventory and the lease.
func (r *runner) whyNamespaceStays(ctx context.Context, ns *unstructured.Unstructured) (string, error) {
	if ns == nil {
		return "it is not there", nil
	}
	for _, m := range ns.GetManagedFields() {
		if m.Manager != live.Manager && m.Subresource == "" {
			return diag.Visible(m.Manager, diag.MaxText) + " made it", nil
		}
	}
	c := newCascader(r.Live, nil)
	for _, ref := range []live.Ref{headRef(r.Fleet), leaseRef} {
		o, err := r.Live.Object(ctx, ref)
		if err != nil {
			return "", err
		}
		if o != nil {
			c.pruned[string(o.GetUID())] = true
		}
	}
	held, err := c.ofNamespace(ctx, &Item{ref: systemNamespace})
	switch {
	case err != nil:
		return "", err
	case held.Count() > 0:
		return "it has " + firstOf(held.Names, held.Count()), nil
	case len(held.Unread) > 0:
		return "the user may not list all that is in it", nil
	}
	return "", nil
}
