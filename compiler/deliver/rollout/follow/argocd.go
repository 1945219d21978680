package follow

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fromArgo returns the state of an Application.
func fromArgo(u *unstructured.Unstructured) Object {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	o := Object{State: Syncing, Commit: text(status, "sync", "revision"), Source: argoSource(u.Object)}
	if isChart(u.Object) {
		o.Commit = ""
	}
	sync, health := text(status, "sync", "status"), text(status, "health", "status")
	phase := text(status, "operationState", "phase")
	wrong := slices.IndexFunc(list(status, "conditions"), func(c map[string]any) bool {
		return slices.Contains([]string{"ComparisonError", "InvalidSpecError"}, text(c, "type"))
	})
	switch {
	case wrong >= 0:
		c := list(status, "conditions")[wrong]
		o.State, o.Message = Failed, message(text(c, "type"), text(c, "message"))
	case sync != "Synced" && (phase == "Failed" || phase == "Error"):
		o.State, o.Message = Failed, message("sync "+phase, text(status, "operationState", "message"))
		if tried := text(status, "operationState", "syncResult", "revision"); tried != "" && o.Commit != "" {
			o.Commit = tried
		}
	case sync != "Synced":
		o.Message = message(sync, "")
	case health == "Degraded":
		o.State, o.Message = Failed, message(health, text(status, "health", "message"))
	case health == "Healthy" && phase != "Running":
		o.State = Ready
		o.Since = latest(moment(status, "health", "lastTransitionTime"), moment(status, "operationState", "finishedAt"))
	default:
		o.Message = message(health, text(status, "health", "message"))
	}
	return o
}

// argoSource returns a digest of the source of an Application, of the fields that decide what
// it applies. Argo CD adds others.
func argoSource(o map[string]any) string {
	source, _, _ := unstructured.NestedMap(o, "spec", "source")
	helm, _ := source["helm"].(map[string]any)
	return digestOf(source["repoURL"], source["chart"], source["path"], source["targetRevision"], helm["releaseName"], helm["valuesObject"])
}

// digestOf returns the digest of fields of an object.
func digestOf(fields ...any) string {
	text, err := json.Marshal(fields)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// isChart reports whether an Application applies a chart of a repository, or of another git
// repository than that of the cluster's directory.
func isChart(o map[string]any) bool {
	source, _, _ := unstructured.NestedMap(o, "spec", "source")
	return source["chart"] != nil || source["helm"] != nil
}

// TargetOf returns the object of a file in a cluster's directory; false if it is neither a
// Kustomization of Flux nor an Application.
func TargetOf(object map[string]any) (Target, bool) {
	u := unstructured.Unstructured{Object: object}
	w := Target{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	switch u.GroupVersionKind().GroupKind() {
	case kustomizations.GroupKind():
		w.Source = fluxSource(object)
	case applications.GroupKind():
		w.Source, w.IsChart = argoSource(object), isChart(object)
	default:
		return Target{}, false
	}
	return w, true
}
