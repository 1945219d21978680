package objects

import (
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// mergeMap merges a checked strategic merge patch into the map have and returns
// the result; keep is false if the patch deletes the map. s is the schema of
// the map; without it, maps merge and other values are replaced.
func mergeMap(original, patch map[string]any, s *kube.Schema) (out map[string]any, keep bool, p *problem) {
	switch patch[directive] {
	case remove:
		return nil, false, nil
	case replace:
		v, _ := fresh(patch, s, false)
		return v.(map[string]any), true, nil
	}
	if stay, ok := patch[retainKeys].([]any); ok {
		maps.DeleteFunc(original, func(k string, _ any) bool { return !slices.Contains(stay, any(k)) })
	}
	for _, field := range fieldsOf(patch) {
		if p := mergeField(original, patch, field, s); p != nil {
			return nil, true, p
		}
	}
	return original, true, nil
}

// fieldsOf returns the fields of a map of a patch, sorted.
func fieldsOf(patch map[string]any) []string {
	fields := make([]string, 0, len(patch))
	for k := range patch {
		if f, ok := fieldOf(k); ok {
			fields = append(fields, f)
		}
	}
	return diag.Distinct(fields)
}

// mergeField merges a field of a patch: its value, then the order of items,
// then the values to delete.
func mergeField(original, patch map[string]any, field string, s *kube.Schema) *problem {
	sub, _ := child(s, field)
	before, _ := original[field].([]any)
	if v, ok := patch[field]; ok {
		if p := mergeValue(original, field, v, sub); p != nil {
			return p.in(field)
		}
	}
	list, isList := original[field].([]any)
	if order, ok := patch[orderOf+field].([]any); ok && isList {
		added, _ := patch[field].([]any)
		ordered, p := reorder(list, before, added, order, sub)
		if p != nil {
			return p.in(orderOf + field)
		}
		original[field], list = ordered, ordered
	}
	if drop, ok := patch[dropFrom+field].([]any); ok && isList {
		original[field] = slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			return slices.ContainsFunc(drop, func(d any) bool { return equal(d, v) })
		})
	}
	return nil
}

// mergeValue merges a value of a patch into a field of the map have.
func mergeValue(original map[string]any, field string, v any, s *kube.Schema) *problem {
	there := original[field]
	switch v := v.(type) {
	case nil:
		delete(original, field)
		return nil
	case map[string]any:
		m, ok := there.(map[string]any)
		if !ok || m == nil || s != nil && slices.Contains(s.Strategy, replace) {
			break
		}
		out, keep, p := mergeMap(m, v, s)
		if p != nil {
			return p
		}
		if original[field] = out; !keep {
			delete(original, field)
		}
		return nil
	case []any:
		if l, ok := there.([]any); ok && merges(s) {
			out, p := mergeList(l, v, s)
			original[field] = out
			return p
		}
	}
	out, keep := fresh(v, s, false)
	if original[field] = out; !keep {
		delete(original, field)
	}
	return nil
}

// fresh returns a value of a patch for a place without a value: a copy without
// directives and without nulls in maps. keep is false for a deleted value. With
// raw, nulls are kept, as in lists of custom resources.
func fresh(v any, s *kube.Schema, raw bool) (out any, keep bool) {
	switch v := v.(type) {
	case map[string]any:
		if v[directive] == remove {
			return nil, false
		}
		m := make(map[string]any, len(v))
		for k, e := range v {
			if f, ok := fieldOf(k); !ok || f != k || e == nil && !raw {
				continue
			}
			sub, _ := child(s, k)
			if e, keep := fresh(e, sub, raw); keep {
				m[k] = e
			}
		}
		return m, true
	case []any:
		l := make([]any, 0, len(v))
		for _, e := range v {
			if isMarker(e) {
				continue // a new list has nothing to replace
			}
			if e, keep := fresh(e, elem(s), raw || s == nil); keep {
				l = append(l, e)
			}
		}
		return l, true
	}
	return v, true
}

// isMarker reports whether an item is only the directive to replace its list.
func isMarker(item any) bool {
	m, ok := item.(map[string]any)
	return ok && len(m) == 1 && m[directive] == replace
}
