package apply

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

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
