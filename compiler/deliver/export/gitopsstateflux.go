package export

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Reasons of Flux for a Kustomization that is not ready, which say nothing about its
// content: Flux waits, or is not able to read the source.
var undecided = []string{"DependencyNotReady", "ArtifactFailed", "HealthCheckCanceled", "Progressing", "ProgressingWithRetry"}

// succeeded is the status of a snapshot in the history of a Kustomization.
const succeeded = "ReconciliationSucceeded"

// fromFlux returns the state of a Kustomization.
//
// Flux sets the condition Ready to Unknown and back to True at every interval. The history,
// which Flux has since version 2.7, has the last verdict and its time.
func fromFlux(u *unstructured.Unstructured) GitOpsObject {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend")
	observed, _, _ := unstructured.NestedInt64(status, "observedGeneration")
	ready := condition(status, "Ready")
	history := list(status, "history")
	o := GitOpsObject{State: GitOpsSyncing, Message: message(text(ready, "reason"), text(ready, "message")), Commit: commitOf(text(status, "lastAppliedRevision")), Source: fluxSourceDigest(u.Object)}
	wasReady := len(history) > 0 && text(history[0], "lastReconciledStatus") == succeeded
	switch {
	case suspended:
		o.State = GitOpsSuspended
	case observed < u.GetGeneration():
		o.Message = "Flux has not seen its last change"
	case text(ready, "status") == "True", wasReady && (text(ready, "status") != "False" || slices.Contains(undecided, text(ready, "reason"))):
		o.State, o.Message = GitOpsReady, ""
		o.Since = readySince(ready, history)
		if tried := commitOf(text(status, "lastAttemptedRevision")); tried != o.Commit {
			o.Attempted = tried
		}
	case text(ready, "status") == "False" && !slices.Contains(undecided, text(ready, "reason")):
		o.State, o.Commit = GitOpsFailed, commitOf(text(status, "lastAttemptedRevision"))
	}
	return o
}

// fluxFields are the fields of a Kustomization that decide what it applies, where, and when it
// is ready. The API server sets no defaults in them.
var fluxFields = []string{
	"path", "sourceRef", "dependsOn", "wait", "healthChecks", "healthCheckExprs", "ignore", "decryption",
	"serviceAccountName", "kubeConfig", "targetNamespace",
}

// fluxSourceDigest returns a digest of the fields of a Kustomization. Flux may not have applied a
// changed Kustomization itself yet.
func fluxSourceDigest(o map[string]any) string {
	s := spec(o)
	return digestOfFields(diag.Each(fluxFields, func(name string) any { return s[name] })...)
}

// readySince returns since when a Kustomization is ready with its content: since the content
// was applied first, or since another content or a failure. When an older content comes back,
// Flux moves its entry to the front and keeps its first time.
func readySince(ready map[string]any, history []map[string]any) time.Time {
	if len(history) == 0 || text(history[0], "lastReconciledStatus") != succeeded {
		return moment(ready, "lastTransitionTime")
	}
	since := moment(history[0], "firstReconciled")
	for _, h := range history[1:] {
		since = latest(since, moment(h, "lastReconciled"))
	}
	return since
}

// condition returns the condition of a type; nil if there is none.
func condition(status map[string]any, kind string) map[string]any {
	for _, c := range list(status, "conditions") {
		if text(c, "type") == kind {
			return c
		}
	}
	return nil
}

// commitOf returns the commit in a revision of Flux, such as main@sha1:COMMIT.
func commitOf(revision string) string {
	return revision[strings.LastIndexAny(revision, ":/@")+1:]
}
