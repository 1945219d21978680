package fleet

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Annotations of Helm hooks: their events, their order, and when they are
// deleted.
const (
	HookAnnotation       = "helm.sh/hook"
	HookWeightAnnotation = "helm.sh/hook-weight"
	HookDeleteAnnotation = "helm.sh/hook-delete-policy"
)

// IsHook reports whether an object is a Helm hook.
func IsHook(u *unstructured.Unstructured) bool {
	_, ok := u.GetAnnotations()[HookAnnotation]
	return ok
}

// HookEvents returns the events of a hook, such as pre-install.
func HookEvents(u *unstructured.Unstructured) []string {
	return ListItems(strings.ToLower(u.GetAnnotations()[HookAnnotation]))
}

// HookDeletions returns the deletion policies of a hook, such as
// hook-succeeded.
func HookDeletions(u *unstructured.Unstructured) []string {
	return ListItems(strings.ToLower(u.GetAnnotations()[HookDeleteAnnotation]))
}

// HookWeight returns the weight of a hook. As in Helm, an invalid number is 0.
func HookWeight(u *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(strings.TrimSpace(u.GetAnnotations()[HookWeightAnnotation]))
	return n
}

// HookRuns reports whether Helm waits for the end of a hook: it is a Job or a
// Pod.
func HookRuns(u *unstructured.Unstructured) bool {
	gk := u.GroupVersionKind().GroupKind()
	return gk == schema.GroupKind{Group: "batch", Kind: "Job"} || gk == schema.GroupKind{Kind: "Pod"}
}

// ListItems returns the items of a comma-separated list, without empty ones.
func ListItems(list string) []string {
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

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
