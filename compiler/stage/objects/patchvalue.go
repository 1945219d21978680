package objects

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// cloneMap returns a deep copy of a map.
func cloneMap(m map[string]any) map[string]any { return fleet.Clone(m).(map[string]any) }

// maxWhole is the limit up to which a float64 represents all integers.
const maxWhole = 1 << 53

// native returns a deep copy of a value with numbers as Kubernetes' libraries
// decode them: int64 for integers, float64 for others.
func native(v any) any { return fleet.MapLeaves(v, nativeScalar) }

func nativeScalar(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= maxWhole {
			return int64(v)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			return nativeScalar(f)
		}
		return v // a text would have another meaning
	}
	return v
}

// equal reports whether two values are equal in JSON, which does not
// distinguish types of numbers.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case int64:
		if f, ok := b.(float64); ok {
			return sameNumber(a, f)
		}
	case float64:
		if i, ok := b.(int64); ok {
			return sameNumber(i, a)
		}
	}
	return reflect.DeepEqual(a, b)
}

func sameNumber(i int64, f float64) bool {
	const end = 1 << 63 // the first number that does not fit into an int64
	return f == math.Trunc(f) && f >= -end && f < end && int64(f) == i
}

// MergeJSON merges a JSON merge patch (RFC 7386) into the map into, which it changes.
func MergeJSON(into, patch map[string]any) {
	for k, v := range patch {
		inner, ok := v.(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case ok:
			original, ok := into[k].(map[string]any)
			if !ok || original == nil {
				original = map[string]any{}
				into[k] = original
			}
			MergeJSON(original, inner)
		default:
			into[k] = fleet.Clone(v)
		}
	}
}
