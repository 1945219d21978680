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
			kind := items[0].kind()
			n := slices.IndexFunc(items, func(it *Item) bool { return it.kind() != kind })
			if n < 0 {
				n = len(items)
			}
			if err := r.applyKind(ctx, items[:n], places); err != nil {
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

// applyKind writes objects of one kind. It tells of them in their order.
func (r *runner) applyKind(ctx context.Context, items []*Item, places map[live.Ref]int) error {
	var failed atomic.Bool
	results := ordered.Map(ctx, atATime, len(items), func(ctx context.Context, i int) (*unstructured.Unstructured, error) {
		if failed.Load() {
			return nil, errNotBegun
		}
		is, err := r.apply(ctx, items[i])
		if err != nil {
			failed.Store(true)
		}
		return is, err
	})
	var faults diag.List
	i := -1
	for is, err := range results {
		i++
		it := items[i]
		switch {
		case errors.Is(err, errNotBegun):
		case err != nil:
			faults.Add(it.failed(err))
		default:
			r.applied(it, is, places)
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
