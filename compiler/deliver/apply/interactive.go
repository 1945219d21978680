package apply

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file recognizes fields that users have changed with interactive tools.

// interactiveNames are prefixes, in lower case, of the field managers of
// interactive tools. Lens writes as node-fetch, and browsers write as mozilla.
var interactiveNames = []string{"kubectl", "k9s", "lens", "openlens", "freelens", "node-fetch", "mozilla", "headlamp", "dashboard", "oc-"}

// isInteractive reports whether a manager is an interactive tool.
func isInteractive(m metav1.ManagedFieldsEntry) bool {
	return m.Manager == "oc" || hasPrefix(m.Manager, interactiveNames)
}

// isChangeByHand reports whether --strict takes over a field of another manager, unless the
// object existed before. It leaves subresources such as scale alone.
func isChangeByHand(f cluster.Field) bool {
	return isInteractive(metav1.ManagedFieldsEntry{Manager: f.Manager}) && !strings.Contains(f.Message, "with subresource")
}

// restartAnnotation is the path of the annotation that kubectl rollout restart
// sets. Removing it would restart the pods again.
var restartAnnotation = [][]fleet.Step{{{Key: "spec"}, {Key: "template"}, {Key: "metadata"}, {Key: "annotations"}, {Key: "kubectl.kubernetes.io/restartedAt"}}}

// isExempt reports whether a manager has only fields that are exempt from the
// takeover.
func (it *Item) isExempt(o *unstructured.Unstructured, manager string) bool {
	fields := fieldsWhere(o, isOneOf([]string{manager}))
	for _, path := range it.exemptPaths() {
		_, fields = fields.split(path)
	}
	return fields.isEmpty()
}

// isEmpty reports whether the set has no fields. Markers of maps and elements do
// not count.
func (s fieldSet) isEmpty() bool {
	for key, in := range s {
		if key != "." && (in.isLeaf() || !in.isEmpty()) {
			return false
		}
	}
	return true
}
