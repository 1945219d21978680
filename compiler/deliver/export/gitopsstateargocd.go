package export

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fromArgo returns the state of an Application.
func fromArgo(u *unstructured.Unstructured) GitOpsObject {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	o := GitOpsObject{State: GitOpsSyncing, Commit: text(status, "sync", "revision"), Source: argoSourceDigest(u.Object)}
	if isChart(u.Object) {
		o.Commit = ""
	}
	sync, health := text(status, "sync", "status"), text(status, "health", "status")
	phase := text(status, "operationState", "phase")
	compared, _, _ := unstructured.NestedMap(status, "sync", "comparedTo")
	isCompared := argoTarget(compared) == argoTarget(spec(u.Object))
	wrong := slices.IndexFunc(list(status, "conditions"), func(c map[string]any) bool {
		return slices.Contains([]string{"ComparisonError", "InvalidSpecError"}, text(c, "type"))
	})
	switch {
	case wrong < 0 && !isCompared:
		o.Message = "Argo CD has not compared it since its last change"
	case wrong >= 0:
		c := list(status, "conditions")[wrong]
		o.State, o.Message = GitOpsFailed, message(text(c, "type"), text(c, "message"))
	case sync != "Synced" && (phase == "Failed" || phase == "Error"):
		o.Message = message("sync "+phase, text(status, "operationState", "message"))
		tried, _, _ := unstructured.NestedMap(status, "operationState", "syncResult")
		if argoContent(tried["source"]) != argoContent(spec(u.Object)["source"]) {
			break // of an older source: Argo CD will sync again
		}
		o.State = GitOpsFailed
		if !isChart(u.Object) {
			o.Commit = text(tried, "revision")
		}
	case sync != "Synced":
		o.Message = message(sync, "")
	case health == "Degraded":
		o.State, o.Message = GitOpsFailed, message(health, text(status, "health", "message"))
	case health == "Healthy" && phase == "Running":
		o.Message = message("sync Running", text(status, "operationState", "message"))
	case health == "Healthy":
		o.State = GitOpsReady
		o.Since = latest(moment(status, "health", "lastTransitionTime"), moment(status, "operationState", "finishedAt"))
	default:
		o.Message = message(health, text(status, "health", "message"))
	}
	return o
}

// argoSourceDigest returns a digest of the fields of an Application that decide what it applies, and
// where. Argo CD adds others.
func argoSourceDigest(o map[string]any) string {
	s := spec(o)
	return digestOfFields(argoTarget(s), s["project"])
}

// argoTarget returns a digest of the source and the destination in the spec of an
// Application, or in the status that says what Argo CD compared.
func argoTarget(s map[string]any) string {
	to, _ := s["destination"].(map[string]any)
	server := to["server"]
	if text(to, "name") != "" {
		server = nil // Argo CD may add the server of the name
	}
	return digestOfFields(argoContent(s["source"]), s["sources"], to["name"], server, to["namespace"])
}

// argoContent returns a digest of a source.
func argoContent(v any) string {
	source, _ := v.(map[string]any)
	helm, _ := source["helm"].(map[string]any)
	directory, _ := source["directory"].(map[string]any)
	return digestOfFields(source["repoURL"], source["chart"], source["path"], source["targetRevision"], directory["recurse"], helm["releaseName"], helm["values"], helm["valuesObject"])
}

// spec returns the spec of an object.
func spec(o map[string]any) map[string]any {
	s, _, _ := unstructured.NestedMap(o, "spec")
	return s
}

// digestOfFields returns the digest of fields of an object.
func digestOfFields(fields ...any) string {
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

// GitOpsTargetOf returns the object of a file in a cluster's directory; false if it is neither a
// Kustomization of Flux nor an Application.
func GitOpsTargetOf(object map[string]any) (GitOpsTarget, bool) {
	u := unstructured.Unstructured{Object: object}
	w := GitOpsTarget{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	switch u.GroupVersionKind().GroupKind() {
	case kustomizations.GroupKind():
		w.Source = fluxSourceDigest(object)
	case applications.GroupKind():
		w.Source, w.IsChart = argoSourceDigest(object), isChart(object)
	default:
		return GitOpsTarget{}, false
	}
	return w, true
}
