package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// withoutLeftFields returns two states of an object without the fields that the
// release leaves to others and that fleetc applies in neither state, such as the
// timestamp of a webhook. If after has no managed fields, because it comes from the
// bundle, both are returned unchanged.
func (it *Item) withoutLeftFields(before, after *unstructured.Unstructured) (b, a *unstructured.Unstructured) {
	paths := it.ownershipPaths(true)
	if before == nil || after == nil || len(paths) == 0 || ownFields(after) == nil {
		return before, after
	}
	own := union(fieldsWhere(before, isOwnApply), fieldsWhere(after, isOwnApply))
	return keepOwnFields(before, paths, own), keepOwnFields(after, paths, own)
}

// isOwnApply reports whether fleetc has applied the fields.
func isOwnApply(m metav1.ManagedFieldsEntry) bool {
	return isOwn(m) && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == ""
}

// keepOwnFields returns the object with only the own fields at the paths.
func keepOwnFields(o *unstructured.Unstructured, paths [][]fleet.Step, own fieldSet) *unstructured.Unstructured {
	v := any(o.Object)
	for _, path := range paths {
		if kept, some := keepFieldsAt(v, path, own); some {
			v = kept
		}
	}
	out, _ := v.(map[string]any)
	return &unstructured.Unstructured{Object: out}
}

// keepFieldsAt returns a value with only the fields of the set at a path and below
// it, and whether anything is left. It removes maps and lists that become empty,
// unless the set has them. The value is not modified.
func keepFieldsAt(v any, path []fleet.Step, own fieldSet) (any, bool) {
	switch {
	case own.isLeaf():
		return v, true
	case len(path) == 0:
		return keepFields(v, own), own != nil
	}
	out, some := replaceStep(v, path[0], func(child any) (any, bool) {
		return keepFieldsAt(child, path[1:], own.below(path[0], child))
	})
	return out, some || own != nil
}
