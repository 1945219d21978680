package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A fieldSet is a set of managed fields in the format of API servers (FieldsV1):
// f:KEY leads into a map, k:{FIELDS} to the list element with these key fields,
// v:VALUE to an element that is a value; "." is the map or element itself. An empty
// set stands for a whole value.
type fieldSet map[string]fieldSet

// fieldsWhere returns the fields that the wanted managers have together.
func fieldsWhere(o *unstructured.Unstructured, wanted func(metav1.ManagedFieldsEntry) bool) fieldSet {
	var all fieldSet
	for _, m := range o.GetManagedFields() {
		if wanted(m) {
			all = union(all, entryFields(m))
		}
	}
	return all
}

// entryFields returns the fields of an entry, nil for none.
func entryFields(m metav1.ManagedFieldsEntry) fieldSet {
	var out fieldSet
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &out) != nil {
		return nil // an API server checks what it stores
	}
	return out
}

// union returns the fields of both sets.
func union(a, b fieldSet) fieldSet {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := maps.Clone(a)
	for k, v := range b {
		if inA, ok := out[k]; ok {
			v = union(inA, v)
		}
		out[k] = v
	}
	// One set has the whole value, the other parts of it.
	if len(a) == 0 != (len(b) == 0) {
		out["."] = fieldSet{}
	}
	return out
}

// isLeaf reports whether the set stands for a whole value.
func (s fieldSet) isLeaf() bool { return s != nil && len(s) == 0 }

// mapped returns the set with f applied to the set of each key, without those for which f
// returns nil; nil when none is left.
func (s fieldSet) mapped(f func(key string, in fieldSet) fieldSet) fieldSet {
	var out fieldSet
	for key, in := range s {
		if in = f(key, in); in != nil {
			if out == nil {
				out = fieldSet{}
			}
			out[key] = in
		}
	}
	return out
}

// keysOf returns the fields that identify the list element of a key of a fieldSet, nil for
// other keys.
func keysOf(key string) map[string]any {
	text, isElement := strings.CutPrefix(key, "k:")
	var keys map[string]any
	if !isElement || json.Unmarshal([]byte(text), &keys) != nil {
		return nil
	}
	return keys
}

// element returns the set of a list element and the keys that identify it, nil when
// the set does not have the element.
func (s fieldSet) element(v any) (set fieldSet, keys []string) {
	m, isMap := v.(map[string]any)
	for key, set := range s {
		want := keysOf(key)
		names := slices.Collect(maps.Keys(want))
		if isMap && want != nil && !slices.ContainsFunc(names, func(k string) bool { return fmt.Sprint(keyOf(m, k)) != fmt.Sprint(want[k]) }) {
			return set, names
		}
	}
	return nil, nil
}

// keyOf returns a key field of a list element. Among Kubernetes' own kinds, only
// the protocol of a port has a default.
func keyOf(element map[string]any, key string) any {
	if v, ok := element[key]; ok || key != "protocol" {
		return v
	}
	return "TCP"
}

// hasValue reports whether the set has a list element that is a plain value.
func (s fieldSet) hasValue(v any) bool {
	text, err := json.Marshal(v)
	_, ok := s["v:"+string(text)]
	return err == nil && ok
}

// removeFields returns a value without the fields of the set, and whether anything
// is left. The value is not modified.
func removeFields(v any, remove fieldSet) (any, bool) {
	if remove == nil {
		return v, true
	}
	if remove.isLeaf() {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, field := range v {
			if kept, some := removeFields(field, remove["f:"+k]); some {
				out[k] = kept
			}
		}
		return out, len(out) > 0 || len(v) == 0
	case []any:
		out := make([]any, 0, len(v))
		for _, element := range v {
			if kept, some := removeElementFields(element, remove); some {
				out = append(out, kept)
			}
		}
		return out, len(out) > 0 || len(v) == 0
	}
	return nil, false
}

// removeElementFields is removeFields for a list element. It keeps the key fields
// as long as other fields are left.
func removeElementFields(v any, remove fieldSet) (any, bool) {
	set, keys := remove.element(v)
	if set == nil {
		return v, !remove.hasValue(v)
	}
	m, _ := v.(map[string]any)
	kept, _ := removeFields(v, set)
	rest, _ := kept.(map[string]any)
	if rest == nil || !slices.ContainsFunc(slices.Collect(maps.Keys(rest)), func(k string) bool { return !slices.Contains(keys, k) }) {
		return nil, false
	}
	rest = maps.Clone(rest)
	for _, k := range keys {
		if v, ok := m[k]; ok {
			rest[k] = v
		}
	}
	return rest, true
}

// removeFieldsAt is removeFields limited to a path.
func removeFieldsAt(v any, path []fleet.Step, remove fieldSet) (any, bool) {
	switch {
	case remove == nil || remove.isLeaf() && len(path) > 0:
		return v, true
	case len(path) == 0:
		return removeFields(v, remove)
	}
	out, _ := replaceStep(v, path[0], func(child any) (any, bool) {
		if path[0].Key == "" && len(path) == 1 {
			return removeElementFields(child, remove)
		}
		return removeFieldsAt(child, path[1:], remove.below(path[0], child))
	})
	return out, true
}

// below returns the set of the fields of a child that a step selects.
func (s fieldSet) below(step fleet.Step, child any) fieldSet {
	if step.Key != "" {
		return s["f:"+step.Key]
	}
	set, _ := s.element(child)
	return set
}

// replaceStep returns a value in which replace has replaced the children that a step
// selects, without those for which it returns false, and whether any child is left. It
// returns other values as they are. The value is not modified.
func replaceStep(v any, step fleet.Step, replace func(child any) (any, bool)) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		field, ok := v[step.Key]
		if !ok || step.Key == "" {
			return v, true
		}
		out := maps.Clone(v)
		if kept, some := replace(field); some {
			out[step.Key] = kept
		} else {
			delete(out, step.Key)
		}
		return out, len(out) > 0
	case []any:
		if step.Key != "" {
			return v, true
		}
		out := make([]any, 0, len(v))
		for _, element := range v {
			some := true
			if step.Matches(element) {
				element, some = replace(element)
			}
			if some {
				out = append(out, element)
			}
		}
		return out, len(out) > 0
	}
	return v, true
}

// keepFields returns only the fields of the set of a value, nil when there are
// none.
func keepFields(v any, keep fieldSet) any {
	if keep == nil || keep.isLeaf() {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, field := range v {
			if set, ok := keep["f:"+k]; ok {
				out[k] = keepFields(field, set)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range v {
			if set, _ := keep.element(element); set != nil {
				out = append(out, keepFields(element, set))
			} else if keep.hasValue(element) {
				out = append(out, element)
			}
		}
		return out
	}
	return v
}

// isOwn reports whether fleetc is the manager.
func isOwn(m metav1.ManagedFieldsEntry) bool { return m.Manager == cluster.Manager }

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
