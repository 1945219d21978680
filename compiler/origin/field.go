package origin

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// elementKeys are the fields that identify an element of a list, the most specific first.
var elementKeys = []string{"name", "key", "mountPath", "devicePath", "containerPort", "port", "ip", "topologyKey", "id"}

// fieldBefore returns the path that a field of an object had before a patch, which may have
// moved the elements of lists. The index of an element that the patch added is "-".
func fieldBefore(before, after any, field []string) []string {
	out := slices.Clone(field)
	for n, key := range field {
		old, _ := before.([]any)
		list, _ := after.([]any)
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(list) {
			out[n] = "-"
			if j := indexBefore(old, list, i); j >= 0 {
				out[n] = strconv.Itoa(j)
			}
		}
		before, _ = fleet.Lookup(before, out[n:n+1])
		after, _ = fleet.Lookup(after, field[n:n+1])
	}
	return out
}

// indexBefore returns the index that the element i of a list had before a patch: that of the
// same element, or i if the patch replaced the element there; -1 for an added element.
func indexBefore(old, list []any, i int) int {
	if i < len(old) && sameElement(old[i], list[i]) {
		return i
	}
	if j := slices.IndexFunc(old, func(e any) bool { return sameElement(e, list[i]) }); j >= 0 {
		return j
	}
	if i < len(old) && !slices.ContainsFunc(list, func(e any) bool { return sameElement(old[i], e) }) {
		return i
	}
	return -1
}

// sameElement reports whether two elements have the same key, or are equal without one.
func sameElement(a, b any) bool {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for _, key := range elementKeys {
		if x[key] != nil && y[key] != nil {
			return reflect.DeepEqual(x[key], y[key])
		}
	}
	return reflect.DeepEqual(a, b)
}
