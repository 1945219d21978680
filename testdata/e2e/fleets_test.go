package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// otherFleet returns a fleet of another module for the same cluster.
func (p *place) otherFleet(module string) *place {
	p.Helper()
	other := &place{T: p.T, dir: p.TempDir(), clusters: p.clusters}
	other.fleetc("init", module).ok(p)
	other.write("environments/dev/one/cluster.cue", fmt.Sprintf("package fleet\n\ncluster: {name: \"one\", kubernetes: \"1.37\", context: %q}\n", p.clusters["one"].Context))
	return other
}

// Two fleets apply to one cluster without changing each other's objects or history.
func TestSeveralFleets(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	other := p.otherFleet("example.com/payments")
	settings := func(round int) {
		p.Helper()
		other.write("environments/pay.cue", fmt.Sprintf(`package fleet

cluster: history: 2
releases: pay: {
	namespace: "pay"
	objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "pay"}
	objects: settings: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "settings", namespace: "pay"}, data: round: "%d"}
}
`, round))
	}
	settings(1)
	other.fleetc("apply", "--dry-run").exits(p, 1).says(p, "is new to this fleet, and has objects of the fleet example.com/infra: it is https://")
	for round := 1; round <= 4; round++ {
		settings(round)
		other.fleetc("apply", "--yes").ok(p)
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	}
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p)
	other.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.fleetc("rollback", "dev/one", "--yes").ok(p)
	other.fleetc("rollback", "dev/one", "--yes").ok(p)
	if got := p.kubectl("one", "-n", "pay", "get", "configmap", "settings", "-o", "jsonpath={.data.round}"); got != "3" {
		t.Errorf("the other fleet is back in round %s", got)
	}
	p.fleetc("status", "--orphans").exits(p, 1).says(p, "^dev/one: has no orphans")
	// An object of the other fleet is a conflict, and so is its Namespace: each fleet would
	// remove the labels of the other one, and could delete it with all its objects.
	other.edit("environments/pay.cue", `metadata: name: "pay"`, `metadata: name: "web"`)
	other.fleetc("apply", "--yes").exits(p, 2).says(p, "Namespace web: it already exists, and fleet example.com/infra of fleetc created it")
	settings(4)
	other.edit("environments/pay.cue", `name: "settings", namespace: "pay"`, `name: "web", namespace: "web"`)
	other.fleetc("apply", "--yes").exits(p, 2).says(p, "ConfigMap web/web.*fleet example.com/infra of fleetc")
	other.fleetc("apply", "--yes", "--adopt").ok(p)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "ConfigMap web/web.*fleet example.com/payments of fleetc")
	p.fleetc("rollback", "dev/one", "--yes").exits(p, 2).says(p, "ConfigMap web/web.*fleet example.com/payments of fleetc",
		"hint: restore the fleet's files of the revision, and run fleetc apply --adopt: a rollback takes over no objects$")
	p.fleetc("apply", "--yes", "--adopt").ok(p)
	settings(5)
	other.fleetc("apply", "--yes").ok(p).says(p, "keeps ConfigMap web/web: fleet example.com/infra of fleetc owns it now")
	// It is destroyed without effect on the first fleet.
	other.fleetc("destroy", "dev/one", "--yes=dev/one", "--prune-protected=Namespace").ok(p)
	if got := p.kubectl("one", "get", "namespaces", "-o", "name"); strings.Contains(got, "namespace/pay") || !strings.Contains(got, "namespace/fleetc-system") {
		t.Errorf("after destroy, there are %s", got)
	}
	if got := p.kubectl("one", "-n", "fleetc-system", "get", "secrets", "-o", "name"); strings.Contains(got, "inventory.example.com.payments") {
		t.Errorf("after destroy, there are %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "--prune-protected=Namespace").ok(p)
	if got := p.kubectl("one", "get", "namespaces", "-o", "name"); strings.Contains(got, "fleetc-system") {
		t.Errorf("after both were destroyed, there are %s", got)
	}
}

// A namespace that existed before fleetc stays so for a fleet that has lost its inventory or
// renamed its module, and a destroy keeps it. A namespace that a fleet created is destroyed.
func TestNamespaceNotAdopted(t *testing.T) {
	p := newWeb(t)
	p.kubectl("one", "create", "namespace", "web")
	p.edit("environments/web.cue", "releases: space: {", `releases: space: objects: made: {apiVersion: "v1", kind: "Namespace", metadata: name: "made"}
releases: space: {`)
	p.fleetc("apply", "--yes").ok(p)
	preview := []string{"destroy", "dev/one", "--dry-run", "--prune-protected"}
	p.fleetc(preview...).exits(p, 1).says(p, "keeps Namespace web: it existed before", "- Namespace made")
	p.kubectl("one", "-n", "fleetc-system", "delete", "secret", inventorySecret)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc(preview...).exits(p, 1).says(p, "keeps Namespace web: it existed before", "- Namespace made")

	p.edit("cue.mod/module.cue", "example.com/infra", "example.com/renamed")
	p.fleetc("apply", "--yes", "--adopt").ok(p)
	p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, "nothing was written")
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "--prune-protected").ok(p).says(p, "keeps Namespace web: it existed before")
	if got := p.kubectl("one", "get", "namespaces", "-o", "name"); !strings.Contains(got, "namespace/web") || strings.Contains(got, "namespace/made") {
		t.Errorf("the namespaces are %s", got)
	}
}

// Two fleets whose modules give their inventories the same name are a fault that names both.
// The second fleet changes nothing, and its hint does not delete the inventory of the first.
func TestFleetsOfOneName(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	other := p.otherFleet("example.com.infra")
	_, mark := p.writes("one", 0)
	for _, command := range []string{"apply --yes", "apply --yes --adopt", "rollback dev/one --yes", "destroy dev/one --yes=dev/one", "status"} {
		other.fleetc(strings.Fields(command)...).exits(p, 2).says(p, `Secret fleetc-system/inventory.example.com.infra belongs to the fleet "example.com/infra", and the fleet "example.com.infra" would use the same one`, "rename the module of this fleet").lacks(p, "delete Secret")
	}
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("the other fleet writes %q", w)
	}
}

// An apply that waits for a destroy of another fleet, which deletes fleetc's namespace, creates
// the namespace again.
func TestApplyAfterDestroy(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "-p", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	destroy := p.begin("destroy", "dev/one", "--yes=dev/one", "--prune-protected", "--timeout", "60s")
	destroy.readUntil("waits for the deletion of ConfigMap web/web", 1)
	other := p.otherFleet("example.com/payments")
	other.write("environments/pay.cue", "package fleet\n\nreleases: pay: {namespace: \"default\", objects: one: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"pay\"}}\n")
	next := other.begin("apply", "--yes", "--lock-timeout", "60s")
	next.readUntil("waits for the lease", 1)
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "-p", `{"metadata":{"finalizers":null}}`)
	destroy.end().ok(p)
	next.end().ok(p).says(p, "1 created", "this is revision 1")
}
