package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A stuck finalizer delays only the apply that deletes the object. The object stays
// in the inventory until it is deleted.
func TestStuckFinalizer(t *testing.T) {
	p := newWeb(t)
	p.write("environments/held.cue", `package fleet

releases: held: {
	namespace: "web"
	objects: {
		stuck: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "stuck", finalizers: ["example.com/nobody"]}}
		free: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "free"}
	}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	if err := os.Remove(filepath.Join(p.dir, "environments/held.cue")); err != nil {
		t.Fatal(err)
	}
	p.fleetc("apply", "--yes", "--timeout", "3s").ok(p).says(p, "1 pruned; 1 object is still being deleted; this is revision 2",
		`still deletes ConfigMap web/stuck \(it is held by example.com/nobody\)`)
	if got := p.kubectl("one", "-n", "web", "get", "configmaps", "-o", "name"); strings.Contains(got, "free") {
		t.Errorf("an object without a finalizer is still there: %s", got)
	}

	// The timeout is so long that the test would fail if anything waited.
	const never = "1h"
	p.fleetc("apply", "--yes", "--timeout", never).ok(p).says(p, "still deletes ConfigMap web/stuck: it is held by example.com/nobody", "nothing was written; 1 object is still being deleted")
	p.fleetc("apply", "--dry-run").ok(p)
	p.edit("environments/web.cue", "replicas: 2", "replicas: 3")
	p.fleetc("apply", "--yes", "--timeout", never).ok(p).says(p, "0 created, 1 changed, 0 pruned; 1 object is still being deleted; this is revision 3")
	var out struct {
		Clusters []struct {
			Pending int
			Objects []struct{ ID, Action, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(p.fleetc("apply", "--yes", "-o", "json").ok(p).stdout), &out); err != nil {
		t.Fatal(err)
	}
	if o := out.Clusters[0]; o.Pending != 1 || len(o.Objects) != 1 || o.Objects[0].Action != "pending" || o.Objects[0].Reason != "it is held by example.com/nobody" {
		t.Errorf("the report has %+v", out)
	}
	p.fleetc("status", "--health").exits(p, 1).says(p, "example.com/nobody")

	// destroy ends when everything is deleted.
	p.fleetc("destroy", "dev/one", "--release", "held", "--yes=dev/one", "--timeout", "2s").exits(p, 2).says(p, "dev/one: failed: 0 created, 0 changed, 0 pruned", `ConfigMap web/stuck: it is not deleted after 2s: it is held by example.com/nobody \[FL2109\]$`)

	p.kubectl("one", "-n", "web", "patch", "configmap", "stuck", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	p.fleetc("status", "--health").exits(p, 1).says(p, "^dev/one +unfinished", "all objects are ready")
	p.fleetc("apply", "--yes").ok(p).lacks(p, "stuck")
	p.fleetc("status", "--health").ok(p)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written").lacks(p, "still being deleted")
}

// The limit for pruned objects holds in the apply that removes them, also while they wait for a
// custom resource. The apply that deletes them then needs no other limit.
func TestStuckCustomResourceLimit(t *testing.T) {
	p := newWeb(t)
	many := func(n int) {
		t.Helper()
		p.write("environments/many.cue", fmt.Sprintf(`package fleet

import "list"

releases: many: {namespace: "web", objects: {
	for i in list.Range(0, %d, 1) {"m\(i)": {apiVersion: "v1", kind: "ConfigMap", metadata: name: "m\(i)"}}
}}
`, n))
	}
	many(20)
	p.write("environments/crd.cue", `package fleet

releases: crd: namespace: "web"
releases: crd: objects: crd: {
	apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: name: "gizmos.example.com"
	spec: {
		group: "example.com", scope: "Namespaced", names: {kind: "Gizmo", plural: "gizmos"}
		versions: [{name: "v1", served: true, storage: true, schema: openAPIV3Schema: type: "object"}]
	}
}
`)
	p.write("environments/gizmo.cue", `package fleet

releases: gizmo: {
	namespace: "web"
	health: "Gizmo.example.com": wait: false
	objects: one: {apiVersion: "example.com/v1", kind: "Gizmo", metadata: {name: "one", finalizers: ["example.com/nobody"]}}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/gizmo.cue", "package fleet\n")
	p.fleetc("apply", "--yes", "--timeout", "2s").ok(p).says(p, "1 object is still being deleted")

	many(5)
	p.fleetc("apply", "--dry-run").exits(p, 2).says(p, `15 objects would be pruned, and the limit is 10 \[FL2108\]$`, "pass --prune-limit 15")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "15 objects would be pruned")
	p.fleetc("apply", "--yes", "--prune-limit", "15").ok(p).says(p, "16 objects are still being deleted")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written; 16 objects are still being deleted")
	many(1)
	p.fleetc("apply", "--dry-run", "--prune-limit", "3").exits(p, 2).says(p, "4 objects would be pruned, and the limit is 3")
	p.fleetc("apply", "--yes").ok(p).says(p, "20 objects are still being deleted")

	p.kubectl("one", "-n", "web", "patch", "gizmo", "one", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	p.fleetc("apply", "--yes", "--prune-limit", "0").exits(p, 2).says(p, "19 objects would be pruned, and the limit is 0")
	p.fleetc("apply", "--yes").ok(p).says(p, "19 pruned")
	if got := p.kubectl("one", "-n", "web", "get", "configmaps", "-o", "name"); strings.Contains(got, "/m1") || !strings.Contains(got, "/m0") {
		t.Errorf("after the finalizer is gone, there is:\n%s", got)
	}
}
