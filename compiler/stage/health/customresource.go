package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// customResource judges an object of an unknown kind by common conventions for
// conditions.
func customResource(u *unstructured.Unstructured) Verdict {
	// These conditions of kstatus exist only while something is wrong.
	if c, found := conditionOf(u, "Stalled"); found && c.holds("True") {
		return Verdict{Failed, c.describe()}
	}
	if c, found := conditionOf(u, "Reconciling"); found && c.holds("True") {
		return Verdict{InProgress, c.describe()}
	}
	for _, kind := range []string{"Ready", "Available"} {
		c, found := conditionOf(u, kind)
		switch {
		case found && c.holds("True"):
			return Verdict{Ready, c.describe()}
		case found:
			// It may or may not become ready.
			return Verdict{InProgress, c.describe()}
		}
	}
	if _, known := asInt(at(u, "status", "observedGeneration")); known {
		return Verdict{Ready, "its controller has seen its last change"}
	}
	if status, _ := at(u, "status").(map[string]any); len(status) > 0 {
		return Verdict{Unknown, "its status has no condition Ready"}
	}
	return Verdict{Unknown, "it has no status yet"}
}

// statuslessKind returns the kind that a CRD defines, if none of its versions has a
// status.
func statuslessKind(u *unstructured.Unstructured) (gk schema.GroupKind, ok bool) {
	if u == nil || u.GroupVersionKind().GroupKind() != fleet.CRDKind {
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
	gk = fleet.DefinedKind(u)
	return gk, len(versions) > 0 && gk.Kind != ""
}
