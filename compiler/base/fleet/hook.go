package fleet

import (
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
