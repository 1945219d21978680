package e2e

import (
	"strings"
	"testing"
)

// moreObject is a ConfigMap that the chart has too, in a separate release.
const moreObject = `releases: more: {
	namespace: "app"
	stage:     "default"
	objects: more: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "more", namespace: "app"}}
}
`

// An object that moves from one release to another is not deleted with the first,
// with any delivery.
func TestHelmObjectMoves(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", more: true}`)
	p.fleetc("apply", "--yes").ok(p)
	uids := func() string {
		return p.kubectl("one", "-n", "app", "get", "deployment/app", "configmap/app", "secret/app", "configmap/more", "configmap/kept", "-o", "jsonpath={.items[*].metadata.uid}")
	}
	first := uids()

	app := readFile(p, "environments/app.cue")
	p.write("environments/app.cue", strings.Replace(app, `more: true`, `more: false`, 1)+moreObject)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "ConfigMap app/more: it already exists, and Helm release app/app created it")
	p.fleetc("apply", "--yes", "--adopt").ok(p)
	if got := uids(); got != first {
		t.Errorf("after an object moved to another release, the objects are %s, before %s", got, first)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	p.edit("environments/app.cue", "releases: app:", "releases: app2:")
	p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, "installs HelmRelease.helm.sh app/app2", "uninstalls HelmRelease.helm.sh app/app$")
	if got := p.helm("one", "ls", "-a", "-q"); got != "app2" || uids() != first {
		t.Errorf("after the release was renamed, helm has %q, and the objects are %s, before %s", got, uids(), first)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// Live objects with the keep annotation are kept, and with them their namespace.
func TestHelmKeeps(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", more: true}`)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "app", "annotate", "configmap", "app", "helm.sh/resource-policy=keep")
	p.kubectl("one", "-n", "app", "annotate", "secret/app", "configmap/more", "fleetc.dev/prune=never")

	p.edit("environments/app.cue", `more: true`, `more: false`)
	p.fleetc("apply", "--yes").ok(p).says(p, "keeps ConfigMap app/more: fleetc.dev/prune: never")
	p.kubectl("one", "-n", "app", "get", "configmap", "more")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	p.write("environments/app.cue", "package fleet\n\nstages: [{name: \"default\"}, {name: \"apps\"}]\n")
	d := p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p,
		"keeps ConfigMap app/app: helm.sh/resource-policy: keep", "keeps Secret app/app: fleetc.dev/prune: never", "keeps Namespace app: it contains .*, which is kept")
	if got := p.kubectl("one", "-n", "app", "get", "deployments,secrets,configmaps", "-o", "name"); got != "secret/app\nconfigmap/app\nconfigmap/kept\nconfigmap/kube-root-ca.crt\nconfigmap/more" {
		t.Errorf("after the release is gone, there is:\n%s\n%s%s", got, d.stdout, d.stderr)
	}
	p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "nothing was written")
	p.kubectl("one", "get", "namespace", "app")

	p.write("environments/app.cue", readFile(p, "environments/app.cue")+moreObject)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "ConfigMap app/more: it already exists, and Helm release app/app created it")
	p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, "takes over ConfigMap app/more")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A different Helm release in the place of fleetc's is not taken over. Its objects
// are not pruned, since the fleet now applies them.
func TestHelmReleaseReplaced(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", more: true}`)
	p.fleetc("apply", "--yes").ok(p)
	p.helm("one", "uninstall", "app")
	p.helm("one", "install", "app", p.dir+"/charts/app", "--set", "more=true")
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.edit("environments/app.cue", `more: true`, `more: false`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "ConfigMap app/app: it already exists, and Helm release app/app created it", "pass --adopt")
	p.kubectl("one", "-n", "app", "get", "configmap", "more")
	if got := p.helmHistory("one"); got != "deployed" {
		t.Errorf("helm history: %s", got)
	}
}

// A saved plan fails when the objects have changed.
func TestHelmSavedPlan(t *testing.T) {
	p := newHelm(t)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/app.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--plan", "plan.json").ok(p)
	p.kubectl("one", "-n", "app", "delete", "secret", "app")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, "HelmRelease.helm.sh app/app: it was changed since the plan was made")
	p.fleetc("apply", "--plan", "plan.json").ok(p)
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").ok(p).says(p, "changed HelmRelease.helm.sh app/app")
}

// An installation deletes the objects of all failed installations before it, also
// when it has no object in common with them; so does the removal of the release.
func TestHelmAttempts(t *testing.T) {
	p := newHelm(t)
	p.write("charts/app/templates/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.colour }}}\n")
	fails := func(colour, hook string) {
		t.Helper()
		p.write("environments/values.cue", "package fleet\n\nreleases: app: values: {colour: \""+colour+"\", fail: \""+hook+"\"}\n")
		p.fleetc("apply", "--yes").exits(p, 2).says(p, "app/"+hook+": the hook did not succeed")
	}
	want := func(when, history, names string) {
		t.Helper()
		got := strings.Join(strings.Fields(p.kubectl("one", "-n", "app", "get", "configmaps", "-o", "jsonpath={.items[*].metadata.name}")), " ")
		if got != names {
			t.Errorf("%s, the ConfigMaps are %q, want %q", when, got, names)
		}
		if got := p.helmHistory("one"); got != history {
			t.Errorf("%s, helm history: %s, want %s", when, got, history)
		}
	}
	p.edit("environments/app.cue", `values: colour: "blue"`, "")
	fails("blue", "announce") // after the objects
	fails("red", "migrate")   // before the objects
	want("after two failures", "failed failed", "blue kube-root-ca.crt")
	p.write("environments/values.cue", "package fleet\n\nreleases: app: values: colour: \"green\"\n")
	p.fleetc("apply", "--yes").ok(p).says(p, "- ConfigMap app/blue", "installs HelmRelease.helm.sh app/app")
	want("after the installation", "failed failed deployed", "green kube-root-ca.crt")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	fails("blue", "announce")
	fails("red", "migrate")
	want("after two failures", "failed failed deployed failed failed", "blue kube-root-ca.crt")
	p.write("environments/app.cue", strings.Split(readFile(p, "environments/app.cue"), "releases: app:")[0])
	p.write("environments/values.cue", "package fleet\n")
	p.fleetc("apply", "--yes").ok(p).says(p, "pruned HelmRelease.helm.sh app/app")
	if got := p.kubectl("one", "-n", "app", "get", "configmaps", "-o", "name"); got != "configmap/kube-root-ca.crt" {
		t.Errorf("after the release is gone, there is:\n%s", got)
	}
}

// An apply after an upgrade that failed before it changed objects creates those that the
// upgrade would have added, and leaves those that it would have removed: also kinds that API
// servers update only with a resource version.
func TestHelmAttemptsWithCustomResources(t *testing.T) {
	p := newHelm(t)
	p.write("charts/app/templates/gadget.yaml", "{{- if .Values.gadget }}\napiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: {{ .Values.gadget }}}\n{{- end }}\n")
	p.edit("charts/app/values.yaml", "more: false", "more: false\ngadget: ''")
	apply := func(gadget, hook string) result {
		t.Helper()
		p.write("environments/values.cue", "package fleet\n\nreleases: app: values: {gadget: \""+gadget+"\", fail: \""+hook+"\"}\n")
		return p.fleetc("apply", "--yes")
	}
	apply("", "no").ok(p)
	apply("one", "migrate").exits(p, 2)
	apply("one", "no").ok(p)
	apply("two", "migrate").exits(p, 2)
	apply("one", "no").ok(p)
	if got := p.kubectl("one", "-n", "app", "get", "gadgets", "-o", "name"); got != "gadget.example.com/one" {
		t.Errorf("there is %q", got)
	}
}

// A release that Helm delivers may be an operator; it stays until its custom
// resources are deleted.
func TestHelmOperator(t *testing.T) {
	p := newHelm(t)
	app := readFile(p, "environments/app.cue")
	p.write("environments/gadget.cue", `package fleet

releases: gadget: {
	namespace: "app"
	stage:     "apps"
	objects: one: {
		apiVersion: "example.com/v1"
		kind:       "Gadget"
		metadata: {name: "one", namespace: "app", finalizers: ["example.com/undo"]}
		spec: size: 1
	}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/gadget.cue", "package fleet\n")
	p.write("environments/app.cue", strings.Split(app, "releases: app:")[0])
	p.fleetc("apply", "--yes", "--timeout", "3s").ok(p).says(p, "pruned Gadget.example.com app/one", `still deletes HelmRelease.helm.sh app/app \(it is deleted after Gadget.example.com app/one\)`)
	if got := p.helmHistory("one"); got != "deployed" {
		t.Errorf("while a custom resource is there, its operator is %s", got)
	}
	p.kubectl("one", "-n", "app", "patch", "gadgets.example.com", "one", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	p.fleetc("apply", "--yes").ok(p).says(p, "pruned HelmRelease.helm.sh app/app")
	if got := p.helm("one", "ls", "-a", "-q"); got != "" {
		t.Errorf("after the release is gone, helm has %q", got)
	}
}

// A hook that neither runs nor ends, such as a ConfigMap, belongs to fleetc after the delivery
// has changed, although Helm created it.
func TestHelmSwitchHook(t *testing.T) {
	p := newHelm(t)
	p.write("charts/app/templates/script.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: script, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
data: {colour: {{ .Values.colour | quote }}}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.fleetc("apply", "--yes").ok(p)
	for _, colours := range []string{"blue green", "green red"} {
		from, to, _ := strings.Cut(colours, " ")
		p.edit("environments/app.cue", `colour: "`+from+`"`, `colour: "`+to+`"`)
		p.fleetc("apply", "--yes").ok(p).says(p, "runs hook ConfigMap app/script")
		if got := p.kubectl("one", "-n", "app", "get", "configmap", "script", "-o", "jsonpath={.data.colour}"); got != to {
			t.Errorf("the hook has the colour %s, not %s", got, to)
		}
	}
	p.kubectl("one", "-n", "app", "patch", "configmap", "script", "--field-manager=ann", "-p", `{"data": {"colour": "pink"}}`)
	p.edit("environments/app.cue", `colour: "red"`, `colour: "grey"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `ConfigMap app/script: other managers own fields of it now: data.colour \(ann\)`)
}

// A release that leaves the fleet after its record of Helm was deleted stays in the inventory
// until its objects are deleted.
func TestHelmRecordGone(t *testing.T) {
	p := newHelm(t)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "app", "delete", "secret", "-l", "owner=helm")
	p.edit("environments/app.cue", "releases: app: {", "_unused: {")
	const says = "keeps HelmRelease.helm.sh app/app: Helm has no record of it any more, so delete its objects yourself: .*ConfigMap app/kept"
	for range 2 {
		p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, says)
	}
	p.fleetc("status", "--health").ok(p)
	p.kubectl("one", "-n", "app", "get", "configmap", "app")
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "--prune-protected").ok(p).says(p, says, "keeps Namespace app: it contains HelmRelease.helm.sh app/app, which is kept")
	p.kubectl("one", "-n", "app", "delete", "configmap/app", "configmap/kept", "secret/app", "deployment/app")
	p.fleetc("apply", "--yes", "--prune-protected").ok(p)
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "--prune-protected").ok(p).says(p, "pruned Namespace app")
}
