package render

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A NondeterministicPart is a part of a release that differs between
// renderings, because the chart calls a random function or reads the clock.
type NondeterministicPart struct {
	Object int      // index in the result's objects; -1 for an object of the second rendering only
	Second int      // index in the objects of the second rendering; -1 for an object of the result only
	ID     string   // of the object, as [fleet.Object.ID] returns it
	Path   []string // keys and list indices of the field; empty for the whole object
}

// Differences returns where two renderings of a release differ, in the order
// of the first one's objects.
func Differences(first, second []fleet.Object) []NondeterministicPart {
	var out []NondeterministicPart
	pairs, added := match(first, second)
	for i, o := range first {
		if j, ok := pairs[i]; ok {
			if same(o.Object, second[j].Object) {
				continue
			}
			for _, path := range ChangedFields(nil, o.Object, second[j].Object) {
				out = append(out, NondeterministicPart{Object: i, Second: j, ID: o.ID(), Path: path})
			}
		} else {
			out = append(out, NondeterministicPart{Object: i, Second: -1, ID: o.ID()})
		}
	}
	for _, j := range added {
		out = append(out, NondeterministicPart{Object: -1, Second: j, ID: second[j].ID()})
	}
	return out
}

// same reports whether two maps are one map, which both renderings share.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// match pairs the objects of two renderings by name. Remaining objects of the
// same template and kind are paired in order if there are equally many: then
// only their names differ.
func match(first, second []fleet.Object) (pairs map[int]int, added []int) {
	type key struct{ template, kind, id string }
	named := func(o fleet.Object) key { return key{o.Template, o.GetAPIVersion(), o.ID()} }
	sort := func(o fleet.Object) key { return key{o.Template, o.GetAPIVersion(), o.GetKind()} }

	pairs = map[int]int{}
	byName := map[key][]int{}
	for j, o := range second {
		byName[named(o)] = append(byName[named(o)], j)
	}
	left := map[key][]int{}
	for i, o := range first {
		if js := byName[named(o)]; len(js) > 0 {
			pairs[i], byName[named(o)] = js[0], js[1:]
		} else {
			left[sort(o)] = append(left[sort(o)], i)
		}
	}
	right := map[key][]int{}
	for j, o := range second {
		if slices.Contains(byName[named(o)], j) {
			right[sort(o)] = append(right[sort(o)], j)
		}
	}
	for k, lefts := range left {
		if js := right[k]; len(js) == len(lefts) {
			for n, i := range lefts {
				pairs[i] = js[n]
			}
			delete(right, k)
		}
	}
	for _, js := range right {
		added = append(added, js...)
	}
	slices.Sort(added)
	return pairs, added
}

// ChangedFields returns the paths of the smallest parts in which two values at a path differ.
// A list of another length differs as a whole.
func ChangedFields(path []string, a, b any) [][]string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		var out [][]string
		for _, k := range keysOf(x, y) {
			v, ok := x[k]
			w, too := y[k]
			if ok && too {
				out = append(out, ChangedFields(append(path, k), v, w)...)
			} else {
				out = append(out, append(slices.Clone(path), k))
			}
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		var out [][]string
		for i := range x {
			out = append(out, ChangedFields(append(path, strconv.Itoa(i)), x[i], y[i])...)
		}
		return out
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return [][]string{slices.Clone(path)}
}

// keysOf returns the keys of both maps, sorted.
func keysOf(a, b map[string]any) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	return diag.Distinct(keys)
}
