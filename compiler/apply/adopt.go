package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/live"
)

// helmRelease is the annotation by which Helm knows its objects.
const helmRelease = "meta.helm.sh/release-name"

// fieldsOf returns the fields that an error of a cluster is about.
func fieldsOf(err error) []live.Field {
	var e *live.Error
	if !errors.As(err, &e) {
		return nil
	}
	return e.Fields
}

// isForeign reports whether an object that is there was made by others:
// neither the inventory has it, other than as what Helm has kept, nor was it ever
// applied by fleetc. What the control plane makes by itself belongs to nobody, and
// namespaces are shared.
func (p *planner) isForeign(it *Item, was *unstructured.Unstructured) bool {
	known := p.known[it.ID]
	if known.UID == it.uid && !known.Kept || ownFields(was) != nil || it.kind() == (schema.GroupKind{Kind: "Namespace"}) {
		return false
	}
	return slices.ContainsFunc(was.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Subresource == "" && !strings.HasPrefix(m.Manager, "kube-")
	})
}

// ownerOf says who made an object.
func ownerOf(o *unstructured.Unstructured) string {
	a := o.GetAnnotations()
	if name := a[helmRelease]; name != "" {
		return fmt.Sprintf("Helm release %s/%s", diag.Visible(a["meta.helm.sh/release-namespace"], diag.MaxText), diag.Visible(name, diag.MaxText))
	}
	return strings.Join(othersOf(o), " and ")
}

// takeOver says what to do about an object that somebody else made. Flux would put
// back what was taken over from it.
func takeOver(o *unstructured.Unstructured) string {
	for _, controller := range []string{"kustomize", "helm"} {
		if o.GetLabels()[controller+".toolkit.fluxcd.io/name"] != "" {
			return "change it where Flux reads it, or remove it from Flux first"
		}
	}
	return "pass --adopt to take it over"
}

// othersOf returns who else than fleetc and the control plane wrote to an
// object, its status aside.
func othersOf(o *unstructured.Unstructured) []string {
	var names []string
	for _, m := range o.GetManagedFields() {
		if m.Subresource == "" && m.Manager != live.Manager && !strings.HasPrefix(m.Manager, "kube-") {
			names = append(names, diag.Visible(m.Manager, diag.MaxText))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// formerManagers returns the names under which people's tools made an object:
// kubectl's commands and Helm.
func formerManagers(o *unstructured.Unstructured) []string {
	var out []string
	for _, m := range o.GetManagedFields() {
		former := m.Manager == "kubectl" || strings.HasPrefix(m.Manager, "kubectl-") || m.Manager == "helm" || m.Manager == "Helm"
		if former && m.Subresource == "" && !slices.Contains(out, m.Manager) {
			out = append(out, m.Manager)
		}
	}
	return out
}
