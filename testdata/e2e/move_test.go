package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// moveChart is a chart with a Deployment, whose pods run, a Secret and a hook.
var moveChart = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.0\n",
	"values.yaml": "replicas: 1\nhost: example.com\n",
	"templates/web.yaml": `apiVersion: apps/v1
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
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {host: {{ .Values.host | quote }}}
`,
}

// newMove returns a cluster and an empty fleet, beside a repository of another tool with the
// chart and the given files.
func newMove(t *testing.T, files map[string]string) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir(), clusters: map[string]*clusters.Cluster{}}
	p.boot(clusters.Spec{Name: "prod", Nodes: 1})
	p.fleetc("init", "example.com/infra").ok(p)
	for name, text := range moveChart {
		p.write("old/charts/web/"+name, text)
	}
	for name, text := range files {
		p.write("old/"+name, text)
	}
	p.kubectl("prod", "create", "namespace", "app")
	return p
}

// running returns the identities and specifications of the objects in the namespace, without
// the records of Helm.
func (p *place) running() string {
	p.Helper()
	return p.kubectl("prod", "-n", "app", "get", "deployments,replicasets,pods,configmaps", "-o",
		"jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.spec} {.data}{'\\n'}{end}")
}

// checkRunning checks that the same objects run.
func (p *place) checkRunning(before, step string) {
	p.Helper()
	if after := p.running(); after != before {
		p.Errorf("%s changed what runs:\n%s\nbefore\n%s", step, after, before)
	}
}

// docs/migrate-helmfile.md: the objects that helmfile installed are adopted without a
// change, helmfile can go back until Helm's records are deleted, and they stay after that.
func TestMoveFromHelmfile(t *testing.T) {
	p := newMove(t, map[string]string{
		"helmfile.yaml": `environments:
  prod: {}
---
releases:
- {name: web, namespace: app, chart: ./charts/web, values: [values.yaml]}
- {name: worker, namespace: app, chart: ./charts/web, set: [{name: replicas, value: 2}]}
`,
		"values.yaml": "replicas: 3\nhost: web.example.com\n",
	})
	chart := filepath.Join(p.dir, "old/charts/web")
	helmfileApply := func() { // the commands that helmfile apply runs
		p.helm("prod", "upgrade", "--install", "web", chart, "--values", filepath.Join(p.dir, "old/values.yaml"))
		p.helm("prod", "upgrade", "--install", "worker", chart, "--set", "replicas=2")
	}
	helmfileApply()
	before := p.running()

	p.fleetc("import", "helmfile", "old/helmfile.yaml", "--environment", "prod").ok(p).says(p, "^2 releases in 1 cluster, 2 equal bytes")
	p.write("environments/prod/context.cue", "package fleet\n\ncluster: context: \""+p.clusters["prod"].Context+"\"\n")
	p.fleetc("vet", "--render").ok(p)
	p.fleetc("import", "helmfile", "old/helmfile.yaml", "--environment", "prod", "--dry-run").ok(p).says(p, "^0 files")
	p.fleetc("apply", "prod", "--adopt", "--dry-run").exits(p, 1).says(p, "^4 objects updated in 1 cluster")
	p.checkRunning(before, "a dry run")
	p.fleetc("apply", "prod", "--adopt", "--yes").ok(p).says(p, "0 created")
	p.checkRunning(before, "adopting")

	helmfileApply() // the way back
	p.checkRunning(before, "helmfile")
	p.fleetc("apply", "prod", "--adopt", "--yes").ok(p)
	for _, name := range []string{"web", "worker"} {
		p.kubectl("prod", "delete", "secret", "-n", "app", "-l", "owner=helm,name="+name)
	}
	p.fleetc("apply", "prod", "--yes").ok(p).says(p, "nothing was written")
	p.checkRunning(before, "deleting Helm's records")
	if out := p.helm("prod", "list", "--short"); out != "" {
		t.Errorf("helm still has the releases %s", out)
	}
}

// docs/migrate-argocd.md: the objects that Argo CD applied, on the client or on the server,
// are adopted without a change. Its controllers do not run here: kubectl applies the objects
// as they do, with their field manager and tracking annotation.
func TestMoveFromArgoCD(t *testing.T) {
	p := newMove(t, map[string]string{
		"apps/web.yaml": `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  source: {repoURL: "https://git.example.com/infra", path: charts/web, helm: {valuesObject: {replicas: 3, host: web.example.com}}}
  destination: {server: "https://kubernetes.default.svc", namespace: app}
`,
		"apps/plain.yaml": `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: plain, namespace: argocd}
spec:
  source: {repoURL: "https://git.example.com/infra", path: plain}
  destination: {server: "https://kubernetes.default.svc", namespace: app}
  syncPolicy: {syncOptions: [ServerSideApply=true]}
`,
		"plain/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n",
	})
	p.fleetc("import", "argocd", "old", "--cluster", "prod=in-cluster").ok(p).says(p, "^2 releases in 1 cluster, 2 equal bytes")
	p.write("environments/prod/context.cue", "package fleet\n\ncluster: context: \""+p.clusters["prod"].Context+"\"\n")
	p.fleetc("vet", "--render").ok(p)

	text := p.helm("prod", "template", "web", filepath.Join(p.dir, "old/charts/web"), "--set", "replicas=3,host=web.example.com")
	tracked := func(app, text string) string {
		return strings.ReplaceAll(text, "metadata: {name: ", "metadata: {annotations: {argocd.argoproj.io/tracking-id: \""+app+"\"}, name: ")
	}
	p.kubectlInput("prod", tracked("web:apps/Deployment:app/web", text), "apply", "-n", "app", "--field-manager=argocd-controller", "-f", "-")
	p.kubectlInput("prod", tracked("plain:/ConfigMap:app/settings", readFile(p, "old/plain/settings.yaml")), "apply", "-n", "app", "--server-side", "--field-manager=argocd-controller", "-f", "-")
	p.waitFor("the pods", func() bool {
		return strings.Count(p.kubectl("prod", "-n", "app", "get", "pods", "-o", "name"), "pod/") == 3
	})
	before := p.running()

	p.fleetc("diff", "prod", "--live").exits(p, 1)
	p.fleetc("apply", "prod", "--yes").exits(p, 2).says(p, "Argo CD application web created it")
	p.checkRunning(before, "a refused apply")
	p.fleetc("apply", "prod", "--adopt=from:argocd-controller", "--dry-run").exits(p, 1).says(p, "^3 objects updated in 1 cluster")
	p.fleetc("apply", "prod", "--adopt=from:argocd-controller", "--yes").ok(p).says(p, "0 created")
	p.checkRunning(before, "adopting")
	p.fleetc("apply", "prod", "--yes").ok(p).says(p, "nothing was written")
}
