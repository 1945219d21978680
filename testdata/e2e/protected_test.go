package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// userWidgets creates Widgets without fleetc in a namespace.
func (p *place) userWidgets(namespace string, from, to int) {
	p.Helper()
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":%q,"name":"user-%02d"},"spec":{"size":1}}`, namespace, i))
	}
	p.kubectlInput("one", strings.Join(list, "\n"), "create", "-f", "-")
}

// Objects that the API server deletes along with a CRD, a namespace or a claim are
// in the plan, count toward the limit, and are checked by a saved plan. Protected
// kinds are pruned only if they are listed.
func TestPruneProtected(t *testing.T) {
	p := newWeb(t)
	p.write("environments/widgets.cue", widgets)
	p.fleetc("apply", "--yes").ok(p)
	if err := os.Remove(filepath.Join(p.dir, "environments/widgets.cue")); err != nil {
		t.Fatal(err)
	}
	p.kubectl("one", "create", "namespace", "users")
	p.userWidgets("users", 0, 12)
	p.userWidgets("widgets", 12, 13)
	p.kubectl("one", "-n", "widgets", "create", "configmap", "foreign")

	// Unknown and unprotected kinds are faults.
	p.fleetc("apply", "--dry-run", "--prune-protected=Namespaces").exits(p, 2).says(p, `--prune-protected: "Namespaces" is not a protected kind`, "did you mean Namespace")
	p.fleetc("apply", "--dry-run", "--prune-protected=ConfigMap").exits(p, 2).says(p, `"ConfigMap" is not a protected kind`, "use one of Namespace, CustomResourceDefinition")
	p.fleetc("apply", "--dry-run", "--prune-protected", "Namespace").exits(p, 2).says(p, "--prune-protected=Namespace")

	// The CRD alone: all Widgets in all namespaces are deleted with it. Objects
	// that the plan prunes itself are not counted twice.
	const crd = "CustomResourceDefinition.apiextensions.k8s.io widgets.example.com"
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, "keeps "+crd, "keeps Namespace widgets")
	p.fleetc("apply", "--yes", "--prune-protected=CustomResourceDefinition").exits(p, 2).says(p,
		crd+": 13 other objects are deleted with it: Widget.example.com users/user-00, .*users/user-09, and 3 more",
		"keeps Namespace widgets: a Namespace is pruned only with --prune-protected",
		"15 objects would be pruned, and the limit is 10", "--prune-limit 15")
	d := p.fleetc("apply", "--dry-run", "--prune-protected=CustomResourceDefinition.apiextensions.k8s.io", "--prune-limit=15", "-o", "json").exits(p, 1)
	var report struct {
		Clusters []struct {
			Objects []struct {
				ID, Action string
				Deletes    struct {
					Count int
					Names []string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(d.stdout), &report); err != nil {
		t.Fatal(err)
	}
	for _, o := range report.Clusters[0].Objects {
		if o.ID == crd && (o.Deletes.Count != 13 || len(o.Deletes.Names) != 10 || o.Deletes.Names[0] != "Widget.example.com users/user-00") {
			t.Errorf("the report as JSON has %+v", o)
		}
	}

	// A saved plan fails when more objects would be deleted, not when fewer would.
	both := []string{"--prune-protected", "--prune-limit=20", "--plan", "plan.json"}
	p.fleetc(append([]string{"apply"}, both...)...).ok(p).says(p, crd+": 13 other objects are deleted with it", "Namespace widgets: 1 other object is deleted with it: ConfigMap widgets/foreign")
	p.userWidgets("users", 13, 14)
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, crd+": 1 object more would be deleted with it than when the plan was made")
	p.kubectl("one", "-n", "users", "delete", "widget", "user-13", "user-00")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").ok(p).says(p, "3 pruned; 13 objects deleted along with them")
	if got := p.kubectl("one", "get", "namespaces,crds", "-o", "name"); strings.Contains(got, "widgets") {
		t.Errorf("there are still %s", got)
	}
	if got := p.kubectl("one", "get", "namespaces", "users", "-o", "name"); got == "" {
		t.Error("the namespace of users is gone")
	}
}

// A prune keeps an object that got the annotation while the apply waited for health.
func TestPruneKeptMeanwhile(t *testing.T) {
	p := newWeb(t)
	p.write("environments/kept.cue", `package fleet

releases: kept: {
	namespace: "kept"
	stage:     "default"
	objects: {
		ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "kept"}
		one: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "one"}
		two: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "two"}
	}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/kept.cue", "package fleet\n")
	p.edit("environments/web.cue", runs, stuck)
	r := p.begin("apply", "--yes", "--timeout", "60s")
	r.readUntil("waits for Deployment.apps web/web", 1)
	p.kubectl("one", "-n", "kept", "annotate", "configmap", "one", "fleetc.dev/prune=never")
	p.kubectl("one", "-n", "web", "patch", "deployment", "web", "-p", `{"spec":{"template":{"metadata":{"annotations":{"fleetc.test/stuck":null}}}}}`)
	r.end().ok(p).says(p, `kept ConfigMap kept/one \(fleetc.dev/prune: never\)`, "1 pruned")
	p.edit("environments/web.cue", stuck, runs)
	p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "keeps ConfigMap kept/one: fleetc.dev/prune: never", "keeps Namespace kept: it contains ConfigMap kept/one")
	if got := p.kubectl("one", "-n", "kept", "get", "configmaps", "-o", "name"); strings.Contains(got, "two") || !strings.Contains(got, "one") {
		t.Errorf("there are %s", got)
	}
}

const volumes = `package fleet

releases: data: {
	namespace: "web"
	stage:     "apps"
	objects: claim: {
		apiVersion: "v1"
		kind:       "PersistentVolumeClaim"
		metadata: name: "data"
		spec: {accessModes: ["ReadWriteOnce"], storageClassName: "manual", volumeName: "disk", resources: requests: storage: "1Gi"}
	}
}
`

// The volume of a claim is deleted with it, unless its reclaim policy is Retain.
// Kinds that may not be listed are named.
func TestPruneClaim(t *testing.T) {
	p := newWeb(t)
	p.kubectlInput("one", `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"},"spec":{
		"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"storageClassName":"manual","hostPath":{"path":"/tmp/x"},"persistentVolumeReclaimPolicy":"Delete"}}`, "create", "-f", "-")
	p.write("environments/volumes.cue", volumes)
	p.fleetc("apply", "--yes").ok(p)
	if err := os.Remove(filepath.Join(p.dir, "environments/volumes.cue")); err != nil {
		t.Fatal(err)
	}
	claim := []string{"apply", "--dry-run", "--prune-protected=PersistentVolumeClaim"}
	p.fleetc(claim...).exits(p, 1).says(p, "PersistentVolumeClaim web/data: 1 other object is deleted with it: PersistentVolume disk; the data of the volume is lost")
	p.kubectl("one", "patch", "persistentvolume", "disk", "-p", `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
	p.fleetc(claim...).exits(p, 1).says(p, "PersistentVolumeClaim web/data: PersistentVolume disk stays, with its data: its reclaim policy is Retain")

	// Kinds that the user is not allowed to list are named.
	kubeconfig, err := p.clusters["one"].User("deployer", "deployers")
	if err != nil {
		t.Fatal(err)
	}
	p.grant("one", "apply", "deployer", "deployers")
	p.kubectl("one", "create", "clusterrole", "prune", "--verb=get,list,delete,patch,create", "--resource=configmaps,namespaces,persistentvolumeclaims,persistentvolumes")
	p.kubectl("one", "create", "clusterrolebinding", "prune", "--clusterrole=prune", "--user=deployer")
	p.waitForRight("one", "deployer", "list", "configmaps")
	for _, f := range []string{"web"} {
		if err := os.Remove(filepath.Join(p.dir, "environments", f+".cue")); err != nil {
			t.Fatal(err)
		}
	}
	p.edit(fleetFile, "stages: schema.#Stages", `stages: schema.#Stages & [{name: "default"}]`)
	p.kubectl("one", "-n", "web", "create", "configmap", "foreign")
	out := p.fleetc("apply", "--dry-run", "--prune-protected", "--kubeconfig", kubeconfig).exits(p, 1).says(p,
		"Namespace web: 1 other object is deleted with it: ConfigMap web/foreign; the user is not allowed to list [0-9]+ kinds: .*ResourceQuota")
	if lines := strings.Split(out.stdout, "\n"); slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "list") && strings.Contains(l, "configmaps") }) {
		t.Errorf("kinds that may be listed are said not to be:\n%s", out.stdout)
	}
}
