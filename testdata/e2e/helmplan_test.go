package e2e

import (
	"strings"
	"testing"
)

// newSwitch returns a cluster with a chart that is applied as objects, in its first
// state: image app:1, one replica.
func newSwitch(t *testing.T) *place {
	t.Helper()
	p := newHelm(t)
	p.write("charts/app/values.yaml", readFile(p, "charts/app/values.yaml")+"image: 1\n")
	p.edit("charts/app/templates/app.yaml", `"example.com/app:1"`, `"example.com/app:{{ .Values.image }}"`)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.fleetc("apply", "--yes").ok(p)
	return p
}

// switchTo sets the delivery, the image and the number of replicas.
func (p *place) switchTo(delivery, image, replicas string) {
	p.Helper()
	head, _, _ := strings.Cut(readFile(p, "environments/app.cue"), "	delivery:")
	p.write("environments/app.cue", head+"	delivery: \""+delivery+"\"\n	chart: path: \"charts/app\"\n	values: {colour: \"blue\", image: "+image+", replicas: "+replicas+"}\n}\n")
}

// A plan shows the changed fields when the delivery of a release changes, in both
// directions. A saved plan fails when one of them changes.
func TestHelmPlanSwitch(t *testing.T) {
	p := newSwitch(t)
	shows := func(from, to, before, after string) []string {
		return []string{`~ Deployment.apps app/app`, `~ spec.replicas: ` + before + ` -> ` + after, `image: "?example.com/app:` + from + `"? -> "?example.com/app:` + to}
	}
	p.switchTo("helm", "2", "5")
	p.fleetc("diff", "--live").exits(p, 1).says(p, shows("1", "2", "1", "5")...)
	p.fleetc("diff", "--live", "-o", "json").exits(p, 1).says(p, `"path":"spec.replicas","was":1,"is":5`)
	d := p.fleetc("apply", "--dry-run").exits(p, 1).says(p, append(shows("1", "2", "1", "5"), "upgrades HelmRelease.helm.sh app/app", `\+ metadata.annotations.*meta.helm.sh/release-name`)...)
	if strings.Contains(d.stdout+d.stderr, "has no object to change") {
		t.Errorf("the plan hides the changes:\n%s%s", d.stdout, d.stderr)
	}
	p.fleetc("apply", "--dry-run", "-o", "json").exits(p, 1).says(p, `"path": "spec.replicas"`, `"was": 1`, `"is": 5`)

	p.fleetc("apply", "--plan", "plan.json").ok(p)
	p.kubectl("one", "-n", "app", "scale", "deployment", "app", "--replicas=3")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, "HelmRelease.helm.sh app/app: it was changed since the plan was made")
	p.fleetc("apply", "--yes").ok(p).says(p, shows("1", "2", "3", "5")...)
	running := func() string {
		return p.kubectl("one", "-n", "app", "get", "deployment", "app", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}")
	}
	if got := running(); got != "5 example.com/app:2" {
		t.Errorf("after the switch to Helm, the cluster runs %s", got)
	}
	p.fleetc("diff", "--live").ok(p)

	p.switchTo("manifests", "1", "2")
	p.fleetc("diff", "--live").exits(p, 1).says(p, shows("2", "1", "5", "2")...)
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, shows("2", "1", "5", "2")...)
	p.fleetc("apply", "--yes").ok(p)
	if got := running(); got != "2 example.com/app:1" {
		t.Errorf("after the switch from Helm, the cluster runs %s", got)
	}

	p.fleetc("rollback", "dev/one", "--dry-run").exits(p, 1).says(p, append(shows("1", "2", "2", "5"), "upgrades HelmRelease.helm.sh app/app")...)
	p.fleetc("rollback", "dev/one", "--yes").ok(p)
	if got := running(); got != "5 example.com/app:2" {
		t.Errorf("after a rollback into a revision of Helm's, the cluster runs %s", got)
	}
	p.fleetc("rollback", "dev/one", "--to", "1", "--dry-run").exits(p, 1).says(p, shows("2", "1", "5", "1")...)
	p.fleetc("rollback", "dev/one", "--to", "1", "--yes").ok(p)
	if got := running(); got != "1 example.com/app:1" {
		t.Errorf("after a rollback out of a revision of Helm's, the cluster runs %s", got)
	}
}

// The plan of an upgrade shows Helm's patch: it starts from the live object, and
// leaves out unchanged objects.
func TestHelmPlanDrift(t *testing.T) {
	p := newSwitch(t)
	p.switchTo("helm", "1", "1")
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "app", "scale", "deployment", "app", "--replicas=3")
	p.kubectl("one", "-n", "app", "set", "env", "deployment/app", "DEBUG=1")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	d := p.fleetc("diff", "--live").exits(p, 1).says(p, `spec.replicas: 3 -> 1`, "Helm changes it back at the next upgrade")
	if strings.Contains(d.stdout, "DEBUG") || strings.Contains(d.stdout, "ConfigMap") {
		t.Errorf("fields that Helm does not set are compared:\n%s", d.stdout)
	}
	p.switchTo("helm", "2", "1")
	d = p.fleetc("apply", "--dry-run").exits(p, 1).says(p, `spec.replicas: 3 -> 1`, `image: "?example.com/app:1"? -> "?example.com/app:2`)
	if strings.Contains(d.stdout, "DEBUG") || strings.Contains(d.stdout, "ConfigMap") {
		t.Errorf("the plan has more than Helm's patch:\n%s", d.stdout)
	}
	p.fleetc("apply", "--plan", "plan.json").ok(p)
	p.kubectl("one", "-n", "app", "scale", "deployment", "app", "--replicas=4")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, "it was changed since the plan was made")
	p.fleetc("apply", "--yes").ok(p).says(p, `spec.replicas: 4 -> 1`)
	if got := p.kubectl("one", "-n", "app", "get", "deployment", "app", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env[0].name}"); got != "1 example.com/app:2 DEBUG" {
		t.Errorf("after the upgrade, the cluster runs %s", got)
	}
}

// A plan does not guess what Helm would do when the user is not allowed to read Helm's records.
func TestHelmPlanWithoutRights(t *testing.T) {
	p := newHelm(t)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/app.cue", `colour: "blue"`, `colour: "red"`)
	kubeconfig, err := p.clusters["one"].User("deployer", "deployers")
	if err != nil {
		t.Fatal(err)
	}
	p.grant("one", "apply", "deployer", "deployers")
	d := p.fleetc("apply", "--dry-run", "--kubeconfig", kubeconfig).exits(p, 2).says(p,
		`HelmRelease.helm.sh app/app: Helm's records of it cannot be read: User "deployer" cannot list resource "secrets" .* \[FL2107\]$`,
		`the user is not allowed to list and update secrets in app; .* \[FL2104\]$`)
	if strings.Contains(d.stdout+d.stderr, "installs") {
		t.Errorf("the plan guesses:\n%s%s", d.stdout, d.stderr)
	}
}

// After an upgrade, nothing has drifted, although the API server adds defaults to what Helm
// sends and omits zero values.
func TestHelmDrift(t *testing.T) {
	p := newHelm(t)
	p.write("charts/app/templates/defaults.yaml", `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: app}
spec: {podSelector: {}, ingress: [{ports: [{port: {{ if eq .Values.colour "blue" }}80{{ else }}81{{ end }}}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: zeros, labels: {colour: {{ .Values.colour }}}}
spec:
  strategy: {type: RollingUpdate}
  selector: {matchLabels: {app: zeros}}
  template:
    metadata: {labels: {app: zeros}}
    spec:
      hostNetwork: false
      automountServiceAccountToken: false
      containers: [{name: app, image: "example.com/app:1", livenessProbe: {initialDelaySeconds: 0, httpGet: {path: /, port: 80}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: app, labels: {colour: {{ .Values.colour }}}}
rules: []
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: app, labels: {colour: {{ .Values.colour }}}}
webhooks:
- name: app.example.com
  clientConfig: {service: {name: app, namespace: app}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: ["*"], resources: [none]}]
  failurePolicy: Ignore
  sideEffects: None
  admissionReviewVersions: [v1]
`)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("drift").ok(p)
	p.edit("environments/app.cue", `"blue"`, `"red"`)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("drift").ok(p)
	p.kubectl("one", "-n", "app", "patch", "deployment", "zeros", "--type=merge", "-p", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":3}},"template":{"spec":{"automountServiceAccountToken":true}}}}`)
	p.kubectl("one", "-n", "app", "patch", "networkpolicy", "app", "--type=json", "-p", `[{"op":"replace","path":"/spec/ingress/0/ports/0/protocol","value":"UDP"}]`)
	p.fleetc("drift").exits(p, 1).says(p, "NetworkPolicy.networking.k8s.io app/app", "Deployment.apps app/zeros", "automountServiceAccountToken: true in the cluster, false in the fleet", "^2 objects drifted")
	p.fleetc("diff", "--live").exits(p, 1).says(p, "automountServiceAccountToken: true -> false")
}

// A value that only templates in the cluster read changes the bundle, and so waits for the
// approval of its wave.
func TestHelmWaits(t *testing.T) {
	p := newHelm(t)
	p.write("charts/app/values.yaml", readFile(p, "charts/app/values.yaml")+"mode: slow\n")
	p.write("charts/app/templates/live.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: live}
data: {mode: {{ if lookup "v1" "Namespace" "" "kube-system" }}{{ .Values.mode }}{{ else }}none{{ end }}}
`)
	p.write("environments/rollout.cue", `package fleet

import "github.com/fleetc/fleetc/schema"

rollout: schema.#Rollout & {waves: [{name: "all", others: true, approve: "ask ann"}]}
`)
	p.fleetc("apply", "--yes", "--no-rollout").ok(p)
	p.fleetc("rollout", "status").ok(p)
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", mode: "fast"}`)
	p.fleetc("status").exits(p, 1).says(p, `^dev/one +behind`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^wave all waits \(dev/one\): it needs an approval: ask ann`)
	mode := func() string {
		return p.kubectl("one", "-n", "app", "get", "configmap", "live", "-o", "jsonpath={.data.mode}")
	}
	if got := mode(); got != "slow" {
		t.Errorf("without the approval, the mode is %s", got)
	}
	p.fleetc("rollout", "approve", "all", "--bundle", p.waveStatus("all").Bundle).ok(p)
	p.fleetc("apply", "--yes").ok(p)
	if got := mode(); got != "fast" {
		t.Errorf("after the approval, the mode is %s", got)
	}
	p.fleetc("rollback", "dev/one", "--yes").ok(p)
	if got := mode(); got != "slow" {
		t.Errorf("after the rollback, the mode is %s", got)
	}
}
