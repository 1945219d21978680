package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
)

// This file decides about objects whose deletion takes longer than an apply waits.

// maxPendingText bounds the names of finalizers in a reason, in runes.
const maxPendingText = 4 * diag.MaxText

// isHeld reports whether an object is being deleted and somebody has to let go of it
// first: a controller of one of its finalizers, or the one of namespaces.
func isHeld(o *unstructured.Unstructured) bool {
	namespace := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	return isGoing(o) && (len(o.GetFinalizers()) > 0 || o.GroupVersionKind() == namespace)
}

// mayPend reports whether an apply may end before all that it deletes is gone. A
// cluster is destroyed, and the hooks for deletion end, only when it is.
func mayPend(destroys bool, items []Item) bool {
	return !destroys && !slices.ContainsFunc(items, func(it Item) bool { return it.Action == Hook && it.hook.object != nil })
}

// pend notes that fleetc has asked to delete an object, which is still there. It
// stays in the inventory.
func (it *Item) pend(reason string) {
	it.Action, it.Reason, it.Hint, it.Cascade = Pending, reason, "", nil
}

// pendAll pends what the inventory has, the bundle has no more, and an earlier apply
// has deleted without success. Nothing else is deleted while a custom resource is
// held: its operator may be among it.
func (p *planner) pendAll(gone, hooks []Item) {
	if !mayPend(p.Destroy, hooks) {
		return
	}
	var custom *Item
	for i := range gone {
		it := &gone[i]
		if it.Action != Prune || !isHeld(it.Before) {
			continue
		}
		it.pend(p.Live.Hidden(holds(it.Before)))
		if it.isCustom() {
			custom = it
		}
	}
	if custom != nil {
		holdBack(gone, custom.ID)
	}
}

// holdBack pends what is pruned after custom resources, since the one of this ID is
// still there. It returns the items.
func holdBack(items []Item, id string) []*Item {
	var out []*Item
	for i := range items {
		if it := &items[i]; it.Action == Prune && !it.isCustom() {
			it.pend("it is deleted after " + id)
			out = append(out, it)
		}
	}
	return out
}

// finishPrune waits until the items are gone, all together no longer than the time
// limit, and drops them from the record. It returns whether all are. An item that is
// not gone by then pends or, when it must not, is a fault.
func (r *runner) finishPrune(ctx context.Context, items []*Item) (all bool, err error) {
	limit, cancel := context.WithTimeoutCause(ctx, r.timeout(), errLate)
	defer cancel()
	gone := map[string]bool{}
	defer func() { r.record.remove(gone) }()
	items = slices.DeleteFunc(slices.Clone(items), func(it *Item) bool { return it.IsHelm() || it.Owner != "" })
	var held []*Item
	remains := map[*Item]*unstructured.Unstructured{}
	err = doAll(ctx, items, func(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
		return r.remains(ctx, limit, it)
	}, func(it *Item, is *unstructured.Unstructured) {
		if is == nil {
			gone[it.ID] = true
			return
		}
		held, remains[it] = append(held, it), is
	})
	if err != nil {
		return false, err
	}
	for _, it := range held {
		if !mayPend(r.Destroy, r.plan.Items) {
			return false, r.stillThere(it, remains[it])
		}
		r.result.Pruned--
		it.pend(r.hide(holds(remains[it])))
		r.tellPending(it)
	}
	return len(held) == 0, nil
}

func (r *runner) tellPending(it *Item) {
	r.tell(Event{Stage: it.Stage, ID: it.ID, What: string(Pending), Text: it.Reason})
}

// remains waits until an object is deleted. It returns the object when it is still
// there at the end of limit, which is a context made from ctx.
func (r *runner) remains(ctx, limit context.Context, it *Item) (*unstructured.Unstructured, error) {
	for {
		o, err := r.Live.Object(ctx, it.ref)
		if err != nil || o == nil || string(o.GetUID()) != it.uid {
			return nil, err
		}
		if err := pause(limit, nil); errors.Is(err, errLate) {
			return o, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// waitGone waits until an object is deleted. One that is still there after the time
// limit is a fault.
func (r *runner) waitGone(ctx context.Context, it *Item) error {
	limit, cancel := context.WithTimeoutCause(ctx, r.timeout(), errLate)
	defer cancel()
	is, err := r.remains(ctx, limit, it)
	if err != nil || is == nil {
		return err
	}
	return r.stillThere(it, is)
}

// stillThere returns the fault of an object that is not deleted in time.
func (r *runner) stillThere(it *Item, is *unstructured.Unstructured) error {
	return &diag.Diag{
		At: it.at, Path: it.ID, Msg: fmt.Sprintf("it is not gone after %s: %s", r.timeout(), r.hide(holds(is))),
		Hint: "see that who holds it runs, and apply again",
	}
}

// addPending adds the objects to an inventory that are still to be deleted, and that
// it does not have.
func (r *runner) addPending(v *Inventory) {
	has, known := v.entries(), r.record.entries()
	for _, it := range r.plan.Items {
		if _, ok := has[it.ID]; it.Action == Pending && !ok {
			v.Objects = append(v.Objects, known[it.ID])
		}
	}
}
