package apply

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckOrder returns the faults of custom resources whose CRD the bundle applies in a later
// step. It ignores kinds that the cluster serves without the bundle.
func CheckOrder(b *fleet.Bundle) error {
	crds := map[schema.GroupVersionKind]fleet.Object{}
	for _, o := range b.Objects {
		if o.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			for _, gvk := range definedKinds(o.Unstructured) {
				crds[gvk] = o
			}
		}
	}
	var faults diag.List
	for _, o := range b.Objects {
		crd, ok := crds[o.GroupVersionKind()]
		if !ok || b.Cluster.CompareSteps(crd.Release.ApplyStep(), o.Release.ApplyStep()) <= 0 || isServed(b.Cluster, o) {
			continue
		}
		msg, hint := comesLater(o.Release, "its CRD", crd.Release)
		faults.Add(&diag.Diag{At: o.Places(), Path: o.Title(), Msg: msg, Hint: hint})
	}
	return faults.Err()
}

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
