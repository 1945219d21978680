package e2e

import (
	"slices"
	"strings"
	"testing"
)

// newFieldSwitch returns a cluster whose chart is applied with the delivery manifests. Its
// objects have a key, a container and a variable that leave them with extra: false.
func newFieldSwitch(t *testing.T) *place {
	t.Helper()
	p := newHelm(t)
	p.write("charts/app/templates/extra.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: extra}
data: {one: "1"{{ if .Values.extra }}, two: "2", three: "3"{{ end }}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: extra}
{{- if .Values.extra }}
spec: {size: 1}
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: extra}
spec:
  selector: {matchLabels: {app: extra}}
  template:
    metadata: {labels: {app: extra}}
    spec:
      containers:
      - name: main
        image: example.com/app:1
{{- if .Values.extra }}
        env: [{name: DEBUG, value: "1"}]
      - {name: shell, image: "example.com/shell:1"}
{{- end }}
`)
	p.edit("charts/app/values.yaml", "more: false", "more: false\nextra: false")
	p.edit("environments/app.cue", `values: colour: "blue"`, `values: {colour: "blue", extra: true}`)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.fleetc("apply", "--yes").ok(p)
	return p
}

// content returns the containers with their variables, the keys, and the size in the objects of newFieldSwitch.
func (p *place) content() string {
	p.Helper()
	get := func(object, path string) string {
		return p.kubectl("one", "-n", "app", "get", object, "-o", "jsonpath="+path)
	}
	return strings.Join([]string{
		get("deployment/extra", "{range .spec.template.spec.containers[*]}{.name} {.env[*].name} {end}"), get("configmap/extra", "{.data}"), get("gadget/extra", "{.spec}"),
	}, "; ")
}

// Helm removes the fields that only fleetc has applied when it takes over an object, also in
// the apply that follows a failure, and no field of others. The plan shows it. Back again,
// fleetc removes what Helm has taken over.
func TestHelmSwitchRemovesFields(t *testing.T) {
	p := newFieldSwitch(t)
	p.kubectlInput("one", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra", "labels": {"ann": "yes"}}, "data": {"three": "3", "four": "4"}}`,
		"-n", "app", "apply", "--server-side", "--field-manager=ann", "-f", "-")
	p.edit("environments/app.cue", `extra: true`, `extra: false, fail: "announce"`)
	p.edit("environments/app.cue", `delivery:  "manifests"`, `delivery:  "helm"`)
	changes := []string{`- data.two`, `- metadata.labels."fleetc.dev/release"`, `- spec:\n +- +size: 1`, `containers\[name=shell\]`, `containers\[name=main\].env`}
	p.fleetc("diff", "--live").exits(p, 1).says(p, changes...)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, append(changes, "app/announce: the hook did not succeed")...)
	p.edit("environments/app.cue", `, fail: "announce"`, "")
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.fleetc("diff", "--live").ok(p)
	p.fleetc("drift", "--strict").ok(p)
	if got, want := p.content(), `main; {"four":"4","one":"1","three":"3"}; `; got != want {
		t.Errorf("delivered by Helm, the objects have %q, want %q", got, want)
	}
	marks := p.kubectl("one", "-n", "app", "get", "configmap/extra", "deployment/extra", "gadget/extra", "--show-managed-fields", "-o", "jsonpath={.items[*].metadata}")
	if strings.Contains(marks, "fleetc") || !strings.Contains(marks, `"ann":"yes"`) {
		t.Errorf("delivered by Helm, the objects have the metadata\n%s", marks)
	}

	p.edit("charts/app/templates/extra.yaml", `one: "1"`, `uno: "1"`)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.fleetc("apply", "--yes").ok(p)
	if got, want := p.content(), `main; {"four":"4","three":"3","uno":"1"}; `; got != want {
		t.Errorf("applied by fleetc again, the objects have %q, want %q", got, want)
	}
}

// An object that moves from a release of manifests into one of Helm loses the fields that it
// does not have there, also if Helm has installed that release before.
func TestHelmSwitchMoves(t *testing.T) {
	p := newHelm(t)
	p.write("environments/more.cue", `package fleet

releases: more: {
	namespace: "app"
	stage:     "default"
	objects: more: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "more", namespace: "app"}, data: gone: "yes"}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/more.cue", "package fleet\n")
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", more: true}`)
	p.fleetc("apply", "--yes").ok(p).says(p, "-   gone: yes", "upgrades HelmRelease.helm.sh app/app$")
	got := p.kubectl("one", "-n", "app", "get", "configmap", "more", "--show-managed-fields", "-o", "jsonpath={.data} {.metadata.labels} {.metadata.managedFields[*].manager}")
	if got != `{"app.kubernetes.io/managed-by":"Helm"} helm` {
		t.Errorf("the object that moved has %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A release that fleetc has applied is upgraded by Helm, with the hooks and templates of an
// upgrade, also after a failed attempt and by a rollback. It is installed again only when it
// does not exist any more.
func TestHelmSwitchUpgrades(t *testing.T) {
	p := newFieldSwitch(t)
	p.write("charts/app/templates/hooks.yaml", hookOf("pre-install", "create", "")+hookOf("pre-upgrade", "migrate", "")+hookOf("post-upgrade", "announce", "")+
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: event}\ndata: {upgrade: {{ .Release.IsUpgrade | quote }}}\n")
	apply := func(says string, hooks ...string) {
		t.Helper()
		d := p.fleetc("apply", "--yes").says(p, says)
		wantHooks(p, d, hooks...)
	}
	apply("dev/one: applied", "migrate", "announce")
	p.edit("environments/app.cue", `delivery:  "manifests"`, `delivery:  "helm"`)
	p.fleetc("diff", "--live").exits(p, 1).says(p, `data.upgrade: "?false"? -> "?true`)
	for i, hooks := 0, []string{"migrate", "announce"}; i < len(hooks); i++ {
		p.write("environments/fail.cue", "package fleet\n\nreleases: app: values: fail: \""+hooks[i]+"\"\n")
		apply("the hook did not succeed", hooks[:i+1]...)
	}
	p.write("environments/fail.cue", "package fleet\n")
	apply("upgrades HelmRelease.helm.sh app/app", "migrate", "announce")
	if got := p.helmHistory("one"); got != "failed failed deployed" {
		t.Errorf("helm history: %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.edit("environments/app.cue", `colour: "blue"`, `colour: "red"`)
	apply("dev/one: applied", "migrate", "announce")
	d := p.fleetc("rollback", "dev/one", "--to", "3", "--yes").ok(p).says(p, "upgrades HelmRelease.helm.sh app/app")
	wantHooks(p, d, "migrate", "announce")
	if got := p.helmHistory("one"); got != "deployed" {
		t.Errorf("after the rollback, helm history: %s", got)
	}

	p.edit("environments/app.cue", `delivery:  "manifests"`, `delivery:  "helm"`)
	p.fleetc("apply", "--yes").ok(p)
	p.helm("one", "uninstall", "app")
	apply("installs HelmRelease.helm.sh app/app", "create")
}

// wantHooks fails the test unless a command has run these Jobs of the release app.
func wantHooks(p *place, d result, names ...string) {
	p.Helper()
	var ran []string
	for line := range strings.Lines(d.stderr) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "runs hook Job.batch app/"); ok && !strings.Contains(name, "(") {
			ran = append(ran, name)
		}
	}
	if !slices.Equal(ran, names) {
		p.Errorf("%s ran the hooks %q, want %q\n%s", d.command, ran, names, d.stderr)
	}
}
