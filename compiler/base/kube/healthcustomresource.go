package kube

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// customResource judges an object of an unknown kind by common conventions for
// conditions.
func customResource(u *unstructured.Unstructured) HealthVerdict {
	// These conditions of kstatus exist only while something is wrong.
	if c, found := conditionOf(u, "Stalled"); found && c.holds("True") {
		return HealthVerdict{HealthFailed, c.describe()}
	}
	if c, found := conditionOf(u, "Reconciling"); found && c.holds("True") {
		return HealthVerdict{HealthInProgress, c.describe()}
	}
	for _, kind := range []string{"Ready", "Available"} {
		c, found := conditionOf(u, kind)
		switch {
		case found && c.holds("True"):
			return HealthVerdict{HealthReady, c.describe()}
		case found:
			// It may or may not become ready.
			return HealthVerdict{HealthInProgress, c.describe()}
		}
	}
	if _, known := asInt(fieldValue(u, "status", "observedGeneration")); known {
		return HealthVerdict{HealthReady, "its controller has seen its last change"}
	}
	if status, _ := fieldValue(u, "status").(map[string]any); len(status) > 0 {
		return HealthVerdict{HealthUnknown, "its status has no condition Ready"}
	}
	return HealthVerdict{HealthUnknown, "it has no status yet"}
}

// statuslessKind returns the kind that a CRD defines, if none of its versions has a
// status.
func statuslessKind(u *unstructured.Unstructured) (gk schema.GroupKind, ok bool) {
	if u == nil || u.GroupVersionKind().GroupKind() != fleet.CRDKind {
		return gk, false
	}
	versions, _ := fieldValue(u, "spec", "versions").([]any)
	for _, item := range versions {
		m, isMap := item.(map[string]any)
		if !isMap {
			return gk, false
		}
		v := &unstructured.Unstructured{Object: m}
		root := fieldValue(v, "schema", "openAPIV3Schema")
		open, _ := fieldValue(v, "schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields").(bool)
		if root == nil || open || fieldValue(v, "subresources", "status") != nil || fieldValue(v, "schema", "openAPIV3Schema", "properties", "status") != nil {
			return gk, false
		}
	}
	gk = fleet.DefinedKind(u)
	return gk, len(versions) > 0 && gk.Kind != ""
}
