package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// This file handles objects whose deletion takes longer than an apply waits.

// maxPendingText limits the names of finalizers in a reason, in runes.
const maxPendingText = 4 * diag.MaxText

// isHeld reports whether the deletion of an object waits for a finalizer or, of a
// namespace, for its content.
func isHeld(o *unstructured.Unstructured) bool {
	namespace := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	return isBeingDeleted(o) && (len(o.GetFinalizers()) > 0 || o.GroupVersionKind() == namespace)
}

// mayPend reports whether an apply may succeed before the deletion of objects
// completes. Destroy and deletion hooks need complete deletions.
func mayPend(destroys bool, items []Item) bool {
	return !destroys && !slices.ContainsFunc(items, func(it Item) bool { return it.Action == Hook && it.hook.object != nil })
}

// setPending marks an object as being deleted. It stays in the inventory.
func (it *Item) setPending(reason string) {
	it.Action, it.Reason, it.Hint, it.Cascade = Pending, reason, "", nil
}

// planPending marks objects that an earlier apply has deleted and that still exist.
// While a custom resource is among them, nothing else is deleted: its operator may
// be needed.
func (p *planner) planPending(removed, hooks []Item) {
	if !mayPend(p.Destroy, hooks) {
		return
	}
	var custom *Item
	for i := range removed {
		it := &removed[i]
		if it.Action != Prune || !isHeld(it.Before) {
			continue
		}
		it.setPending(p.Live.Hidden(deletionBlockers(it.Before)))
		if it.isCustom() {
			custom = it
		}
	}
	if custom != nil {
		postponePrune(removed, custom.ID)
	}
	for i := range removed {
		it := &removed[i]
		// A limit that the user sets also holds for objects that an earlier apply removed.
		it.alreadyCounted = p.recorded[it.ID].Pending && (it.Action == Pending || p.PruneLimit == nil)
	}
}

// postponePrune marks all objects that are pruned after custom resources as
// pending, since the custom resource with this ID still exists. It returns these
// items.
func postponePrune(items []Item, id string) []*Item {
	var out []*Item
	for i := range items {
		if it := &items[i]; it.Action == Prune && !it.isCustom() {
			it.setPending("it is deleted after " + id)
			it.postponed = true
			out = append(out, it)
		}
	}
	return out
}

// finishPrune waits until the items are deleted, within one time limit for all, and
// removes them from the record. It returns whether all are deleted. Other items
// become pending or, where that is not allowed, a fault.
func (r *runner) finishPrune(ctx context.Context, items []*Item) (all bool, err error) {
	limit, cancel := context.WithTimeoutCause(ctx, r.timeout(), errTimeout)
	defer cancel()
	removed := map[string]bool{}
	defer func() { r.record.remove(removed) }()
	items = slices.DeleteFunc(slices.Clone(items), func(it *Item) bool { return it.IsHelm() || it.Action == Keep })
	var held []*Item
	remains := map[*Item]*unstructured.Unstructured{}
	err = doAll(ctx, items, func(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
		return r.pollDeleted(ctx, limit, it)
	}, func(it *Item, current *unstructured.Unstructured) {
		if current == nil {
			removed[it.ID] = true
			return
		}
		held, remains[it] = append(held, it), current
	})
	if err != nil {
		return false, err
	}
	r.result.Pruned -= len(held)
	for _, it := range held {
		if !mayPend(r.Destroy, r.plan.Items) {
			return false, r.notDeletedFault(it, remains[it])
		}
		it.setPending(r.hide(deletionBlockers(remains[it])))
		r.reportPending(it)
	}
	return len(held) == 0, nil
}

func (r *runner) reportPending(it *Item) {
	r.report(Event{Stage: it.Stage, ID: it.ID, What: string(Pending), Text: it.Reason})
}

// pollDeleted waits until an object is deleted, and reports why it takes longer than a
// few polls. It returns the object if it still exists when limit, a context derived from
// ctx, ends.
func (r *runner) pollDeleted(ctx, limit context.Context, it *Item) (*unstructured.Unstructured, error) {
	const quietPolls = 4
	reported := ""
	for polls := 0; ; polls++ {
		o, err := r.Live.Object(ctx, it.ref)
		if err != nil || o == nil || string(o.GetUID()) != it.uid {
			return nil, err
		}
		if why := r.hide(deletionBlockers(o)); polls >= quietPolls && why != reported {
			reported = why
			r.report(Event{What: "wait", Text: "for the deletion of " + it.ID + ": " + why})
		}
		if err := par.Pause(limit, waitPoll); errors.Is(err, errTimeout) {
			return o, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// waitDeleted waits until an object is deleted. A timeout is a fault.
func (r *runner) waitDeleted(ctx context.Context, it *Item) error {
	limit, cancel := context.WithTimeoutCause(ctx, r.timeout(), errTimeout)
	defer cancel()
	current, err := r.pollDeleted(ctx, limit, it)
	if err != nil || current == nil {
		return err
	}
	return r.notDeletedFault(it, current)
}

// notDeletedFault returns the fault of an object that is not deleted in time.
func (r *runner) notDeletedFault(it *Item, current *unstructured.Unstructured) error {
	return &diag.Diag{
		Code: diag.CodeNotReady,
		At:   it.positions, Path: it.ID, Msg: fmt.Sprintf("it is not deleted after %s: %s", r.timeout(), r.hide(deletionBlockers(current))),
		Hint: "check that the controllers of its finalizers run, then run the command again",
	}
}

// asPending marks an entry as that of a pending object.
func (e Entry) asPending() Entry {
	e.Pending = true
	return e
}

// addRemaining adds objects that the plan prunes, but that are pending or kept, to an
// inventory that does not have them.
func (r *runner) addRemaining(v *Inventory) {
	recorded, known := v.entries(), r.record.entries()
	for _, it := range r.plan.Items {
		if _, ok := recorded[it.ID]; ok || it.Action != Pending && (it.Action != Keep || it.Owner != "") {
			continue
		}
		if e, ok := known[it.ID]; ok {
			e.Pending, e.Kept = it.Action == Pending, it.Action == Keep
			v.Objects = append(v.Objects, e)
		}
	}
}
