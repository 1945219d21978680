package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// newHelm returns a cluster with a chart that Helm delivers, not applied.
func newHelm(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, clusters.Spec{Name: "one"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/app.cue", `package fleet

stages: [{name: "default"}, {name: "apps"}]

releases: space: {
	namespace: "app"
	stage:     "default"
	objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "app"}
}
releases: app: {
	namespace: "app"
	stage:     "apps"
	delivery:  "helm"
	chart: path: "charts/app"
	values: colour: "blue"
}
`)
	p.write("charts/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	p.write("charts/app/values.yaml", "colour: grey\nreplicas: 1\npassword: hunter2\nmore: false\nfail: false\nslow: false\ntests: {fail: false}\n")
	p.write("charts/app/crds/widget.yaml", `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`)
	p.write("charts/app/templates/app.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {colour: {{ .Values.colour | quote }}}
---
apiVersion: v1
kind: Secret
metadata: {name: app}
data: {password: {{ .Values.password | b64enc }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: app}}
  template:
    metadata:
      labels: {app: app}
      annotations: {colour: {{ .Values.colour | quote }}{{ if .Values.slow }}, fleetc.test/stuck: ImagePullBackOff{{ end }}}
    spec: {containers: [{name: app, image: "example.com/app:1"}]}
{{- if .Values.more }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more}
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}
`)
	p.write("charts/app/templates/hooks.yaml", hookOf("pre-install,pre-upgrade", "migrate", "")+hookOf("post-install,post-upgrade", "announce", ""))
	return p
}

// hookOf returns a hook Job as a document of a template.
func hookOf(event, name, more string) string {
	return `---
apiVersion: batch/v1
kind: Job
metadata: {name: ` + name + `, annotations: {helm.sh/hook: "` + event + `"` + more + `}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: { {{- if eq (toString .Values.fail) "` + name + `" }}fleetc.test/fail: "true"{{ end -}} }}
    spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/hook:1"}]}
`
}

// helmProgram returns the path of the helm program. It asks the go command once, which
// needs half a second of CPU time.
var helmProgram = sync.OnceValues(func() (string, error) {
	tool, err := exec.Command("go", "tool", "-modfile=../tools/go.mod", "-n", "helm").Output()
	return strings.TrimSpace(string(tool)), err
})

// helmCommand returns a command of the helm program on the cluster with the ID. It has its
// own home directory, since helm remembers there what a cluster serves.
func (p *place) helmCommand(id string, args ...string) *exec.Cmd {
	p.Helper()
	program, err := helmProgram()
	if err != nil {
		p.Fatal(err)
	}
	cmd := exec.CommandContext(p.Context(), program, append([]string{"--kubeconfig", p.clusters[id].Kubeconfig, "-n", "app"}, args...)...)
	home := p.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return cmd
}

// helm runs the helm program on the cluster with the ID.
func (p *place) helm(id string, args ...string) string {
	p.Helper()
	out, err := p.helmCommand(id, args...).CombinedOutput()
	if err != nil {
		p.Fatalf("helm %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// helmHistory returns the statuses of the revisions of the release app, the oldest
// first.
func (p *place) helmHistory(id string) string {
	p.Helper()
	var revisions []struct {
		Revision int
		Status   string
	}
	if err := json.Unmarshal([]byte(p.helm(id, "history", "app", "-o", "json")), &revisions); err != nil {
		p.Fatal(err)
	}
	var all []string
	for _, r := range revisions {
		all = append(all, r.Status)
	}
	return strings.Join(all, " ")
}

func (p *place) colour(id string) string {
	p.Helper()
	return p.kubectl(id, "-n", "app", "get", "configmap", "app", "-o", "jsonpath={.data.colour}")
}

// The helm program works with a release of Helm delivery: it is installed, left
// alone when it is up to date, upgraded, restored after a helm rollback, and
// uninstalled.
func TestHelmDelivery(t *testing.T) {
	p := newHelm(t)
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, "^dev/one: installs HelmRelease.helm.sh app/app$", `\+ Deployment.apps app/app \(release app\)`)
	p.fleetc("apply", "--yes").ok(p).says(p, "runs hook Job.batch app/migrate", "waits for Deployment.apps app/app|created HelmRelease", "runs hook Job.batch app/announce", "^dev/one: created HelmRelease.helm.sh app/app$", "2 hooks run")
	if got := p.helm("one", "ls", "-q"); got != "app" {
		t.Errorf("helm ls says %q", got)
	}
	if got := p.helm("one", "get", "values", "app", "-o", "json"); !strings.Contains(got, `"colour":"blue"`) {
		t.Errorf("helm get values says %s", got)
	}
	if got := p.helmHistory("one"); got != "deployed" {
		t.Errorf("helm history: %s", got)
	}
	p.fleetc("status", "--health").ok(p).says(p, "^dev/one: all objects are ready")
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes").ok(p).says(p, "runs its bundle, nothing was written")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a second apply writes %q", w)
	}

	p.edit("environments/app.cue", `colour: "blue"`, `colour: "red"`)
	if d := p.fleetc("apply", "--yes").ok(p).says(p, `~ data.colour: "?blue"? -> "?red"?`, "^dev/one: changed HelmRelease.helm.sh app/app$", "^2 objects updated in 1 cluster"); strings.Contains(d.stdout+d.stderr, "hunter") || strings.Contains(d.stdout, "fleetc.dev/") {
		t.Errorf("a secret, or a mark that Helm does not apply, is shown:\n%s%s", d.stdout, d.stderr)
	}
	if got := p.helmHistory("one") + " " + p.colour("one"); got != "superseded deployed red" {
		t.Errorf("after an upgrade: %s", got)
	}

	p.helm("one", "rollback", "app", "1")
	if got := p.colour("one"); got != "blue" {
		t.Errorf("after helm rollback: %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "upgrades HelmRelease.helm.sh app/app: another tool created its revision 3")
	if got := p.helmHistory("one") + " " + p.colour("one"); got != "superseded superseded superseded deployed red" {
		t.Errorf("after helm rollback and apply: %s", got)
	}

	p.kubectl("one", "-n", "app", "delete", "configmap", "app")
	p.fleetc("status", "--health").exits(p, 1).says(p, "^dev/one: ConfigMap app/app is missing: it does not exist")
	p.fleetc("apply", "--yes").ok(p).says(p, "upgrades HelmRelease.helm.sh app/app: ConfigMap app/app is missing", `\+ ConfigMap app/app`)

	p.write("environments/app.cue", strings.Split(readFile(p, "environments/app.cue"), "releases: app:")[0])
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, "uninstalls HelmRelease.helm.sh app/app", "keeps ConfigMap app/kept: helm.sh/resource-policy: keep", "keeps CustomResourceDefinition.apiextensions.k8s.io gadgets.example.com")
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: pruned HelmRelease.helm.sh app/app$", "3 pruned")
	if got := p.helm("one", "ls", "-a", "-q"); got != "" {
		t.Errorf("after the release is gone, helm has %q", got)
	}
	if got := p.kubectl("one", "-n", "app", "get", "deployments,secrets,configmaps", "-o", "name"); got != "configmap/kept\nconfigmap/kube-root-ca.crt" {
		t.Errorf("after the release is gone, there is:\n%s", got)
	}
	p.kubectl("one", "get", "crd", "gadgets.example.com")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

func readFile(p *place, name string) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

// A Helm release of another tool is refused until it is adopted.
func TestHelmForeign(t *testing.T) {
	p := newHelm(t)
	p.kubectl("one", "create", "namespace", "app")
	p.helm("one", "install", "app", filepath.Join(p.dir, "charts/app"))
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "HelmRelease.helm.sh app/app: a Helm release with this name exists, and fleetc did not create it", "hint: pass --adopt")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a refused apply writes %q", w)
	}
	p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, "upgrades HelmRelease.helm.sh app/app, which another tool created\n")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if got := p.helmHistory("one") + " " + p.colour("one"); got != "superseded deployed blue" {
		t.Errorf("after it was taken over: %s", got)
	}
}

// After a killed or failed upgrade, the next one converges without leftovers. Kept
// objects stay, and CRDs are upgraded.
func TestHelmRecovers(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", fail: "migrate"}`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "environments/app.cue:10:11: Job.batch app/migrate: the hook did not succeed")
	if got := p.helmHistory("one"); got != "failed" {
		t.Errorf("after a first installation that failed: %s", got)
	}
	p.edit("environments/app.cue", `fail: "migrate"`, `fail: false`)
	p.fleetc("apply", "--yes").ok(p).says(p, "installs HelmRelease.helm.sh app/app")
	if got := p.helmHistory("one"); got != "failed deployed" {
		t.Errorf("after an installation over one that failed: %s", got)
	}

	p.edit("environments/app.cue", `fail: false`, `{slow: true, more: true}`)
	p.edit("charts/app/crds/widget.yaml", "size: {type: integer}", "size: {type: integer}, colour: {type: string}")
	r := p.begin("apply", "--yes")
	p.waitFor("the upgrade to wait", func() bool {
		return strings.Contains(p.helmHistory("one"), "pending-upgrade") && p.kubectl("one", "-n", "app", "get", "configmap", "more", "--ignore-not-found", "-o", "name") != ""
	})
	r.kill(0)
	if got := p.helmHistory("one"); got != "failed deployed pending-upgrade" {
		t.Errorf("after a kill: %s", got)
	}
	p.edit("environments/app.cue", `{slow: true, more: true}`, `slow: false`)
	p.fleetc("apply", "--yes").ok(p).says(p, "upgrades HelmRelease.helm.sh app/app: its revision 3 is pending-upgrade", "- ConfigMap app/more")
	if got := p.helmHistory("one"); got != "failed superseded failed deployed" {
		t.Errorf("after the apply that follows: %s", got)
	}
	if got := p.kubectl("one", "-n", "app", "get", "configmap", "more", "--ignore-not-found", "-o", "name"); got != "" {
		t.Error("objects of the killed upgrade still exist")
	}
	if got := p.kubectl("one", "get", "crd", "gadgets.example.com", "-o", "jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.colour.type}"); got != "string" {
		t.Error("the CRD was not upgraded")
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	p.write("charts/app/templates/gadget.yaml", "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: one}\n")
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/app.cue", `slow: false`, `slow: true`)
	p.fleetc("apply", "--yes", "--timeout", stuckFor).exits(p, 2).says(p, "Deployment.apps app/app: .*ImagePullBackOff", "^dev/one: failed: 0 created, 1 changed, 0 pruned")
	if got := p.helmHistory("one"); !strings.HasSuffix(got, "deployed failed") {
		t.Errorf("after a rollout that got stuck: %s", got)
	}
	p.edit("environments/app.cue", `slow: true`, `slow: false`)
	if text := p.fleetc("diff", "--live").exits(p, 1).stdout; strings.Contains(text, "without a dry run") {
		t.Errorf("after a failed upgrade, an administrator is told that dry runs are missing:\n%s", text)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "is failed")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	// Another Helm operation is running.
	p.kubectl("one", "-n", "app", "label", "secret", "-l", "name=app,status=deployed", "fleetc.dev/revision=1", "status=pending-upgrade", "--overwrite")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "another Helm operation is running on it or was interrupted", "hint: wait; if it was interrupted, run helm rollback app -n app")
}

// The delivery of a release changes on a live cluster without deleting objects.
func TestHelmSwitch(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.fleetc("apply", "--yes").ok(p)
	uids := func() string {
		return p.kubectl("one", "-n", "app", "get", "deployment/app", "configmap/app", "secret/app", "-o", "jsonpath={.items[*].metadata.uid}")
	}
	first := uids()
	p.edit("environments/app.cue", `delivery:  "manifests"`, `delivery:  "helm"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "upgrades HelmRelease.helm.sh app/app: Helm takes over its objects from fleetc", "0 pruned")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if got := p.helmHistory("one"); got != "deployed" || uids() != first {
		t.Errorf("delivered by Helm, the release is %s, and its objects are %s, before %s", got, uids(), first)
	}
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "red", more: true}`)
	p.fleetc("apply", "--yes").ok(p)

	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.edit("environments/app.cue", `{colour: "red", more: true}`, `colour: "green"`)
	if d := p.fleetc("diff", "--live").exits(p, 1).says(p, `~ data.colour: "?red"? -> "?green"?`, "- ConfigMap app/more"); strings.Contains(d.stdout+d.stderr, "made it") || strings.Contains(d.stdout, "HelmRelease") {
		t.Errorf("objects that Helm hands over count as another tool's:\n%s%s", d.stdout, d.stderr)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "its objects are applied now", "pruned ConfigMap app/more")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if got := p.helm("one", "ls", "-a", "-q"); got != "" || uids() != first || p.colour("one") != "green" {
		t.Errorf("applied again, helm has %q, and the objects are %s, before %s", got, uids(), first)
	}
	if got := p.kubectl("one", "-n", "app", "get", "configmap", "app", "-o", "jsonpath={.metadata.annotations}"); strings.Contains(got, "helm.sh") {
		t.Errorf("Helm's annotations stay: %s", got)
	}
}

// A release that leaves the fleet after fleetc failed to take it over from Helm is
// uninstalled, and no object of it is said to stay.
func TestHelmSwitchFails(t *testing.T) {
	p := newHelm(t)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", fail: "migrate"}`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "Job.batch app/migrate: the hook did not succeed")
	p.edit("environments/app.cue", "releases: app: {", "_unused: {")
	d := p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "pruned HelmRelease.helm.sh app/app")
	if strings.Contains(d.stdout+d.stderr, "forgets it") {
		t.Errorf("objects that Helm deletes are said to stay:\n%s%s", d.stdout, d.stderr)
	}
	if got := p.kubectl("one", "-n", "app", "get", "configmap/app", "deployment/app", "--ignore-not-found", "-o", "name"); got != "" {
		t.Errorf("there is %q", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// Deletion hooks run in Helm's order when their release leaves the fleet; test
// hooks run on request. The delivery makes no difference.
func TestHelmHooks(t *testing.T) {
	p := newHelm(t)
	p.write("charts/app/templates/more.yaml",
		hookOf("pre-delete", "second", `, helm.sh/hook-weight: "2"`)+hookOf("pre-delete", "first", `, helm.sh/hook-weight: "1", helm.sh/hook-delete-policy: "hook-succeeded"`)+
			hookOf("post-delete", "last", "")+hookOf("test", "smoke", "")+hookOf("test", "late", `, helm.sh/hook-weight: "5"`))
	p.fleetc("test").exits(p, 2).says(p, "the cluster does not run this release as the fleet has it", "hint: run fleetc apply first")
	for _, delivery := range []string{"manifests", "helm"} {
		app := readFile(p, "environments/app.cue")
		p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "`+delivery+`"`)
		p.fleetc("apply", "--yes").ok(p)
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

		p.fleetc("test").ok(p).says(p, `\Adev/one: app: Job.batch app/smoke: passed\ndev/one: app: Job.batch app/late: passed$`)
		p.fleetc("test", "--release", "space").exits(p, 2).says(p, "no selected release has test hooks")
		p.fleetc("test", "--release", "ap").exits(p, 2).says(p, "did you mean app")
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
		p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", fail: "smoke"}`)
		p.fleetc("apply", "--yes").ok(p)
		p.fleetc("test").exits(p, 2).says(p, `^environments/app.cue:.*: Job.batch app/smoke: the hook did not succeed: .* \[FL2116\]$`, "^    hint: correct the cause, then run the command again$")
		d := p.fleetc("test", "-o", "json").exits(p, 2).says(p, `"passed": false`, "Job.batch app/smoke: the hook did not succeed")
		if strings.Contains(d.stdout, "late") {
			t.Errorf("a test runs after one that failed:\n%s", d.stdout)
		}

		p.write("environments/app.cue", strings.Split(app, "releases: app:")[0])
		d = p.fleetc("apply", "--yes").ok(p)
		var ran []string
		for line := range strings.Lines(d.stderr) {
			if _, name, ok := strings.Cut(strings.TrimSpace(line), "runs hook Job.batch app/"); ok {
				ran = append(ran, name)
			}
		}
		if got := strings.Join(ran, " "); got != "first second last" {
			t.Errorf("%s: the hooks that ran are %q\n%s", delivery, got, d.stderr)
		}
		if got := p.kubectl("one", "-n", "app", "get", "job", "first", "--ignore-not-found", "-o", "name"); got != "" {
			t.Error("a hook that succeeded is not deleted")
		}
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
		p.write("environments/app.cue", app)
	}
}
