package apply

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/live"
	"github.com/fleetc/fleetc/compiler/ordered"
)

// errNotBegun is the result of objects that are not written because another one
// failed.
var errNotBegun = errors.New("not begun")

// applyAll writes the objects that the plan writes, kind by kind in the order of
// the bundle; objects of one kind are written several at a time. Webhook
// configurations come last: as soon as they exist, the API server asks webhooks
// whose pods may not run yet. When an object fails, no other is begun, and all
// that failed is returned.
func (r *runner) applyAll(ctx context.Context, items []*Item) error {
	var writes, webhooks []*Item
	for _, it := range items {
		switch {
		case !it.Action.writes():
		case it.ref.Group == "admissionregistration.k8s.io":
			webhooks = append(webhooks, it)
		default:
			writes = append(writes, it)
		}
	}
	places := r.record.places()
	for _, items := range [][]*Item{writes, webhooks} {
		for len(items) > 0 {
			n := firstOfKind(items)
			if err := doAll(ctx, items[:n], r.apply, func(it *Item, is *unstructured.Unstructured) { r.applied(it, is, places) }); err != nil {
				return err
			}
			for _, it := range items[:n] {
				for _, gvk := range defines(it.object) {
					r.fresh[gvk.GroupKind()] = it.isBase()
				}
			}
			items = items[n:]
		}
	}
	return nil
}

// firstOfKind returns how many items at the beginning are of the same kind.
func firstOfKind(items []*Item) int {
	kind := items[0].kind()
	if n := slices.IndexFunc(items, func(it *Item) bool { return it.kind() != kind }); n >= 0 {
		return n
	}
	return len(items)
}

// doAll does something about items, several at a time, and calls done with the result
// of each, in their order and one at a time. When it fails for an item, it is begun for
// no other, and the faults of all for which it failed are returned.
func doAll[T any](ctx context.Context, items []*Item, do func(context.Context, *Item) (T, error), done func(*Item, T)) error {
	var failed atomic.Bool
	results := ordered.Map(ctx, atATime, len(items), func(ctx context.Context, i int) (out T, err error) {
		if failed.Load() {
			return out, errNotBegun
		}
		if out, err = do(ctx, items[i]); err != nil {
			failed.Store(true)
		}
		return out, err
	})
	var faults diag.List
	i := -1
	for out, err := range results {
		i++
		it := items[i]
		switch {
		case errors.Is(err, errNotBegun):
		case err != nil:
			faults.Add(it.failed(err))
		default:
			done(it, out)
		}
	}
	if len(faults) > 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return faults.Err()
}

// applied records an object that was written, and tells of it.
func (r *runner) applied(it *Item, is *unstructured.Unstructured, places map[live.Ref]int) {
	it.uid = string(is.GetUID())
	if isJob(is) {
		it.written = is
	}
	if at, ok := places[it.ref]; ok {
		e := &r.record.Objects[at]
		e.UID, e.Applied, e.Completed = it.uid, it.fingerprint(is), ""
	}
	switch it.Action {
	case Create:
		r.result.Created++
	case Replace:
		r.result.Replaced++
	default:
		r.result.Changed++
	}
	r.tell(Event{Stage: it.Stage, ID: it.ID, What: string(it.Action)})
}
