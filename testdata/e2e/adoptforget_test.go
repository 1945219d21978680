package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newReleased returns a cluster with two revisions of a release app that the helm
// program installed with the environment, and a fleet that applies the same chart
// as manifests.
func newReleased(t *testing.T, env ...string) *place {
	t.Helper()
	p := newHelm(t)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.kubectl("one", "create", "namespace", "app")
	for _, args := range [][]string{{"install", "app"}, {"upgrade", "app"}} {
		if out, err := p.tryHelm(env, append(args, filepath.Join(p.dir, "charts/app"))...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return p
}

// tryHelm runs the helm program on the cluster one, and returns its error.
func (p *place) tryHelm(env []string, args ...string) (string, error) {
	p.Helper()
	cmd := p.helmCommand("one", args...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// records returns the names of the Secrets of the release app.
func (p *place) records() string {
	p.Helper()
	return p.kubectl("one", "-n", "app", "get", "secrets", "-l", "owner=helm,name=app", "-o", "jsonpath={.items[*].metadata.name}")
}

const (
	bothRecords = "sh.helm.release.v1.app.v1 sh.helm.release.v1.app.v2"
	ofRelease   = "the record of Helm release app in app"
)

// checkForgotten requires that helm knows no releases, and that the objects are the
// same.
func (p *place) checkForgotten(uids string, env ...string) {
	p.Helper()
	if out, err := p.tryHelm(env, "uninstall", "app"); err == nil || !strings.Contains(out, "release: not found") {
		p.Errorf("helm uninstall: %v, %s", err, out)
	}
	if got := p.uids(); got != uids || strings.Count(got, " ") != 3 {
		p.Errorf("the objects are %s, and were %s", got, uids)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

func (p *place) uids() string {
	p.Helper()
	return p.kubectl("one", "-n", "app", "get", "deployment/app", "configmap/app", "configmap/kept", "secret/app", "-o", "jsonpath={.items[*].metadata.uid}")
}

// The record of an adopted release is removed with all revisions, and helm
// uninstall cannot delete the objects any more.
func TestAdoptForget(t *testing.T) {
	p := newReleased(t)
	uids := p.uids()
	p.fleetc("apply", "--dry-run", "--adopt").exits(p, 1).says(p, "^dev/one: keeps "+ofRelease+": helm uninstall would delete the objects; --adopt-forget removes the record alone$")
	p.fleetc("apply", "--dry-run", "--adopt", "--adopt-forget").exits(p, 1).says(p, "^dev/one: removes "+ofRelease+" when everything is applied: sh.helm.release.v1.app.v1, sh.helm.release.v1.app.v2$")
	if got := p.records(); got != bothRecords {
		t.Fatalf("after dry runs, the records are %s", got)
	}
	// A failed apply removes nothing.
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", slow: true}`)
	p.fleetc("apply", "--yes", "--adopt", "--adopt-forget", "--timeout", stuckFor).exits(p, 2).says(p, "^dev/one: keeps "+ofRelease+": the apply did not succeed")
	if got := p.records(); got != bothRecords {
		t.Fatalf("after an apply that failed, the records are %s", got)
	}
	p.edit("environments/app.cue", `{colour: "blue", slow: true}`, `colour: "blue"`)
	p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, `(?s)dev/one: keeps `+ofRelease+`: helm uninstall would.*dev/one: applied: .*dev/one: keeps `+ofRelease+`: helm uninstall would`)

	// The plan only removes the record. Helm writes it before the apply.
	p.fleetc("apply", "--adopt", "--adopt-forget", "--plan", "plan.json").ok(p)
	p.kubectl("one", "-n", "app", "label", "secret", "sh.helm.release.v1.app.v2", "written=again")
	p.fleetc("apply", "--yes", "--from-plan", "plan.json").ok(p).says(p, "^dev/one: keeps "+ofRelease+": Helm has written it since the plan was made; helm uninstall would delete the objects", "nothing was written")
	if got := p.records(); got != bothRecords {
		t.Fatalf("after Helm has written a record, the records are %s", got)
	}
	p.fleetc("apply", "--adopt", "--adopt-forget", "--plan", "plan.json").ok(p)
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes", "--from-plan", "plan.json").ok(p).says(p, "^dev/one: removed "+ofRelease+"$", "^dev/one: applied: 0 created, 0 changed, 0 pruned$")
	// The last revision is removed last, so that the next apply finishes a killed
	// one.
	const secrets = "delete /api/v1/namespaces/app/secrets/sh.helm.release.v1.app."
	w, _ := p.writes("one", mark)
	if w = withoutOwn(w); !slices.Equal(w, []string{secrets + "v1 200", secrets + "v2 200"}) {
		t.Errorf("to remove a record, apply writes %q", w)
	}
	if got := p.kubectl("one", "-n", "app", "get", "deployment/app", "configmap/app", "-o", "jsonpath={.items[*].metadata.annotations} {.items[*].metadata.labels}"); strings.Contains(got, "helm.sh") || strings.Contains(got, "Helm") {
		t.Errorf("Helm's marks stay: %s", got)
	}
	p.checkForgotten(uids)
}

// Records in ConfigMaps are removed as well, with the marks of an object whose
// fields another manager keeps.
func TestAdoptForgetConfigMaps(t *testing.T) {
	const driver = "HELM_DRIVER=configmap"
	p := newReleased(t, driver)
	p.kubectl("one", "annotate", "namespace", "app", "meta.helm.sh/release-name=app", "meta.helm.sh/release-namespace=app", "mine=too")
	p.write("charts/app/templates/space.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: app, labels: {app.kubernetes.io/managed-by: Helm}}\n")
	if out, err := p.tryHelm([]string{driver}, "upgrade", "app", filepath.Join(p.dir, "charts/app"), "--take-ownership"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.write("charts/app/templates/space.yaml", "")
	uids := p.uids()
	d := p.fleetc("apply", "--yes", "--adopt", "--adopt-forget", "-o", "json").ok(p)
	var report struct {
		Clusters []struct {
			HelmRecords []struct {
				Namespace, Name, Storage, Action string
				Records                          []string
			}
		}
	}
	if err := json.Unmarshal([]byte(d.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if r := report.Clusters[0].HelmRecords; len(r) != 1 || r[0].Name != "app" || r[0].Storage != "ConfigMap" || r[0].Action != "removed" || len(r[0].Records) != 3 {
		t.Errorf("the report has %+v", r)
	}
	if got := p.kubectl("one", "get", "namespace", "app", "-o", "jsonpath={.metadata.annotations} {.metadata.labels}"); strings.Contains(got, "helm.sh") || strings.Contains(got, "Helm") || !strings.Contains(got, "mine") {
		t.Errorf("the namespace has %s", got)
	}
	p.checkForgotten(uids, driver)
}

// The record stays while the release has an object that fleetc does not apply,
// while an operation of Helm is pending, and when Helm writes it during the apply.
// The apply succeeds all the same.
func TestAdoptForgetKeeps(t *testing.T) {
	p := newReleased(t)
	p.helm("one", "upgrade", "app", filepath.Join(p.dir, "charts/app"), "--set", "more=true")
	const all = bothRecords + " sh.helm.release.v1.app.v3"
	keeps := func(why string) {
		t.Helper()
		d := p.fleetc("apply", "--yes", "--adopt", "--adopt-forget").ok(p)
		d.says(p, "^dev/one: keeps "+ofRelease+": "+why+"; helm uninstall would delete the objects$")
		if got := p.records(); got != all {
			t.Errorf("%s: the records are %s", why, got)
		}
	}
	keeps("the release also has objects that fleetc does not apply: ConfigMap app/more")
	p.kubectl("one", "-n", "app", "delete", "configmap", "more")
	const last = "secret/sh.helm.release.v1.app.v3"
	p.kubectl("one", "-n", "app", "label", last, "status=pending-upgrade", "--overwrite")
	keeps("another Helm operation is running on it or was interrupted: revision 3 is pending-upgrade")
	p.kubectl("one", "-n", "app", "label", last, "status=deployed", "--overwrite")

	// Helm writes the record during an apply.
	p.write("environments/numbered.cue", strings.ReplaceAll(numberedRelease(0, 200, 0), `namespace: "web"`, `namespace: "app"`))
	r := p.begin("apply", "--yes", "--adopt", "--adopt-forget")
	r.readUntil("created", 20)
	p.kubectl("one", "-n", "app", "label", last, "written=again")
	r.readAll()
	r.end().ok(p).says(p, "^dev/one: kept "+ofRelease+` \(Helm has written it since the plan was made; helm uninstall would delete the objects\)$`, "^dev/one: keeps "+ofRelease+": Helm has written it")
	if got := p.records(); got != all {
		t.Errorf("the records are %s", got)
	}
	uids := p.uids()
	p.fleetc("apply", "--yes", "--adopt", "--adopt-forget").ok(p).says(p, "^dev/one: removed "+ofRelease+"$")
	p.checkForgotten(uids)
}

// A user without the right to read or delete the records gets a fault, and nothing
// is lost. A release with Helm delivery keeps its records.
func TestAdoptForgetRights(t *testing.T) {
	p := newReleased(t)
	p.write("charts/app/templates/extra.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: extra}\n")
	p.helm("one", "upgrade", "app", filepath.Join(p.dir, "charts/app"))
	p.write("charts/app/templates/extra.yaml", "")
	p.kubectl("one", "-n", "app", "delete", "serviceaccount", "extra")
	const all = bothRecords + " sh.helm.release.v1.app.v3"
	kubeconfig, err := p.clusters["one"].User("deployer", "deployers")
	if err != nil {
		t.Fatal(err)
	}
	as := func(args ...string) result { return p.end(p.command(append(args, "--kubeconfig", kubeconfig)...)) }
	p.kubectl("one", "create", "clusterrole", "most", "--verb=get,create,patch,update", "--resource=namespaces,secrets,configmaps,deployments.apps,jobs.batch,leases.coordination.k8s.io,customresourcedefinitions.apiextensions.k8s.io")
	p.kubectl("one", "create", "clusterrolebinding", "most", "--clusterrole=most", "--user=deployer")
	p.kubectl("one", "create", "clusterrole", "jobs", "--verb=delete", "--resource=jobs.batch")
	p.kubectl("one", "create", "clusterrolebinding", "jobs", "--clusterrole=jobs", "--user=deployer")
	p.kubectl("one", "create", "namespace", "fleetc-system")
	p.kubectl("one", "-n", "fleetc-system", "create", "role", "own", "--verb=list,delete", "--resource=secrets")
	p.kubectl("one", "-n", "fleetc-system", "create", "rolebinding", "own", "--role=own", "--user=deployer")
	p.waitForRight("one", "deployer", "get", "namespaces")
	p.waitForRight("one", "deployer", "list", "secrets", "-n", "fleetc-system")
	as("apply", "--dry-run", "--adopt").exits(p, 1).says(p, "^dev/one: keeps "+ofRelease+": the user is not allowed to list secrets in app; if the release still exists, helm uninstall would delete the objects$")
	as("apply", "--yes", "--adopt", "--adopt-forget").exits(p, 2).says(p, "the user is not allowed to list configmaps in app; delete and list secrets in app", "nothing was written")
	p.kubectl("one", "-n", "app", "create", "role", "look", "--verb=list", "--resource=secrets,configmaps")
	p.kubectl("one", "-n", "app", "create", "rolebinding", "look", "--role=look", "--user=deployer")
	p.waitForRight("one", "deployer", "list", "configmaps", "-n", "app")
	// An unreadable object may exist.
	as("apply", "--dry-run", "--adopt", "--adopt-forget").exits(p, 1).says(p, "^dev/one: keeps "+ofRelease+": the release also has objects that fleetc does not apply: ServiceAccount app/extra; helm")
	p.kubectl("one", "-n", "app", "create", "role", "accounts", "--verb=get", "--resource=serviceaccounts")
	p.kubectl("one", "-n", "app", "create", "rolebinding", "accounts", "--role=accounts", "--user=deployer")
	p.waitForRight("one", "deployer", "get", "serviceaccounts", "-n", "app")
	as("apply", "--yes", "--adopt", "--adopt-forget").exits(p, 2).says(p, `the user is not allowed to delete secrets in app \[FL2104\]$`, "nothing was written")
	if got := p.records(); got != all {
		t.Errorf("the records are %s", got)
	}
	p.edit("environments/app.cue", `delivery:  "manifests"`, `delivery:  "helm"`)
	p.fleetc("apply", "--yes", "--adopt", "--adopt-forget").ok(p).says(p, "upgrades HelmRelease.helm.sh app/app, which another tool created")
	if got := p.helmHistory("one"); got != "superseded superseded superseded deployed" {
		t.Errorf("helm history: %s", got)
	}
}
