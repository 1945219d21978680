package apply

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// planAdoption plans the adoption of an object. after is the result of a dry run,
// which keeps the fields of former managers: a dry run cannot change the record of
// managers. planAdoption therefore computes the removed fields from that record and
// sends a patch that removes them as a second dry run.
func (p *planner) planAdoption(ctx context.Context, it *Item, before, after *unstructured.Unstructured) error {
	removed := it.removedFields(before, after)
	adopted, err := p.Live.DryRunMerge(ctx, it.ref, mergePatch(content(before), it.adoptedContent(before, after)))
	if err != nil {
		return p.dryRunRefused(ctx, it, before, err)
	}
	it.Action, it.After = Change, adopted
	it.Takeovers = takeovers(before, adopted, it.formerManagers(before), removed)
	return nil
}

// adoptedContent returns the content of an object after its adoption: after, the
// result of an apply, without the fields that only former managers have.
func (it *Item) adoptedContent(before, after *unstructured.Unstructured) map[string]any {
	out := any(content(after))
	if removed := it.removedFields(before, after); removed != nil {
		out, _ = removeFields(out, removed)
	}
	fields, _ := out.(map[string]any)
	return fields
}

// removedFields returns the fields that only former managers have, which adoption
// removes.
func (it *Item) removedFields(before, after *unstructured.Unstructured) fieldSet {
	isFormer := isOneOf(it.formerManagers(before))
	others := fieldsWhere(after, func(m metav1.ManagedFieldsEntry) bool { return !isFormer(m) })
	former := fieldsWhere(before, isFormer)
	if it.object != nil {
		others = union(others, former.presentIn(it.object.Object)) // a simulated apply does not record managers
	}
	removed := expandRemoved(difference(former, others), others)
	for _, path := range it.exemptPaths() {
		_, removed = removed.split(path)
	}
	return removed
}

// presentIn returns the fields of the set that a value has.
func (s fieldSet) presentIn(v any) fieldSet {
	switch {
	case v == nil:
		return nil
	case s.isLeaf():
		return s
	}
	return s.mapped(func(key string, in fieldSet) fieldSet {
		if key == "." {
			return in
		}
		return in.presentIn(at(v, key))
	})
}

// expandRemoved adds to removed all fields below a map or element that is itself
// removed: API defaults in it, which have no manager, are removed with it.
func expandRemoved(removed, others fieldSet) fieldSet {
	if removed.isLeaf() {
		return removed
	}
	return removed.mapped(func(key string, in fieldSet) fieldSet {
		other, ok := others[key]
		if _, itself := in["."]; itself && !ok {
			return fieldSet{}
		}
		return expandRemoved(in, other)
	})
}

// difference returns the fields of a that are not in b, nil when there are none. A
// field that b has in part is not in the result.
func difference(a, b fieldSet) fieldSet {
	switch {
	case a == nil || b == nil:
		return a
	case a.isLeaf() || b.isLeaf():
		return nil
	}
	return a.mapped(func(key string, in fieldSet) fieldSet { return difference(in, b[key]) })
}

// mergePatch returns the JSON merge patch (RFC 7386) between two maps.
func mergePatch(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for k := range before {
		if _, ok := after[k]; !ok {
			patch[k] = nil
		}
	}
	for k, v := range after {
		old, ok := before[k]
		from, isMap := old.(map[string]any)
		to, staysMap := v.(map[string]any)
		switch {
		case ok && isMap && staysMap:
			if inner := mergePatch(from, to); len(inner) > 0 {
				patch[k] = inner
			}
		case !ok || !reflect.DeepEqual(old, v):
			patch[k] = v
		}
	}
	return patch
}
