package kube

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FieldBefore returns the path that a field of an object had before a change, which may have
// moved the elements of lists. The index of an element that the change added is "-".
func FieldBefore(before, after any, field []string) []string {
	out, name := slices.Clone(field), ""
	for n, key := range field {
		old, _ := before.([]any)
		list, _ := after.([]any)
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(list) {
			out[n] = "-"
			if j := indexBefore(name, old, list, i); j >= 0 {
				out[n] = strconv.Itoa(j)
			}
		}
		before, _ = fleet.Lookup(before, out[n:n+1])
		after, _ = fleet.Lookup(after, field[n:n+1])
		name = key
	}
	return out
}

// indexBefore returns the index that the element i of a list in a field had before a change:
// that of the same element, or i if the change replaced the element there; -1 for an added
// element. Elements are the same if their keys are, or without keys, if they are equal.
func indexBefore(field string, old, list []any, i int) int {
	same := func(j, i int) bool { return reflect.DeepEqual(old[j], list[i]) }
	if olds, news, ok := ListSelectors(field, old, list, keyText); ok {
		same = func(j, i int) bool { return olds[j] == news[i] }
	}
	if i < len(old) && same(i, i) {
		return i
	}
	for j := range old {
		if same(j, i) {
			return j
		}
	}
	for k := range list {
		if i >= len(old) || same(i, k) {
			return -1
		}
	}
	return i
}

// keyText returns the text of a value that can be a key.
func keyText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v), true
	case bool, int64, float64, json.Number:
		return fmt.Sprint(v), true
	}
	return "", false
}
