package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// A fieldSet is which fields of a value somebody has, as API servers write it
// (FieldsV1): f:KEY leads into a map, k:{FIELDS} to the element of a list with
// these fields, v:VALUE to an element that is a value; "." says that the map or
// element is had itself. An empty set is a value that is had as a whole.
type fieldSet map[string]fieldSet

// fieldsWhere returns which fields of an object those managers have together that
// are wanted.
func fieldsWhere(o *unstructured.Unstructured, wanted func(metav1.ManagedFieldsEntry) bool) fieldSet {
	var all fieldSet
	for _, m := range o.GetManagedFields() {
		if !wanted(m) || m.FieldsV1 == nil {
			continue
		}
		var one fieldSet
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &one) == nil { // an API server checks what it stores
			all = union(all, one)
		}
	}
	return all
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
		if has, ok := out[k]; ok {
			v = union(has, v)
		}
		out[k] = v
	}
	// What one has as a whole, and the other in parts.
	if len(a) == 0 != (len(b) == 0) {
		out["."] = fieldSet{}
	}
	return out
}

// whole reports whether a value is had as a whole.
func (s fieldSet) whole() bool { return s != nil && len(s) == 0 }

// element returns the set of an element of a list and the keys that name it,
// nil when nobody has it.
func (s fieldSet) element(v any) (set fieldSet, keys []string) {
	for name, set := range s {
		text, isKey := strings.CutPrefix(name, "k:")
		var want map[string]any
		if !isKey || json.Unmarshal([]byte(text), &want) != nil {
			continue
		}
		m, _ := v.(map[string]any)
		names := slices.Collect(maps.Keys(want))
		if m != nil && !slices.ContainsFunc(names, func(k string) bool { return fmt.Sprint(keyOf(m, k)) != fmt.Sprint(want[k]) }) {
			return set, names
		}
	}
	return nil, nil
}

// keyOf returns a field that names an element of a list. Of those of Kubernetes'
// own kinds, the protocol of a port alone has a default.
func keyOf(element map[string]any, key string) any {
	if v, ok := element[key]; ok || key != "protocol" {
		return v
	}
	return "TCP"
}

// hasValue reports whether somebody has an element of a list that is a value.
func (s fieldSet) hasValue(v any) bool {
	text, err := json.Marshal(v)
	_, ok := s["v:"+string(text)]
	return err == nil && ok
}

// without returns a value without what is in the set, and whether anything is
// left. The value is not modified.
func without(v any, had fieldSet) (any, bool) {
	if had == nil {
		return v, true
	}
	if had.whole() {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, field := range v {
			if kept, some := without(field, had["f:"+k]); some {
				out[k] = kept
			}
		}
		return out, len(out) > 0 || len(v) == 0
	case []any:
		out := make([]any, 0, len(v))
		for _, element := range v {
			if kept, some := withoutElement(element, had); some {
				out = append(out, kept)
			}
		}
		return out, len(out) > 0 || len(v) == 0
	}
	return nil, false
}

// withoutElement is without for an element of a list, of which the keys stay as
// long as anything else does.
func withoutElement(v any, had fieldSet) (any, bool) {
	set, keys := had.element(v)
	if set == nil {
		return v, !had.hasValue(v)
	}
	m, _ := v.(map[string]any)
	kept, _ := without(v, set)
	left, _ := kept.(map[string]any)
	if left == nil || !slices.ContainsFunc(slices.Collect(maps.Keys(left)), func(k string) bool { return !slices.Contains(keys, k) }) {
		return nil, false
	}
	left = maps.Clone(left)
	for _, k := range keys {
		if v, ok := m[k]; ok {
			left[k] = v
		}
	}
	return left, true
}

// withoutAt is without for what a path leads to alone.
func withoutAt(v any, path []fleet.Step, had fieldSet) (any, bool) {
	switch {
	case had == nil || had.whole() && len(path) > 0:
		return v, true
	case len(path) == 0:
		return without(v, had)
	}
	switch v := v.(type) {
	case map[string]any:
		field, ok := v[path[0].Key]
		if !ok || path[0].Key == "" {
			return v, true
		}
		out := maps.Clone(v)
		if kept, some := withoutAt(field, path[1:], had["f:"+path[0].Key]); some {
			out[path[0].Key] = kept
		} else {
			delete(out, path[0].Key)
		}
		return out, true
	case []any:
		if path[0].Key != "" {
			return v, true
		}
		out := make([]any, 0, len(v))
		for _, element := range v {
			if path[0].Matches(element) {
				set, _ := had.element(element)
				kept, some := element, true
				if len(path) == 1 {
					kept, some = withoutElement(element, had)
				} else {
					kept, some = withoutAt(element, path[1:], set)
				}
				if !some {
					continue
				}
				element = kept
			}
			out = append(out, element)
		}
		return out, true
	}
	return v, true
}

// only returns what of a value is in the set, nil when nothing is.
func only(v any, had fieldSet) any {
	if had == nil || had.whole() {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, field := range v {
			if set, ok := had["f:"+k]; ok {
				out[k] = only(field, set)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range v {
			if set, _ := had.element(element); set != nil {
				out = append(out, only(element, set))
			} else if had.hasValue(element) {
				out = append(out, element)
			}
		}
		return out
	}
	return v
}

// isOwn reports whether fields are fleetc's.
func isOwn(m metav1.ManagedFieldsEntry) bool { return m.Manager == live.Manager }
