package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// appliedContent returns a copy of an object as server-side apply accepts it:
// without nulls and without the status.
func appliedContent(o *unstructured.Unstructured) *unstructured.Unstructured {
	object, _ := withoutNulls(o.Object).(map[string]any)
	delete(object, "status")
	return &unstructured.Unstructured{Object: object}
}

// WithStoredNulls returns a copy of an object with the empty values that the API server has
// stored for its nulls: it stores a null in the data of a ConfigMap as "".
func WithStoredNulls(o, stored *unstructured.Unstructured) *unstructured.Unstructured {
	object, _ := withStoredNulls(o.Object, stored.Object).(map[string]any)
	return &unstructured.Unstructured{Object: object}
}

func withStoredNulls(v, stored any) any {
	fields, ok := v.(map[string]any)
	if !ok {
		return v
	}
	now, _ := stored.(map[string]any)
	out := make(map[string]any, len(fields))
	for k, e := range fields {
		if out[k] = withStoredNulls(e, now[k]); e == nil && isEmpty(now[k]) {
			out[k] = now[k]
		}
	}
	return out
}

// withoutNulls returns a copy without null fields of maps.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e != nil {
				out[k] = withoutNulls(e)
			}
		}
		return out
	case []any:
		return diag.Each(v, withoutNulls)
	}
	return v
}
