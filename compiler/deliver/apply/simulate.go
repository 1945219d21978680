package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file simulates applies for objects without a dry run.

// A simulation is the result of a simulated apply.
type simulation struct {
	before, after *unstructured.Unstructured
	conflicts     []cluster.Field // fields of managers that are not adopted, which the release does not take
	caveat        string          // why the result may be inexact; starts with a comma, or is empty
}

// simulate computes the object after an apply, from the live object, its managed
// fields and the schemas of the cluster.
func (p *planner) simulate(ctx context.Context, it *Item, now *unstructured.Unstructured) (simulation, error) {
	schemas, err := p.schemasOf(ctx, it.ref.GroupVersion())
	if err != nil {
		return simulation{}, err
	}
	var s simulation
	if !schemas.Has(it.ref.GroupVersionKind) {
		s.caveat = ", and the cluster has no schema for them"
		schemas = cluster.ReadSchemas(nil)
	}
	if now.GroupVersionKind() != it.ref.GroupVersionKind {
		now = now.DeepCopy()
		now.SetGroupVersionKind(it.ref.GroupVersionKind)
	}
	s.before = now
	object, former := it.objectToApply(now), it.formerManagers(now)
	if fields, some := transferFields(now.GetManagedFields(), former, it.exemptPaths()); some {
		if it.takeover.omitsEmpty {
			own := &fields[len(fields)-1]
			own.FieldsV1 = encodeFields(entryFields(*own).withEmptyValues(object.Object))
		}
		now = now.DeepCopy()
		now.SetManagedFields(fields)
	}
	after, conflicts, err := schemas.Apply(now, object)
	if err != nil {
		s.caveat += ", and they do not match the cluster's schema"
		after, conflicts, err = cluster.ReadSchemas(nil).Apply(now, object)
	}
	if err != nil {
		return s, err
	}
	s.after = after
	if len(former) > 0 {
		s.after = &unstructured.Unstructured{Object: it.adoptedContent(s.before, after)}
	}
	s.conflicts = slices.DeleteFunc(conflicts, func(f cluster.Field) bool {
		return slices.Contains(former, f.Manager) || p.Force.takes(it, f.Manager) || it.takes([]cluster.Field{f})
	})
	s.conflicts = it.withPaths(s.conflicts, s.before)
	return s, nil
}

// schemasOf returns the schemas that the cluster publishes for an API version.
func (p *planner) schemasOf(ctx context.Context, gv schema.GroupVersion) (*cluster.Schemas, error) {
	return p.schemas.Get(gv, func() (*cluster.Schemas, error) {
		document, err := p.Live.OpenAPI(ctx, gv)
		return cluster.ReadSchemas(document), err
	})
}

// untriedChange sets the states of a changed object without a dry run by a
// simulated apply.
func (p *planner) untriedChange(ctx context.Context, it *Item, now *unstructured.Unstructured) error {
	s, err := p.simulate(ctx, it, now)
	if err != nil {
		return err
	}
	it.Before, it.After = s.before, s.after
	if len(s.conflicts) > 0 && !it.Forced {
		it.Action, it.Fields = Conflict, s.conflicts
		it.Hint = p.conflictHint(it)
	}
	return nil
}
