package kube

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

// shrinks reports whether a claim requests less storage than before.
func shrinks(before, after map[string]any) bool {
	sizeOf := func(claim map[string]any) (resource.Quantity, bool) {
		text, ok := valueAt(claim, []string{"spec", "resources", "requests", "storage"}).(string)
		q, err := resource.ParseQuantity(text)
		return q, ok && err == nil
	}
	old, ok := sizeOf(before)
	next, ok2 := sizeOf(after)
	return ok && ok2 && next.Cmp(old) < 0
}

// changesCompletions reports whether the completions of a Job change as they may not. Those
// of an Indexed Job can change to its parallelism.
func changesCompletions(before, after map[string]any) bool {
	old, hadOld := NumberAt(before, "spec", "completions")
	next, hasNext := NumberAt(after, "spec", "completions")
	parallelism, parallel := NumberAt(after, "spec", "parallelism")
	if !hadOld && !hasNext {
		return false // the API server keeps its default
	}
	if _, ok := NumberAt(before, "spec", "parallelism"); !ok && !hadOld {
		old, hadOld = 1, true
	}
	if !parallel {
		parallelism = 1
		if !hasNext {
			next, hasNext = 1, true
		}
	}
	if valueAt(after, []string{"spec", "completionMode"}) == "Indexed" && hasNext && next == parallelism {
		return false
	}
	return hadOld != hasNext || old != next
}

// NumberAt returns the number at a path.
func NumberAt(o any, path ...string) (n float64, ok bool) {
	switch v := valueAt(o, path).(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// podChanges returns the paths of fields of the spec of a Pod that change as they may not:
// containers can change their images, the deadline can be set and lowered, tolerations can
// be added and scheduling gates removed.
func podChanges(before, after any) []string {
	var out []string
	for _, list := range []string{"containers", "initContainers"} {
		if !reflect.DeepEqual(withoutImages(fieldOf(before, list)), withoutImages(fieldOf(after, list))) {
			out = append(out, "spec."+list)
		}
	}
	if old, ok := NumberAt(before, "activeDeadlineSeconds"); ok {
		if next, ok := NumberAt(after, "activeDeadlineSeconds"); !ok || next > old {
			out = append(out, "spec.activeDeadlineSeconds")
		}
	}
	for list, sides := range map[string][2]any{"tolerations": {before, after}, "schedulingGates": {after, before}} {
		fewer, _ := fieldOf(sides[0], list).([]any)
		more, _ := fieldOf(sides[1], list).([]any)
		if slices.ContainsFunc(fewer, func(e any) bool {
			return !slices.ContainsFunc(more, func(m any) bool { return reflect.DeepEqual(e, m) })
		}) {
			out = append(out, "spec."+list)
		}
	}
	return out
}

// withoutImages returns a copy of containers without their images.
func withoutImages(containers any) []any {
	list, _ := containers.([]any)
	var out []any
	for _, c := range list {
		fields, _ := c.(map[string]any)
		fields = maps.Clone(fields)
		delete(fields, "image")
		out = append(out, fields)
	}
	return out
}
