package e2e

import (
	"encoding/json"
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
