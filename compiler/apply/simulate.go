package apply

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/live"
	"github.com/fleetc/fleetc/compiler/predict"
)

// This file simulates applies, for objects that the API server does not try.

// An asked has answers, each of which is asked for once. The zero value is ready
// for use.
type asked[K comparable, V any] struct {
	mu      sync.Mutex
	answers map[K]func() (V, error)
}

func (a *asked[K, V]) get(key K, ask func() (V, error)) (V, error) {
	a.mu.Lock()
	if a.answers == nil {
		a.answers = map[K]func() (V, error){}
	}
	if a.answers[key] == nil {
		a.answers[key] = sync.OnceValues(ask)
	}
	answer := a.answers[key]
	a.mu.Unlock()
	return answer()
}

// A simulated is the result of a simulated apply.
type simulated struct {
	before, after *unstructured.Unstructured
	conflicts     []live.Field // with managers from whom the object is not adopted, and of fields that the release does not take
	doubt         string       // why the result may be less exact; starts with a comma, or is empty
}

// simulate computes the object after an apply, from the object in the cluster, its
// managed fields and the schemas of the cluster.
func (p *planner) simulate(ctx context.Context, it *Item, now *unstructured.Unstructured) (simulated, error) {
	gv := it.ref.GroupVersion()
	schemas, err := p.schemas.get(gv, func() (*predict.Schemas, error) {
		document, err := p.Live.OpenAPI(ctx, gv)
		return predict.Read(document), err
	})
	if err != nil {
		return simulated{}, err
	}
	var s simulated
	if !schemas.Has(it.ref.GroupVersionKind) {
		s.doubt = ", and the cluster has no schema of them"
		schemas = predict.Read(nil)
	}
	if now.GroupVersionKind() != it.ref.GroupVersionKind {
		now = now.DeepCopy()
		now.SetGroupVersionKind(it.ref.GroupVersionKind)
	}
	s.before = now
	object := it.leaving(now)
	after, conflicts, err := schemas.Apply(now, object)
	if err != nil {
		s.doubt += ", and they do not fit the schema that the cluster has"
		after, conflicts, err = predict.Read(nil).Apply(now, object)
	}
	if err != nil {
		return s, err
	}
	s.after = after
	former := it.former(now)
	if len(former) > 0 {
		s.after = &unstructured.Unstructured{Object: it.adopted(now, after)}
	}
	s.conflicts = slices.DeleteFunc(conflicts, func(f live.Field) bool {
		return slices.Contains(former, f.Manager) || p.Force.takes(it, f.Manager) || it.takes([]live.Field{f})
	})
	return s, nil
}

// untriedChange decides about a change that the API server did not try: its
// fields are those of a simulated apply.
func (p *planner) untriedChange(ctx context.Context, it *Item, now *unstructured.Unstructured) error {
	s, err := p.simulate(ctx, it, now)
	if err != nil {
		return err
	}
	it.Before, it.After = s.before, s.after
	if len(s.conflicts) > 0 && !it.Forced {
		it.Action, it.Fields = Conflict, s.conflicts
		it.Hint = it.conflictHint()
	}
	return nil
}
