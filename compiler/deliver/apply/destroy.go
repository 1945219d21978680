package apply

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file implements destroy: an apply of an empty bundle, which prunes
// everything in the inventory, or all objects of some releases.

// EmptyBundle returns a bundle without objects. When only some releases are
// destroyed, it has the stages of the inventory, in order.
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

// CheckReleases returns a fault for each name that is not a release of the
// inventory.
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
	known = diag.Distinct(known)
	var faults diag.List
	for _, name := range names {
		if !slices.Contains(known, name) {
			faults.Add(&diag.Diag{
				Code: diag.CodeNoMatch,
				Msg:  "fleetc has not applied a release " + quote(name) + " to the cluster",
				Hint: cmp.Or(diag.OneOf(name, known), "see all releases with fleetc destroy CLUSTER --dry-run"),
			})
		}
	}
	return faults.Err()
}

// Destroyed reports whether the cluster was destroyed: only kept objects are in the
// inventory.
func (v *Inventory) Destroyed() bool {
	return v.Bundle == "" && len(v.History) == 0 && !slices.ContainsFunc(v.Objects, func(e Entry) bool { return !e.Kept })
}

// destroyLimit is how many objects outside the inventory a destroy may delete in
// cascades.
const destroyLimit = 10

// completeDestroy sets the fields of a plan that destroys.
func (p *planner) completeDestroy(plan *Plan) {
	plan.Destroys, plan.Partial = p.Destroy, !p.whole()
	if !p.Destroy {
		return
	}
	if p.PruneLimit == nil {
		plan.PruneLimit = plan.pruned() - plan.Cascaded() + destroyLimit
	}
	for _, name := range p.Options.Releases {
		delete(plan.next.Releases, name)
	}
	plan.removesRecord = p.whole() && len(plan.next.Objects) == 0 && p.inventory.version != ""
}

var systemNamespace = cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: Namespace}

// waitNamespaceDeleted waits for fleetc's namespace to disappear if an earlier run
// has deleted it, and reports whether one had.
func (r *runner) waitNamespaceDeleted(ctx context.Context) (bool, error) {
	if !r.Destroy {
		return false, nil
	}
	ns, err := r.Live.Object(ctx, systemNamespace)
	if err != nil || !isBeingDeleted(ns) {
		return false, err
	}
	return true, r.waitDeleted(ctx, &Item{ID: idOf(systemNamespace), ref: systemNamespace, uid: string(ns.GetUID())})
}

// recordDestroyed stores the inventory of a destroyed cluster, which lists only
// kept objects, and removes it when there are none. The inventory is removed last,
// so that the next run can finish a killed one.
func (r *runner) recordDestroyed(ctx context.Context) error {
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
			return r.waitDeleted(ctx, it)
		}
		if cluster.ReasonOf(err) != cluster.Forbidden {
			return err
		}
		why = "the user is not allowed to delete it"
	}
	r.report(Event{ID: idOf(systemNamespace), What: "keep", Text: why})
	head, err := r.Live.Object(ctx, headRef(r.Fleet))
	if err != nil || head == nil {
		return err
	}
	if err := r.Live.Delete(ctx, headRef(r.Fleet), string(head.GetUID())); err != nil {
		return err
	}
	return r.removeLease(ctx)
}

var leaseRef = cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, Namespace: Namespace, Name: leaseName}

// removeLease deletes the lease that the run holds. A user without the right to
// delete it releases it instead.
func (r *runner) removeLease(ctx context.Context) error {
	lease, err := r.Live.Object(ctx, leaseRef)
	if err == nil && lease != nil {
		err = r.Live.Delete(ctx, leaseRef, string(lease.GetUID()))
	}
	if cluster.ReasonOf(err) == cluster.Forbidden {
		return nil
	}
	return err
}

// whyNamespaceStays returns the reason to keep fleetc's namespace, empty when it
// can be deleted: others have created it, or it holds more than the inventory,
// the lease, and approvals of waves.
func (r *runner) whyNamespaceStays(ctx context.Context, ns *unstructured.Unstructured) (string, error) {
	if ns == nil {
		return "it does not exist", nil
	}
	if creator := otherCreator(ns); creator != "" {
		return creator + " created it", nil
	}
	c := newCascader(r.Live, nil)
	for _, ref := range []cluster.Ref{headRef(r.Fleet), leaseRef, RolloutRef(r.Fleet)} {
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
		return "the user is not allowed to list everything in it", nil
	}
	return "", nil
}
