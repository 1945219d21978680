package e2e

import (
	"testing"
)

// pairOfWidgets are two custom resources whose status the test writes.
const pairOfWidgets = `package fleet

releases: widgets: {
	namespace: "default"
	stage:     "apps"
	health: "Widget.example.com": ready: [{type: "Ready"}]
	objects: {
		crd: {
			apiVersion: "apiextensions.k8s.io/v1"
			kind:       "CustomResourceDefinition"
			metadata: name: "widgets.example.com"
			spec: {
				group: "example.com"
				scope: "Namespaced"
				names: {kind: "Widget", plural: "widgets"}
				versions: [{
					name: "v1", served: true, storage: true
					subresources: status: {}
					schema: openAPIV3Schema: {type: "object", properties: status: {type: "object", "x-kubernetes-preserve-unknown-fields": true}}
				}]
			}
		}
		for name in ["a", "b"] {
			"\(name)": {apiVersion: "example.com/v1", kind: "Widget", metadata: "name": name}
		}
	}
}
`

// An object that is ready only briefly, while fleetc waits for another one, does not pass:
// a stage ends when all of its objects are ready at the same time.
func TestReadinessLost(t *testing.T) {
	p := newWeb(t)
	p.write("environments/widgets.cue", pairOfWidgets)
	status := func(name, ready string) {
		t.Helper()
		p.kubectl("one", "patch", "widget", name, "--subresource=status", "--type=merge", "-p", `{"status": {"conditions": [{"type": "Ready", "status": "`+ready+`"}]}}`)
	}
	r := p.begin("apply", "--yes")
	r.readUntil("created Widget.example.com default/b\n", 1)
	status("a", "True")
	r.readUntil("is ready: Widget.example.com default/a\n", 1)
	status("a", "False")
	status("b", "True")
	r.readUntil("is ready: Widget.example.com default/b\n", 1)
	r.readUntil("waits for Widget.example.com default/a (condition Ready is False)\n", 1)
	status("a", "True")
	r.end().ok(p).says(p, "^dev/one: stage apps is healthy$")
}
