package e2e

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// hooksRun returns the names of the Jobs that ran as hooks in the namespace app.
func hooksRun(d result) string {
	var out []string
	for line := range strings.Lines(d.stderr) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "runs hook Job.batch app/"); ok {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

// A chart's rollback hooks run only when a release is rolled back.
func TestRollbackChartHooks(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.write("charts/app/templates/back.yaml", hookOf("pre-rollback", "before", "")+hookOf("post-rollback", "after", ""))
	want := func(d result, hooks string) {
		t.Helper()
		if got := hooksRun(d.ok(p)); got != hooks {
			t.Errorf("the hooks that ran are %q, want %q\n%s", got, hooks, d.stderr)
		}
	}
	want(p.fleetc("apply", "--yes"), "migrate announce")
	// The hooks of the revision run, not those of the current fleet.
	p.edit("environments/app.cue", `colour: "blue"`, `colour: "red"`)
	p.write("charts/app/templates/back.yaml", hookOf("pre-rollback", "other", ""))
	want(p.fleetc("apply", "--yes"), "migrate announce")
	want(p.fleetc("rollback", "dev/one", "--yes"), "before after")
	if got := p.colour("one"); got != "blue" {
		t.Errorf("gone back, the colour is %s", got)
	}
	p.fleetc("rollback", "dev/one", "--yes", "--to", "1").ok(p).says(p, "nothing was written")
}

// A release with Helm delivery is rolled back to the recorded chart and values,
// even when the fleet has neither any more.
func TestRollbackHelm(t *testing.T) {
	p := newHelm(t)
	p.fleetc("apply", "--yes").ok(p)
	app, template := readFile(p, "environments/app.cue"), readFile(p, "charts/app/templates/app.yaml")
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "red", replicas: 2}`)
	p.write("charts/app/templates/app.yaml", strings.Replace(template, "data: {colour: {{", `data: {shade: "dark", colour: {{`, 1))
	p.fleetc("apply", "--yes").ok(p)
	shade := func() string {
		return p.kubectl("one", "-n", "app", "get", "configmap", "app", "-o", "jsonpath={.data.shade}")
	}
	if p.colour("one") != "red" || shade() != "dark" {
		t.Fatalf("the colour is %s, %s", p.colour("one"), shade())
	}
	p.fleetc("rollback", "dev/one", "--dry-run").exits(p, 1).says(p, "upgrades HelmRelease.helm.sh app/app", "data.colour: red -> blue")
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "this is revision 3$")
	if p.colour("one") != "blue" || shade() != "" || p.helmHistory("one") != "superseded superseded deployed" {
		t.Errorf("gone back, the colour is %s, %s, and the release is %s", p.colour("one"), shade(), p.helmHistory("one"))
	}
	p.fleetc("rollback", "dev/one", "--yes", "--to", "1").ok(p).says(p, "nothing was written")
	// After the rollback, the fleet of that revision is up to date.
	p.write("environments/app.cue", app)
	p.write("charts/app/templates/app.yaml", template)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	// A removed release is restored, and a new one is removed.
	p.write("environments/app.cue", strings.Split(app, "releases: app:")[0])
	p.fleetc("apply", "--yes").ok(p).says(p, "this is revision 4$")
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "installs HelmRelease.helm.sh app/app")
	if p.colour("one") != "blue" || p.helmHistory("one") != "deployed" {
		t.Errorf("come back, the colour is %s, and the release is %s", p.colour("one"), p.helmHistory("one"))
	}
	p.fleetc("rollback", "dev/one", "--yes", "--to", "4").ok(p)
	if got := p.helm("one", "ls", "-a", "-q"); got != "" {
		t.Errorf("gone again, helm has %q", got)
	}
}

// Deletion hooks may be Secrets, so their chunks need more rights than the
// inventory.
func TestDeleteHooksStorage(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.write("charts/app/templates/more.yaml", hookOf("pre-delete", "last", "")+`---
apiVersion: v1
kind: Secret
metadata: {name: last, annotations: {helm.sh/hook: pre-delete, helm.sh/hook-weight: "-1"}}
stringData: {password: {{ .Values.password | quote }}}
`)
	p.fleetc("apply", "--yes").ok(p)
	inventory := p.inventory()
	text, err := json.Marshal(inventory)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", base64.StdEncoding.EncodeToString([]byte("hunter2")), "helm.sh/hook"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the inventory has %q: %s", secret, text)
		}
	}
	chunk := inventory["hooks"].(map[string]any)["app"].(string)
	there := func() []string {
		return strings.Fields(p.kubectl("one", "-n", "fleetc-system", "get", "secret", "-o", "jsonpath={.items[*].metadata.name}"))
	}
	// A sweep keeps it when only one revision is left.
	p.write("environments/history.cue", "package fleet\n\ncluster: history: 1\n")
	for _, colour := range []string{"a", "b"} {
		p.write("environments/more.cue", `package fleet

releases: space: objects: more: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "more", namespace: "app"}, data: colour: "`+colour+`"}
`)
		p.fleetc("apply", "--yes").ok(p)
	}
	if !slices.Contains(there(), chunk) {
		t.Fatalf("Secret %s is gone", chunk)
	}
	p.write("environments/app.cue", strings.Split(readFile(p, "environments/app.cue"), "releases: app:")[0])
	saved := p.kubectl("one", "-n", "fleetc-system", "get", "secret", chunk, "-o", "json")
	p.kubectl("one", "-n", "fleetc-system", "delete", "secret", chunk)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "the hooks of release app cannot be read: Secret "+chunk+" is missing")
	p.kubectlInput("one", saved, "create", "-f", "-")
	d := p.fleetc("apply", "--yes").ok(p)
	if got := hooksRun(d); got != "last" {
		t.Errorf("the hooks that ran are %q", got)
	}
	if slices.Contains(there(), chunk) {
		t.Errorf("Secret %s stays", chunk)
	}
}

// A rollback runs no actions, and lists them.
func TestRollbackActions(t *testing.T) {
	p := newWeb(t)
	action := func(name string) {
		p.write("environments/actions.cue", `package fleet

actions: `+name+`: {at: "before", stage: "apps", manual: "is it time?"}
`)
	}
	action("first")
	p.fleetc("apply", "--yes", "--approve", "first").ok(p)
	action("second")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes", "--approve", "second").ok(p)
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "^dev/one: runs no actions, because revisions do not contain them: first, second$", "this is revision 3$")
	p.fleetc("rollback", "dev/one", "--dry-run", "--to", "2", "-o", "json").exits(p, 1).says(p, `"notDone": \[`, `"second"`)
}

// A rollback that failed continues with the same revision, and does not go forward to the
// bundle that ran before it.
func TestRollbackContinues(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "this is revision 2")
	const held = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"web","finalizers":["example.com/holds"]}}`
	p.kubectlInput("one", held, "apply", "--server-side", "--field-manager=holder", "-f", "-")
	p.kubectl("one", "-n", "web", "delete", "configmap", "web", "--wait=false")
	p.fleetc("rollback", "dev/one", "--yes", "--timeout", "2s").exits(p, 2).says(p, "goes back to revision 1")
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "goes back to revision 1")
	if got := p.kubectl("one", "-n", "web", "get", "configmap", "web", "-o", "jsonpath={.data.colour}"); got != "blue" {
		t.Errorf("the colour is %s", got)
	}
	p.fleetc("rollback", "dev/one", "--dry-run").exits(p, 1).says(p, "goes back to revision 2")
}

// A changed or removed deletion hook is stored also when nothing else changes. A
// nondeterministic one is only stored with another change of its release.
func TestDeleteHooksChanged(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	stored := func() any {
		hooks, _ := p.inventory()["hooks"].(map[string]any)
		return hooks["app"]
	}
	p.write("charts/app/templates/more.yaml", hookOf("pre-delete", "planned", ""))
	p.fleetc("apply", "--plan", "plan.json").ok(p)
	p.write("charts/app/templates/more.yaml", hookOf("pre-delete", "wrong", ""))
	p.fleetc("apply", "--yes", "--from-plan", "plan.json").exits(p, 2).says(p, "the deletion hooks of this cluster have changed")
	p.fleetc("apply", "--yes").ok(p)
	before := stored()
	p.fleetc("status").ok(p).says(p, "^dev/one +up to date")
	p.write("charts/app/templates/more.yaml", hookOf("pre-delete", "right", ""))
	p.fleetc("status").exits(p, 1).says(p, "^dev/one +behind", "^dev/one: runs the bundle, and has other hooks for the deletion of a release; run fleetc apply$")
	p.fleetc("apply", "--dry-run").exits(p, 1)
	p.fleetc("apply", "--yes").ok(p).says(p, "0 created, 0 changed, 0 pruned")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if stored() == before {
		t.Error("the corrected hook is not stored")
	}
	p.fleetc("destroy", "dev/one", "--release", "app", "--dry-run").exits(p, 1).says(p, "runs hook Job.batch app/right")

	p.write("charts/app/templates/more.yaml", hookOf("pre-delete", "right-{{ randAlphaNum 5 | lower }}", ""))
	p.fleetc("apply", "--yes", "--no-cache").ok(p)
	p.fleetc("apply", "--yes", "--no-cache").ok(p).says(p, "nothing was written")
	p.fleetc("status", "--no-cache").ok(p).says(p, "^dev/one +up to date")

	p.write("charts/app/templates/more.yaml", "")
	p.fleetc("status").exits(p, 1).says(p, "^dev/one +behind")
	p.write("environments/rollout.cue", "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\nrollout: schema.#Rollout & {waves: [{name: \"all\", others: true}]}\n")
	p.fleetc("rollout", "status").exits(p, 1).says(p, "dev/one.* behind")
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("status").ok(p)
	p.fleetc("rollout", "status").ok(p)
	if got := stored(); got != nil {
		t.Errorf("the removed hook is stored in %s", got)
	}
}
