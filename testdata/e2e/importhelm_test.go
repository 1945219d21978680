package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// newImport returns two clusters with the releases of a chart that the helm program
// installed, and an empty fleet.
func newImport(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir(), clusters: map[string]*clusters.Cluster{}}
	p.boot(clusters.Spec{Name: "one", Nodes: 1}, clusters.Spec{Name: "two", Nodes: 1})
	p.fleetc("init", "example.com/infra").ok(p)
	p.write("installed/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.0\n")
	p.write("installed/web/values.yaml", "# replicas of the server\nreplicas: 1\nhost: example.com\npassword: none\ndatabase: {user: web, password: none}\n")
	p.write("installed/web/templates/web.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}, labels: {release: {{ .Release.Name }}}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: web, image: "example.com/web:1", env: [{name: HOST, value: {{ .Values.host | quote }}}]}]}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
data: {password: {{ .Values.password | b64enc }}}
stringData:
  connection: postgres://{{ .Values.database.user }}:{{ .Values.database.password }}@{{ .Values.host }}/web
`)
	p.write("installed/web/crds/gadget.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gadgets.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Gadget, plural: gadgets}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n")
	for _, id := range []string{"one", "two"} {
		p.kubectl(id, "create", "namespace", "app")
		p.helm(id, "install", "web", filepath.Join(p.dir, "installed/web"), "--set", "replicas=3,host=web-"+id+".example.com")
	}
	p.helm("two", "install", "extra", filepath.Join(p.dir, "installed/web"), "--set", "password=correct-horse,host=extra.example.com,database.password=battery-staple")
	return p
}

// context returns the context of a cluster as import takes it.
func (p *place) context(id string) string { return "prod/" + id + "=" + p.clusters[id].Context }

// The releases of live clusters become a fleet that renders what Helm stored, and
// adopting it changes no specification and restarts no pod.
func TestImportHelm(t *testing.T) {
	p := newImport(t)
	contexts := []string{"--context", p.context("one"), "--context", p.context("two")}
	_, mark := p.writes("two", 0)
	report := p.fleetc(append([]string{"import", "helm"}, contexts...)...).ok(p).says(p,
		`^prod/one +web +3 +equal bytes`, `^prod/two +extra +3 +equal bytes`, `^prod/two +web +2 +equal bytes`, "^3 releases in 2 clusters, 3 equal bytes$",
		"HelmRelease app/extra password: a Secret has this value, which is readable in the fleet now",
		"HelmRelease app/extra database.password: a Secret has this value, which is readable in the fleet now")
	if strings.Contains(report.stdout, "host: a Secret has") {
		t.Errorf("import reports a value that other objects have:\n%s", report.stdout)
	}
	if w, _ := p.writes("two", mark); len(w) > 0 {
		t.Errorf("import writes %q", w)
	}
	if got := readFile(p, "environments/app.cue"); !strings.Contains(got, "replicas: 3") || !strings.Contains(got, `"web-\(cluster.name).example.com"`) {
		t.Errorf("the root layer does not have what the clusters share:\n%s", got)
	}
	p.fleetc("vet", "--render").ok(p)
	p.fleetc(append([]string{"import", "helm"}, contexts...)...).ok(p).says(p, "^0 files written, 0 removed")

	state := func() string {
		return p.kubectl("two", "-n", "app", "get", "deployments,secrets,pods", "-l", "!owner", "-o", "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.spec} {.data}{'\\n'}{end}")
	}
	before := state()
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "Helm release app/web created it", "pass --adopt")
	p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, "0 created")
	if after := state(); after != before {
		t.Errorf("adopting the releases changed what runs:\n%s\nbefore\n%s", after, before)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A chart with dependencies, which Helm does not store, must be given. A release that
// is not deployed, has the name of another one, or differs from its record is listed.
func TestImportHelmIncomplete(t *testing.T) {
	p := newImport(t)
	p.write("installed/all/Chart.yaml", "apiVersion: v2\nname: all\nversion: 2.0.0\ndependencies: [{name: web, version: 1.2.0, repository: \"\"}]\n")
	if err := os.Mkdir(filepath.Join(p.dir, "installed/all/charts"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-r", filepath.Join(p.dir, "installed/web"), filepath.Join(p.dir, "installed/all/charts")).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	p.helm("one", "install", "all", filepath.Join(p.dir, "installed/all"))
	p.kubectl("one", "-n", "app", "label", "secret", "sh.helm.release.v1.web.v1", "status=failed", "--overwrite")
	p.fleetc("import", "helm", "--context", p.context("one")).exits(p, 2).says(p, "the chart all@2.0.0 cannot be fetched", "hint: pass a copy with --chart all=DIR or --charts DIR")
	p.fleetc("import", "helm", "--context", p.context("one"), "--charts", "installed").ok(p).says(p, `^prod/one +all +3 +equal bytes`, "^1 release in 1 cluster", "HelmRelease app/web: its last revision is failed: install it, or write the release by hand")

	p.write("installed/own/Chart.yaml", "apiVersion: v2\nname: own\nversion: 1.0.0\n")
	p.write("installed/own/templates/own.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {revision: {{ .Release.Revision | quote }}}\n")
	own := filepath.Join(p.dir, "installed/own")
	p.helm("one", "install", "own", own)
	p.helm("one", "install", "own", own, "--namespace", "default")
	p.helm("one", "install", "upgraded", own)
	p.helm("one", "upgrade", "upgraded", own)
	p.fleetc("import", "helm", "--context", p.context("one"), "--charts", "installed").exits(p, 1).says(p,
		"^prod/one +app-own +1 +unproven +another release has this name, and Helm calls this one own$",
		"HelmRelease default/own: the release is called default-own in the fleet, because names are unique in a cluster",
		"^HelmRelease app/upgraded: release upgraded differs in prod/one$")
	p.helm("one", "uninstall", "own")
	p.helm("one", "uninstall", "own", "--namespace", "default")
	p.helm("one", "uninstall", "upgraded")

	p.fleetc("import", "helm", "--context", p.context("one"), "--context", "again="+p.clusters["one"].Context).exits(p, 2).says(p, "lead to the same cluster")
	p.helm("one", "install", "web.example.com", filepath.Join(p.dir, "installed/web"))
	p.helm("one", "install", "web-example-com", filepath.Join(p.dir, "installed/web"))
	p.fleetc("import", "helm", "--context", p.context("one"), "--charts", "installed").exits(p, 1).says(p, `^prod/one +all +3 +equal bytes`,
		`^prod/one +app-web-example-com +2 +unproven`, `^prod/one +app-web-example-com-2 +2 +unproven .*Helm calls this one web.example.com$`)
	p.fleetc("import", "helm").exits(p, 2).says(p, "no context is named", "hint: write --context CONTEXT")
	p.fleetc("import", "helm", "--context", "nowhere").exits(p, 2).says(p, "nowhere")
	p.kubectl("one", "-n", "app", "patch", "secret", "sh.helm.release.v1.all.v1", "--type=merge", "-p", `{"data":{"release":"eA=="}}`)
	p.fleetc("import", "helm", "--context", p.context("one"), "--charts", "installed").exits(p, 2).says(p, `Secret app/sh.helm.release.v1.all.v1 is not a valid Helm record: .* \[FL2115\]$`, "hint: see helm history")
}

// A chart is pinned in the repository that has the same templates, and restored from
// the record otherwise.
func TestImportHelmRepository(t *testing.T) {
	p := newImport(t)
	repo := filepath.Join(p.dir, "repository")
	p.helm("one", "package", filepath.Join(p.dir, "installed/web"), "-d", repo)
	p.helm("one", "repo", "index", repo)
	server := httptest.NewServer(http.FileServer(http.Dir(repo)))
	t.Cleanup(server.Close)
	p.fleetc("import", "helm", "--context", p.context("one"), "--repo", server.URL).ok(p).says(p, `^prod/one +web +3 +equal bytes`)
	if got := readFile(p, "environments/charts/web/chart.cue"); !strings.Contains(got, server.URL) || !strings.Contains(got, "replicas of the server") {
		t.Errorf("the chart is not pinned in its repository, with its comments:\n%s", got)
	}

	p.edit("installed/web/templates/web.yaml", "kind: Deployment\nmetadata:", "kind: Deployment\n# changed\nmetadata:")
	p.helm("one", "package", filepath.Join(p.dir, "installed/web"), "-d", repo)
	p.helm("one", "repo", "index", repo)
	p.dir = t.TempDir()
	p.fleetc("init", "example.com/infra").ok(p)
	p.fleetc("import", "helm", "--context", p.context("one"), "--repo", server.URL).ok(p).says(p, `^prod/one +web +3 +equal bytes`)
	if got := readFile(p, "environments/charts/web/chart.cue"); !strings.Contains(got, `path: "charts/web-1.2.0"`) {
		t.Errorf("the chart is not restored from the record:\n%s", got)
	}
}

// After an upgrade with --reuse-values, Helm stores the values in the chart too. The restored
// chart does not have secrets among them.
func TestImportHelmReusedValues(t *testing.T) {
	p := newImport(t)
	web := filepath.Join(p.dir, "installed/web")
	p.helm("two", "upgrade", "extra", web, "--reuse-values", "--set", "replicas=2")
	p.fleetc("import", "helm", "--context", p.context("two")).ok(p).says(p, `^prod/two +extra +3 +equal bytes`, "HelmRelease app/extra password: a Secret has this value")
	out, _ := exec.Command("grep", "-rl", "correct-horse", filepath.Join(p.dir, "environments"), filepath.Join(p.dir, "charts")).Output()
	if got := strings.TrimSpace(string(out)); got != filepath.Join(p.dir, "environments/app.cue") {
		t.Errorf("the password is in the files:\n%s", got)
	}
	p.helm("two", "upgrade", "extra", web, "--reuse-values", "--set", "password=battery")
	p.fleetc("import", "helm", "--context", p.context("two")).ok(p).says(p, "HelmRelease app/extra password: the values.yaml of the stored chart has a different value here")
}
