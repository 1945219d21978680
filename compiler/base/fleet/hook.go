package fleet

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Annotations of an object that Helm runs as a hook: on which events, in which
// order, and when it is deleted.
const (
	HookAnnotation       = "helm.sh/hook"
	HookWeightAnnotation = "helm.sh/hook-weight"
	HookDeleteAnnotation = "helm.sh/hook-delete-policy"
)

// IsHook reports whether Helm runs an object as a hook.
func IsHook(u *unstructured.Unstructured) bool {
	_, ok := u.GetAnnotations()[HookAnnotation]
	return ok
}

// HookEvents returns on which events an object runs as a hook, such as
// pre-install, none when it is no hook.
func HookEvents(u *unstructured.Unstructured) []string {
	return hookWords(u.GetAnnotations()[HookAnnotation])
}

// HookDeletions returns what a hook says of when it is deleted, such as
// hook-succeeded.
func HookDeletions(u *unstructured.Unstructured) []string {
	return hookWords(u.GetAnnotations()[HookDeleteAnnotation])
}

// HookWeight returns the place of a hook among those of its release and event.
// One that is no number is 0, as for Helm.
func HookWeight(u *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(strings.TrimSpace(u.GetAnnotations()[HookWeightAnnotation]))
	return n
}

// HookRuns reports whether a hook comes to an end, which Helm waits for: a Job
// or a pod.
func HookRuns(u *unstructured.Unstructured) bool {
	gk := u.GroupVersionKind().GroupKind()
	return gk == schema.GroupKind{Group: "batch", Kind: "Job"} || gk == schema.GroupKind{Kind: "Pod"}
}

func hookWords(list string) []string {
	var out []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.ToLower(strings.TrimSpace(w)); w != "" {
			out = append(out, w)
		}
	}
	return out
}
