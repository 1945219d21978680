package apply

import (
	"encoding/base64"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/health"
)

// secretsOf returns the values of the Secrets among objects.
func secretsOf(objs []fleet.Object) []string {
	var out []string
	for _, o := range objs {
		out = append(out, secretTexts(o.Unstructured)...)
	}
	slices.Sort(out)
	return out
}

// secretTexts returns what an object holds when it is a Secret, as it is and in
// base64.
func secretTexts(o *unstructured.Unstructured) []string {
	if o == nil || !isSecret(o) {
		return nil
	}
	var out []string
	for _, field := range []string{"data", "stringData"} {
		values, _, _ := unstructured.NestedMap(o.Object, field)
		for _, value := range values {
			v := fmt.Sprint(value)
			out = append(out, v, base64.StdEncoding.EncodeToString([]byte(v)))
			if decoded, err := base64.StdEncoding.DecodeString(v); err == nil {
				out = append(out, string(decoded))
			}
		}
	}
	return out
}

// withoutOld returns what the cluster says of an object that is there, without
// what it holds if it is a Secret: the bundle may hold something else by now.
func withoutOld(was *unstructured.Unstructured, err error) string {
	return health.Hider(secretTexts(was))(err.Error())
}

// asStored returns an object as it is stored: a Secret's stringData is part of its
// data. What is applied as stringData is nobody's afterwards, so that it would not
// be noticed when it is gone from the bundle.
func asStored(o *unstructured.Unstructured) *unstructured.Unstructured {
	texts, ok := o.Object["stringData"].(map[string]any)
	if !ok || !isSecret(o) {
		return o
	}
	o = o.DeepCopy()
	data, _ := o.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range texts {
		data[k] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(v)))
	}
	o.Object["data"] = data
	delete(o.Object, "stringData")
	return o
}

func isSecret(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}
