package apply

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
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
	return m.Manager == cluster.Manager && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == ""
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
	switch v := v.(type) {
	case map[string]any:
		field, ok := v[path[0].Key]
		if !ok || path[0].Key == "" {
			return v, true
		}
		out := maps.Clone(v)
		if kept, some := keepFieldsAt(field, path[1:], own["f:"+path[0].Key]); some {
			out[path[0].Key] = kept
		} else {
			delete(out, path[0].Key)
		}
		return out, own != nil || len(out) > 0
	case []any:
		if path[0].Key != "" {
			return v, true
		}
		out := make([]any, 0, len(v))
		for _, element := range v {
			if path[0].Matches(element) {
				set, _ := own.element(element)
				kept, some := keepFieldsAt(element, path[1:], set)
				if !some {
					continue
				}
				element = kept
			}
			out = append(out, element)
		}
		return out, own != nil || len(out) > 0
	}
	return v, true
}
