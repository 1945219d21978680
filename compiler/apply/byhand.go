package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// This file recognizes what people have changed by hand.

// interactiveNames are prefixes of the names under which tools write that people work
// with, in small letters. Lens is one of those that write as node-fetch, and browsers
// write as mozilla.
var interactiveNames = []string{"kubectl", "k9s", "lens", "openlens", "freelens", "node-fetch", "mozilla", "headlamp", "dashboard", "oc-"}

// isInteractive reports whether a manager is a tool that people work with.
func isInteractive(m metav1.ManagedFieldsEntry) bool {
	return m.Manager == "oc" || hasPrefix(m.Manager, interactiveNames)
}

// restarts is the annotation by which kubectl rollout restart restarts pods. Its
// removal would restart them again.
var restarts = [][]fleet.Step{{{Key: "spec"}, {Key: "template"}, {Key: "metadata"}, {Key: "annotations"}, {Key: "kubectl.kubernetes.io/restartedAt"}}}

// isSpared reports whether a manager has only fields that stay with it.
func (it *Item) isSpared(o *unstructured.Unstructured, manager string) bool {
	fields := fieldsWhere(o, takesField([]string{manager}))
	for _, path := range it.spared() {
		_, fields = fields.split(path)
	}
	return fields.isEmpty()
}

// isEmpty reports whether the set has no field, other than the marks of maps and
// elements that have some.
func (s fieldSet) isEmpty() bool {
	for key, in := range s {
		if key != "." && (in.whole() || !in.isEmpty()) {
			return false
		}
	}
	return true
}
