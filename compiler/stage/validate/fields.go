package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// maxFaults is the maximum number of reported faults of an object.
const maxFaults = 20

// A walk checks the fields of an object against their schema, like the API
// server: null counts as a missing field.
type walk struct {
	object  fleet.Object
	version *kube.Version
	path    []step
	faults  diag.List
	ordered bool // whether to visit keys in order
	quiet   bool // whether messages hide values
	status  bool // whether this is the status, of which only the types are checked
	claims  []string
}

// A step is a step of a path in an object: a field, a key of a map, or the
// index of an item.
type step struct {
	name  string
	index int // index of an item without a name
	key   bool
	item  any
}

// fields checks all fields of an object of a built-in kind. Without metadata,
// the metadata of the object is skipped.
func fields(o fleet.Object, v *kube.Version, metadata bool) diag.List {
	s := v.Schema(o.GroupVersionKind())
	if s == nil {
		return nil
	}
	w := &walk{object: o, version: v}
	w.root(s, metadata)
	if len(w.faults) <= maxFaults {
		return w.faults
	}
	// Visit keys in order, so that the reported faults are deterministic.
	w = &walk{object: o, version: v, ordered: true}
	w.root(s, metadata)
	last := w.faults[maxFaults-1]
	return append(w.faults[:maxFaults-1:maxFaults-1], &diag.Diag{
		Code: diag.CodeObjectValue,
		At:   last.At, Path: last.Path, Msg: "it has more faults (" + o.Origin() + ")", Hint: "correct these first",
	})
}

func (w *walk) root(s *kube.Schema, metadata bool) {
	m := w.object.Object
	if !metadata {
		m = maps.Clone(m)
		delete(m, "metadata")
	}
	w.value(s, m)
}

// full reports whether the maximum of faults is reached.
func (w *walk) full() bool { return len(w.faults) > maxFaults }

// value checks one value.
func (w *walk) value(s *kube.Schema, v any) {
	if v == nil || w.full() {
		return
	}
	switch s.Type {
	case kube.Any:
	case kube.Object:
		if m, ok := v.(map[string]any); ok {
			w.structure(s, m)
			return
		}
		w.wrongType("a map", v)
	case kube.List:
		if l, ok := v.([]any); ok {
			w.list(s, l)
			return
		}
		w.wrongType("a list", v)
	default:
		w.scalar(s, v)
	}
}

// structure checks an object: one with fixed fields, or a map with any keys.
func (w *walk) structure(s *kube.Schema, m map[string]any) {
	switch {
	case s.Open:
		return
	case s.Fields == nil && s.Elem != nil:
		for k, v := range w.each(m) {
			w.path = append(w.path, step{name: k, key: true})
			w.value(s.Elem, v)
			w.path = w.path[:len(w.path)-1]
		}
		return
	}
	if !w.status {
		w.required(s, m)
		w.rules(s.Name, m)
	}
	for k, v := range w.each(m) {
		f := s.Fields[k]
		if f == nil {
			w.unknownField(s, k)
			continue
		}
		w.path = append(w.path, step{name: k})
		status, quiet := w.status, w.quiet
		w.status = status || k == "status" && len(w.path) == 1
		w.quiet = quiet || s.Name == secret && (k == "data" || k == "stringData")
		w.value(f, v)
		w.status, w.quiet = status, quiet
		w.path = w.path[:len(w.path)-1]
	}
}

// each yields the members of a map.
func (w *walk) each(m map[string]any) func(yield func(string, any) bool) {
	if !w.ordered {
		return maps.All(m)
	}
	return func(yield func(string, any) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if w.full() || !yield(k, m[k]) {
				return
			}
		}
	}
}

// required checks the required fields for which the API server has no default.
func (w *walk) required(s *kube.Schema, m map[string]any) {
	if needsSpec(s, m) {
		w.add("set it", "is missing", "spec")
	}
	for _, f := range s.Required {
		v, there := m[f]
		empty := v == ""
		if l, ok := v.([]any); ok && len(l) == 0 {
			empty = true
		}
		switch {
		case takesZero(s.Name, f):
		case v == nil && there:
			w.add("set it", "is null", f)
		case v == nil:
			w.add("set it", "is missing", f)
		case empty:
			w.add("set it", "is empty", f)
		}
	}
}

// needsSpec reports whether an object without a spec lacks required fields: the
// API server reads it as an empty spec.
func needsSpec(s *kube.Schema, m map[string]any) bool {
	spec := s.Fields["spec"]
	if spec == nil || m["spec"] != nil || slices.Contains(s.Required, "spec") {
		return false
	}
	return slices.ContainsFunc(spec.Required, func(f string) bool { return !takesZero(spec.Name, f) })
}

// zeroFields are the fields by definition for which the API server accepts the zero value
// when they are missing, although the OpenAPI document requires them. The list comes from
// requests to an API server for each field.
var zeroFields = map[string][]string{
	core + "HTTPHeader": {"value"}, core + "Sysctl": {"value"}, core + "Event": {"metadata"}, core + "LimitRangeSpec": {"limits"},
	core + "ISCSIVolumeSource": {"lun"}, core + "ISCSIPersistentVolumeSource": {"lun"}, core + "PreferredSchedulingTerm": {"preference"},
	core + "SleepAction": {"seconds"}, core + "TypedLocalObjectReference": {"kind"}, batch + "PodFailurePolicy": {"rules"},
	storage + "CSIDriver": {"spec"}, storage + "CSINode": {"spec"}, storage + "CSINodeSpec": {"drivers"}, storage + "TokenRequest": {"audience"},
	meta + "GroupResource": {"group"}, extensions + "CustomResourceDefinitionVersion": {"served", "storage"},
}

// takesZero reports whether the API server accepts the zero value for a missing required field.
func takesZero(definition, field string) bool { return slices.Contains(zeroFields[definition], field) }

// unknownField reports an unknown field.
func (w *walk) unknownField(s *kube.Schema, field string) {
	const maxName = 100 // longer names are not typos
	hint := ""
	if len(field) <= maxName {
		hint = diag.OneOf(field, slices.Sorted(maps.Keys(s.Fields)))
	}
	of := s.Name[strings.LastIndexByte(s.Name, '.')+1:]
	msg := "is not a field of " + of + " in Kubernetes " + w.version.String()
	if when := kube.WhenField(s.Name, field); when != "" {
		msg += ": it is there " + when
		hint = "leave it out"
	} else if hint == "" {
		hint = "leave it out"
	}
	w.report(diag.CodeUnknownObjectField, hint, msg, false, field)
}

// list checks the items of a list, and that they are unique if the schema
// requires it.
func (w *walk) list(s *kube.Schema, l []any) {
	for i, v := range l {
		if v == nil && s.Elem.Type == kube.Object {
			v = map[string]any{} // like the API server
		}
		w.path = append(w.path, step{index: i, item: v})
		w.value(s.Elem, v)
		w.path = w.path[:len(w.path)-1]
	}
	if w.status || len(l) < 2 {
		return
	}
	seen := make(map[string]int, len(l))
	for i, v := range l {
		id, says := identify(s, v)
		if id == "" {
			continue
		}
		if first, ok := seen[id]; ok {
			w.add("leave one of them out", fmt.Sprintf("repeats %s of item %d", says(), first), i)
			continue
		}
		seen[id] = i
	}
}

// identify returns the identity of an item among the others, or an empty string
// if duplicates are allowed, and a function that describes it.
func identify(s *kube.Schema, item any) (id string, says func() string) {
	switch s.ListType {
	case kube.ListSet:
		if id, ok := scalarText(item); ok {
			return "=" + id, func() string { return "the value " + show(item) }
		}
	case kube.ListMap:
		m, ok := item.(map[string]any)
		if !ok {
			return "", nil
		}
		values := make([]any, len(s.ListKeys))
		var b strings.Builder
		for i, k := range s.ListKeys {
			values[i] = m[k]
			if f := s.Elem.Fields[k]; values[i] == nil && f != nil {
				values[i] = f.Default
			}
			text, ok := scalarText(values[i])
			if !ok {
				return "", nil // reported as missing or of a wrong type
			}
			b.WriteString(text)
			b.WriteByte(0)
		}
		return b.String(), func() string {
			var parts []string
			for i, k := range s.ListKeys {
				parts = append(parts, "the "+k+" "+show(values[i]))
			}
			return strings.Join(parts, " and ")
		}
	}
	return "", nil
}
