package apply

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// errNotStarted is the result of objects that are skipped after a failure.
var errNotStarted = errors.New("not started")

// applyAll writes objects kind by kind in the order of the bundle; objects of one
// kind are written concurrently. Webhook configurations come last: the API server
// calls their webhooks immediately, and the pods may not run yet. After a failure
// no other write starts, and all failures are returned.
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
	for _, items := range [][]*Item{writes, webhooks} {
		for len(items) > 0 {
			n := sameKindPrefix(items)
			if err := doAll(ctx, items[:n], r.apply, r.recordApplied); err != nil {
				return err
			}
			for _, it := range items[:n] {
				for _, gvk := range fleet.ServedKinds(it.object) {
					r.newKinds[gvk.GroupKind()] = it.isBase()
				}
			}
			items = items[n:]
		}
	}
	return nil
}

// sameKindPrefix returns how many of the first items have the same kind.
func sameKindPrefix(items []*Item) int {
	kind := items[0].kind()
	if n := slices.IndexFunc(items, func(it *Item) bool { return it.kind() != kind }); n >= 0 {
		return n
	}
	return len(items)
}

// doAll calls do for items concurrently, and done with each result in order. After
// a failure no other call starts, and all failures are returned.
func doAll[T any](ctx context.Context, items []*Item, do func(context.Context, *Item) (T, error), done func(*Item, T)) error {
	var failed atomic.Bool
	results := par.Map(ctx, maxConcurrent, len(items), func(ctx context.Context, i int) (out T, err error) {
		if failed.Load() {
			return out, errNotStarted
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
		case errors.Is(err, errNotStarted):
		case err != nil:
			faults.Add(it.fault(err))
		default:
			done(it, out)
		}
	}
	if len(faults) > 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return faults.Err()
}

// recordApplied records and reports a written object.
func (r *runner) recordApplied(it *Item, current *unstructured.Unstructured) {
	it.uid = string(current.GetUID())
	if isJob(current) {
		it.writtenJob = current
	}
	if e := r.record.entry(it.ref); e != nil {
		e.UID, e.Applied, e.Completed = it.uid, it.fingerprint(current), ""
	}
	switch it.Action {
	case Create:
		r.result.Created++
	case Replace:
		r.result.Replaced++
	default:
		r.result.Changed++
	}
	r.report(Event{Stage: it.Stage, ID: it.ID, What: string(it.Action)})
}

// crdTimeout is how long API servers may take to notice a changed CRD.
const crdTimeout = 20 * time.Second

// send applies an object of the bundle. It retries while the CRD of its kind is
// new.
func (r *runner) send(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
	limit, cancel := context.WithTimeoutCause(ctx, crdTimeout, errTimeout)
	defer cancel()
	for {
		current, err := r.applyOwned(ctx, it)
		switch cluster.ReasonOf(err) {
		case cluster.NotFound, cluster.Invalid, cluster.Immutable, cluster.Refused:
			if !r.newKinds[it.kind()] {
				return current, err
			}
		default:
			return current, err
		}
		if perr := par.Pause(limit, waitPoll); errors.Is(perr, errTimeout) {
			return current, err
		} else if perr != nil {
			return nil, perr
		}
		r.Live.ResetDiscovery()
	}
}

// applyOwned applies an object, respecting the ownership rules of its release. It
// reads the managers again: they may have changed since the plan.
func (r *runner) applyOwned(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
	force := false
	const tries = 3
	for try := 1; ; try++ {
		o := it.object
		if len(it.ownershipPaths(true)) > 0 && it.uid != "" {
			before, err := r.Live.Object(ctx, it.ref)
			if err != nil {
				return nil, err
			}
			o = it.objectToApply(before)
		}
		if it.uid != "" && it.hook == nil {
			o = o.DeepCopy()
			o.SetUID(types.UID(it.uid))
		}
		current, err := r.Live.Apply(ctx, o, cluster.Application{Force: force})
		fields := fieldsOf(err)
		switch {
		case cluster.ReasonOf(err) != cluster.Conflict || try == tries:
			return current, err
		case it.takes(fields), (it.Forced || it.hook != nil) && r.Force.takesAll(it, fields):
			force = true
		case !covers(slices.Concat(it.ownershipPaths(true), it.ownershipPaths(false)), fields):
			return current, err
		}
	}
}
