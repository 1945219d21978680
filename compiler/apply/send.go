package apply

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetc/fleetc/compiler/live"
)

// settling is how long a CRD that was written may take until it holds for every
// API server.
const settling = 20 * time.Second

// send applies an object of the bundle. Its kind may be known only a little later
// than its CRD is stored.
func (r *runner) send(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
	late := time.After(settling)
	for {
		is, err := r.sendOwned(ctx, it)
		switch live.ReasonOf(err) {
		case live.NotFound, live.Invalid, live.Immutable, live.Refused:
			if !r.fresh[it.kind()] {
				return is, err
			}
		default:
			return is, err
		}
		if perr := pause(ctx, late); errors.Is(perr, errLate) {
			return is, err
		} else if perr != nil {
			return nil, perr
		}
		r.Live.Renew()
	}
}

// sendOwned applies an object as far as the release has its fields. Who has them
// is looked at anew: others may have become managers since the plan.
func (r *runner) sendOwned(ctx context.Context, it *Item) (*unstructured.Unstructured, error) {
	force := false
	const tries = 3
	for try := 1; ; try++ {
		o := it.object
		if len(it.owned(true)) > 0 && it.uid != "" {
			was, err := r.Live.Object(ctx, it.ref)
			if err != nil {
				return nil, err
			}
			o = it.leaving(was)
		}
		if it.uid != "" && it.hook == nil {
			o = o.DeepCopy()
			o.SetUID(types.UID(it.uid))
		}
		is, err := r.Live.Apply(ctx, o, live.Application{Force: force})
		fields := fieldsOf(err)
		switch {
		case live.ReasonOf(err) != live.Conflict || try == tries:
			return is, err
		case it.takes(fields), (it.Forced || it.hook != nil) && r.Force.takesAll(it, fields):
			force = true
		case !covers(slices.Concat(it.owned(true), it.owned(false)), fields):
			return is, err
		}
	}
}
