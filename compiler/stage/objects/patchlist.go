package objects

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// An entry is an item of a list during a merge.
type entry struct {
	value any
	old   int // index in the list of the object, -1 for a new item
	rank  int // index in the order of the patch, -1 if it is not there
}

// mergeList merges a list of a checked patch into a list of an object. The
// items are maps with the merge key of schema s, or scalars.
func mergeList(original, patch []any, s *kube.Schema) ([]any, *problem) {
	entries := make([]entry, len(original), len(original)+len(patch))
	var hasMaps, hasOthers bool
	for i, v := range original {
		entries[i] = entry{v, i, -1}
	}
	for _, v := range slices.Concat(original, patch) {
		_, isMap := v.(map[string]any)
		hasMaps, hasOthers = hasMaps || isMap, hasOthers || !isMap
	}
	switch {
	case hasMaps && hasOthers:
		return nil, &problem{msg: "cannot be merged: the items of the object and of the patch have different types"}
	case hasMaps && s.MergeKey == "":
		return nil, &problem{msg: "cannot be merged: the list has no merge key"}
	case hasMaps:
		return mergeItems(entries, patch, s)
	}
	for i, v := range patch {
		switch at := slices.IndexFunc(entries, func(e entry) bool { return equal(e.value, v) }); {
		case at < 0:
			entries = append(entries, entry{fleet.Clone(v), -1, i})
		case entries[at].rank < 0:
			entries[at].rank = i
		}
	}
	return weave(entries), nil
}

// mergeItems merges maps by their merge key.
func mergeItems(entries []entry, patch []any, s *kube.Schema) ([]any, *problem) {
	for _, v := range patch {
		item, _ := v.(map[string]any)
		if item[directive] == remove {
			entries = slices.DeleteFunc(entries, func(e entry) bool { return hasValue(e.value, s.MergeKey, item[s.MergeKey]) })
		}
	}
	if slices.ContainsFunc(patch, isMarker) {
		entries = nil
	}
	for i, v := range patch {
		item, _ := v.(map[string]any)
		if item[directive] == remove || isMarker(v) {
			continue
		}
		if item[s.MergeKey] == nil {
			return nil, (&problem{msg: "has no " + s.MergeKey + ", the merge key of the list", hint: "set it"}).in(strconv.Itoa(i))
		}
		at := find(entries, item, s)
		if at < 0 {
			out, _ := fresh(item, s.Elem, false)
			entries = append(entries, entry{out, -1, i})
			continue
		}
		e := &entries[at]
		original, _ := e.value.(map[string]any)
		out, _, p := mergeMap(original, item, s.Elem)
		if p != nil {
			return nil, p.in(strconv.Itoa(i))
		}
		if e.value = out; e.rank < 0 {
			e.rank = i
		}
	}
	return weave(entries), nil
}

// find returns the index of the entry that an item of a patch merges into, or
// -1. Kubernetes uses the first item with the same merge key; if there are
// several, such as a port for TCP and UDP, the other keys of the list decide.
func find(entries []entry, item map[string]any, s *kube.Schema) int {
	fits := func(e entry) bool { return hasValue(e.value, s.MergeKey, item[s.MergeKey]) }
	exact := slices.IndexFunc(entries, func(e entry) bool { return fits(e) && sameKeys(e.value.(map[string]any), item, s) })
	if exact >= 0 {
		return exact
	}
	return slices.IndexFunc(entries, fits)
}

// sameKeys reports whether two items are equal in all keys of their list.
func sameKeys(a, b map[string]any, s *kube.Schema) bool {
	return !slices.ContainsFunc(s.ListKeys, func(key string) bool {
		return !equal(keyOf(a, key, s), keyOf(b, key, s))
	})
}

// keyOf returns the value of a key of an item, or its default.
func keyOf(item map[string]any, key string, s *kube.Schema) any {
	v := item[key]
	if f, _ := child(s.Elem, key); v == nil && f != nil {
		return f.Default
	}
	return v
}

// weave sorts the entries of a merged list: those with a rank by rank, the
// others by their old position, and both together by old position as far as
// possible.
func weave(entries []entry) []any {
	var ranked, rest []entry
	for _, e := range entries {
		if e.rank >= 0 {
			ranked = append(ranked, e)
		} else {
			rest = append(rest, e)
		}
	}
	slices.SortStableFunc(ranked, func(a, b entry) int { return cmp.Compare(a.rank, b.rank) })
	slices.SortStableFunc(rest, func(a, b entry) int { return cmp.Compare(a.old, b.old) })
	out := make([]any, 0, len(entries))
	for len(ranked) > 0 || len(rest) > 0 {
		if len(ranked) == 0 || len(rest) > 0 && 0 <= rest[0].old && rest[0].old < ranked[0].old {
			out, rest = append(out, rest[0].value), rest[1:]
			continue
		}
		out, ranked = append(out, ranked[0].value), ranked[1:]
	}
	return out
}

// reorder sorts a merged list in the order of a patch. before is the list of
// the object, added that of the patch; order must contain all items of added in
// the same order.
func reorder(list, before, added, order []any, s *kube.Schema) ([]any, *problem) {
	key := ""
	if merges(s) {
		key = s.MergeKey
	}
	same := func(a, b any) bool {
		m, isMap := a.(map[string]any)
		n, ok := b.(map[string]any)
		if key == "" || !isMap || !ok {
			return equal(a, b)
		}
		return m[key] != nil && equal(m[key], n[key])
	}
	index := func(in []any, v any) int {
		return slices.IndexFunc(in, func(o any) bool { return same(v, o) })
	}
	last := -1
	for _, v := range added {
		if m, ok := v.(map[string]any); ok && m[directive] != nil && m[directive] != merge {
			continue
		}
		at := index(order, v)
		if at < last || at < 0 {
			return nil, &problem{msg: "does not match the order of the items in the patch", hint: "list all of them in that order"}
		}
		last = at
	}
	return weave(diag.Each(list, func(v any) entry { return entry{v, index(before, v), index(order, v)} })), nil
}
