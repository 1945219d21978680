package fleet

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// IsBase reports whether objects of the kind must exist before others:
// namespaces and CRDs.
func IsBase(gk schema.GroupKind) bool { return gk == namespaceKind || gk == CRDKind }

// ProtectedKinds returns the kinds whose deletion also deletes other objects
// or data: namespaces, CRDs and volumes.
func ProtectedKinds() []schema.GroupKind {
	return []schema.GroupKind{namespaceKind, CRDKind, {Kind: "PersistentVolume"}, {Kind: "PersistentVolumeClaim"}}
}

// IsProtected reports whether the kind is one of [ProtectedKinds].
func IsProtected(gk schema.GroupKind) bool { return slices.Contains(ProtectedKinds(), gk) }

// HelmKeep is the annotation of Helm for objects that stay when they leave their release. Its
// value is "keep".
const HelmKeep = "helm.sh/resource-policy"

// KeepAnnotation returns the annotation that keeps an object when it leaves
// its bundle, such as helm.sh/resource-policy: keep, or an empty string.
func KeepAnnotation(u *unstructured.Unstructured) string {
	a := u.GetAnnotations()
	for _, keep := range [][2]string{{HelmKeep, "keep"}, {"fleetc.dev/prune", "never"}} {
		if a[keep[0]] == keep[1] {
			return keep[0] + ": " + keep[1]
		}
	}
	return ""
}
