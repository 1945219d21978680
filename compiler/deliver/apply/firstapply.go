package apply

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckOrder returns the faults of objects whose CRD or namespace the bundle applies in a
// later step, so that the first apply to an empty cluster fails. It ignores kinds that the
// cluster serves without the bundle, and namespaces that each cluster has.
func CheckOrder(b *fleet.Bundle) error {
	crds, namespaces := map[schema.GroupVersionKind]fleet.Object{}, map[string]fleet.Object{}
	for _, o := range b.Objects {
		switch o.GroupVersionKind().GroupKind() {
		case fleet.CRDKind:
			for _, gvk := range fleet.ServedKinds(o.Unstructured) {
				crds[gvk] = o
			}
		case schema.GroupKind{Kind: "Namespace"}:
			if !slices.Contains(standardNamespaces, o.GetName()) {
				namespaces[o.GetName()] = o
			}
		}
	}
	var faults diag.List
	check := func(o, needed fleet.Object, what string) {
		if needed.Unstructured == nil || b.Cluster.CompareSteps(needed.Release.ApplyStep(), o.Release.ApplyStep()) <= 0 {
			return
		}
		msg, hint := comesLater(o.Release, what, needed.Release)
		if needed.GroupVersionKind().GroupKind() == fleet.CRDKind {
			hint += "; for a cluster that has the CRD already, list the kind in cluster.apis"
		}
		faults.Add(&diag.Diag{Code: diag.CodeObjectRefused, At: o.Places(), Path: o.Title(), Msg: msg, Hint: hint})
	}
	for _, o := range b.Objects {
		if !isServed(b.Cluster, o) {
			check(o, crds[o.GroupVersionKind()], "its CRD")
		}
		check(o, namespaces[o.GetNamespace()], "its namespace")
	}
	return faults.Err()
}

// standardNamespaces are the namespaces that each cluster has.
var standardNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// isServed reports whether a cluster serves the kind of an object without the bundle.
func isServed(c *fleet.Cluster, o fleet.Object) bool {
	return slices.ContainsFunc(c.APIs, func(a fleet.API) bool { return a.APIVersion == o.GetAPIVersion() && a.Kind == o.GetKind() })
}

// comesLater returns the reason and the hint for an object of the release r whose
// prerequisite, what, is applied in a later step with another release.
func comesLater(r *fleet.Release, what string, other *fleet.Release) (reason, hint string) {
	if r.Stage == other.Stage {
		return fmt.Sprintf("%s comes with release %s, which applies later in stage %s", what, other.Name, other.Stage),
			fmt.Sprintf("move it to release %s, or to one that applies before", r.Name)
	}
	return fmt.Sprintf("%s comes with release %s of the later stage %s", what, other.Name, other.Stage), "move one of them to another stage"
}
