package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Messages of Kubernetes 1.29 to 1.37 about immutable fields are recognized.
func TestImmutableMessages(t *testing.T) {
	visible := func(s string) string { return s }
	for kind, message := range map[string]string{
		"ClusterRoleBinding":     `Invalid value: {"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"b"}: field is immutable`,
		"RoleBinding until 1.30": `Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.k8s.io", Kind:"Role", Name:"b"}: cannot change roleRef`,
		"ConfigMap":              "Forbidden: field is immutable when `immutable` is set",
		"CSIDriver":              `Invalid value: true: field is immutable`,
		"Deployment":             `Invalid value: {"matchLabels":{"app":"b"}}: field is immutable`,
		"IngressClass":           `Invalid value: "example.com/b": field is immutable`,
		"Job":                    `Invalid value: {"containers":[]}: field is immutable`,
		"Node":                   `Forbidden: may not be changed directly`,
		"Node, its provider":     `Invalid value: null: field cannot be modified once set`,
		"PersistentVolumeClaim":  "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n  core.PersistentVolumeClaimSpec{",
		"Pod":                    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.tolerations` (only additions to existing tolerations)\n  core.PodSpec{",
		"Pod, its containers":    `Forbidden: pod updates may not add or remove containers`,
		"PriorityClass":          `Forbidden: may not be changed in an update.`,
		"RuntimeClass":           `Invalid value: "b": field is immutable`,
		"Secret":                 `Invalid value: "Opaque": field is immutable`,
		"Service":                `Invalid value: ["10.0.0.2"]: may not change once set`,
		"StatefulSet":            `Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden`,
		"StorageClass":           `Forbidden: updates to provisioner are forbidden.`,
		"StorageClass 1.37":      `Invalid value: {"type":"b"}: field is immutable`,
		"a rule of a CRD":        `Invalid value: "b": Value is immutable`,
		"another rule of a CRD":  `Invalid value: "b": the storage class cannot be changed after creation`,
	} {
		e := &Error{}
		e.setInvalid([]metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.x", Message: message}}, visible)
		if e.Reason != Immutable {
			t.Errorf("%s: %s is %s", kind, message, e.Reason)
		}
	}
	for _, message := range []string{
		`Required value`,
		`Invalid value: -1: must be greater than or equal to 0`,
		`Forbidden: may not be specified when strategy 'type' is 'Recreate'`,
		`Duplicate value: "a"`,
		`Unsupported value: "b": supported values: "a"`,
		`Forbidden: update from non-nil value to nil is forbidden`,
	} {
		e := &Error{}
		e.setInvalid([]metav1.StatusCause{
			{Field: "spec.x", Message: "Invalid value: 1: field is immutable"},
			{Field: "spec.y", Message: message},
		}, visible)
		if e.Reason != Invalid || e.Fields[1].Path != "spec.y" {
			t.Errorf("%s beside a field that cannot change is %s", message, e.Reason)
		}
	}
}
