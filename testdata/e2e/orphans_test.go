package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Objects that are in no inventory are listed, without copies by controllers;
// --adopt adds them to the inventory, so that they are pruned.
func TestOrphans(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("status", "--orphans").ok(p).says(p, "^dev/one: has no orphans")
	p.kubectl("one", "-n", "fleetc-system", "delete", "secret", inventorySecret)
	// A controller copies labels.
	p.kubectl("one", "-n", "web", "create", "configmap", "copy")
	p.kubectl("one", "-n", "web", "label", "configmap", "copy", "fleetc.dev/release=web")

	d := p.fleetc("status", "--orphans").exits(p, 1).says(p, "dev/one +never applied", "^dev/one: orphan ConfigMap web/web", "^dev/one: orphan Deployment.apps web/web",
		"^dev/one: orphan Namespace web", "^dev/one: orphan Secret web/web", "^dev/one: 4 orphans: .*fleetc apply --adopt")
	if strings.Contains(d.stdout, "ReplicaSet") || strings.Contains(d.stdout, "Pod") || strings.Contains(d.stdout, "copy") {
		t.Errorf("objects that fleetc has not applied are orphans:\n%s", d.stdout)
	}
	p.fleetc("status", "--orphans", "-o", "json").exits(p, 1).says(p, `"orphans": \[\n +"ConfigMap web/web",`)

	// Kinds that cannot be listed are a fault, since they may have orphans.
	kubeconfig, err := p.clusters["one"].User("viewer", "viewers")
	if err != nil {
		t.Fatal(err)
	}
	p.grant("one", "history", "viewer", "viewers")
	p.fleetc("status", "--orphans", "--kubeconfig", kubeconfig).exits(p, 2).says(p, `^[0-9]+ kinds cannot be listed and may have orphans: .* \[FL2104\]$`)

	p.fleetc("apply", "--yes", "--adopt").ok(p)
	p.fleetc("status", "--orphans").ok(p)
	p.fleetc("status", "--kubeconfig", kubeconfig).ok(p)
	p.fleetc("status", "--orphans", "--kubeconfig", kubeconfig).exits(p, 2).says(p, "^dev/one: has no orphans of the kinds that can be listed$")
	if d := p.fleetc("status", "--health", "--kubeconfig", kubeconfig).exits(p, 2); strings.Contains(d.stdout, "all objects are ready") {
		t.Errorf("status guesses the health of objects that cannot be read:\n%s", d.stdout)
	}
	// The health of objects is known even if other kinds cannot be listed.
	reader, err := p.clusters["one"].User("reader", "viewers")
	if err != nil {
		t.Fatal(err)
	}
	p.kubectl("one", "create", "clusterrole", "objects", "--verb=get,list,watch", "--resource=namespaces,configmaps,secrets,deployments.apps,replicasets.apps,pods")
	p.kubectl("one", "create", "clusterrolebinding", "objects", "--clusterrole=objects", "--user=reader")
	p.waitForRight("one", "reader", "list", "deployments.apps", "--namespace=web")
	p.fleetc("status", "--health", "--orphans", "--kubeconfig", reader).exits(p, 2).says(p, "^dev/one: all objects are ready$", "kinds cannot be listed and may have orphans")
	p.fleetc("status", "--health", "--orphans", "-o", "json", "--kubeconfig", reader).exits(p, 2).says(p, `"unhealthy": \[\],`)
	p.fleetc("rollback", "dev/one", "--yes").exits(p, 2).says(p, "has only the bundle that the cluster runs", "hint: correct the files of the fleet")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("rollback", "dev/one", "--yes", "--kubeconfig", kubeconfig).exits(p, 2).says(p, `cannot get resource "secrets" .* \[FL2104\]$`, "hint: see docs/apply.md")

	if err := os.Remove(filepath.Join(p.dir, "environments/web.cue")); err != nil {
		t.Fatal(err)
	}
	p.edit(fleetFile, "stages: schema.#Stages", `stages: schema.#Stages & [{name: "default"}]`)
	p.fleetc("apply", "--yes", "--prune-protected=Namespace").ok(p).says(p, "4 pruned")
}
