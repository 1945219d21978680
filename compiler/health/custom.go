package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// custom judges an object of a kind that nothing is known of, by what most
// controllers write.
func custom(u *unstructured.Unstructured) Verdict {
	// The conditions of kstatus: they are there while something is not normal.
	if c, found := conditionOf(u, "Stalled"); found && c.is("True") {
		return Verdict{Failed, c.says()}
	}
	if c, found := conditionOf(u, "Reconciling"); found && c.is("True") {
		return Verdict{InProgress, c.says()}
	}
	for _, kind := range []string{"Ready", "Available"} {
		c, found := conditionOf(u, kind)
		switch {
		case found && c.is("True"):
			return Verdict{Ready, c.says()}
		case found:
			// Whether it ever will be is not said.
			return Verdict{InProgress, c.says()}
		}
	}
	if _, told := whole(at(u, "status", "observedGeneration")); told {
		return Verdict{Ready, "its controller has seen its last change"}
	}
	if status, _ := at(u, "status").(map[string]any); len(status) > 0 {
		return Verdict{Unknown, "its status has no condition Ready"}
	}
	return Verdict{Unknown, "nobody has written a status yet"}
}

// withoutStatus returns the kind that a CRD defines, when none of its versions
// has a status: nobody can write one.
func withoutStatus(u *unstructured.Unstructured) (gk schema.GroupKind, ok bool) {
	if u == nil || u.GroupVersionKind().GroupKind().String() != "CustomResourceDefinition.apiextensions.k8s.io" {
		return gk, false
	}
	versions, _ := at(u, "spec", "versions").([]any)
	for _, item := range versions {
		m, isMap := item.(map[string]any)
		if !isMap {
			return gk, false
		}
		v := &unstructured.Unstructured{Object: m}
		root := at(v, "schema", "openAPIV3Schema")
		open, _ := at(v, "schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields").(bool)
		if root == nil || open || at(v, "subresources", "status") != nil || at(v, "schema", "openAPIV3Schema", "properties", "status") != nil {
			return gk, false
		}
	}
	gk = schema.GroupKind{Group: text(u, "spec", "group"), Kind: text(u, "spec", "names", "kind")}
	return gk, len(versions) > 0 && gk.Kind != ""
}
