package fleet

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CRDKind is the kind of CustomResourceDefinitions.
var CRDKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// DefinedKind returns the kind that a CRD defines; its fields are empty where the CRD lacks them.
func DefinedKind(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// ServedKinds returns the kind that an object defines in each version that it serves, in the
// order of the versions; nil unless the object is a CRD.
func ServedKinds(o *unstructured.Unstructured) []schema.GroupVersionKind {
	if o == nil || o.GroupVersionKind().GroupKind() != CRDKind {
		return nil
	}
	defined := DefinedKind(o)
	versions, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "versions")
	list, _ := versions.([]any)
	var out []schema.GroupVersionKind
	for _, v := range list {
		version, _ := v.(map[string]any)
		if name, ok := version["name"].(string); ok && version["served"] == true {
			out = append(out, defined.WithVersion(name))
		}
	}
	return out
}
