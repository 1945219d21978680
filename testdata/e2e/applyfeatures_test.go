package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

const widgets = `package fleet

releases: widgets: {
	namespace: "widgets"
	stage:     "apps"
	objects: {
		ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "widgets"}
		crd: {
			apiVersion: "apiextensions.k8s.io/v1"
			kind:       "CustomResourceDefinition"
			metadata: name: "widgets.example.com"
			spec: {
				group: "example.com"
				scope: "Namespaced"
				names: {kind: "Widget", plural: "widgets"}
				versions: [{
					name: "v1", served: true, storage: true
					schema: openAPIV3Schema: {type: "object", properties: spec: {type: "object", properties: size: type: "integer"}}
				}]
			}
		}
		widget: {apiVersion: "example.com/v1", kind: "Widget", metadata: name: "one", spec: size: 1}
	}
}
`

// A bundle may have a CRD and its custom resource, even when the resource uses a
// new field of the next version of the CRD.
func TestCRD(t *testing.T) {
	p := newWeb(t)
	p.write("environments/widgets.cue", widgets)
	p.fleetc("apply", "--yes").ok(p).says(p, `\+ Widget.example.com widgets/one`, "^dev/one: applied: 7 created")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.edit("environments/widgets.cue", `size: type: "integer"`, `{size: type: "integer", colour: type: "string"}`)
	p.edit("environments/widgets.cue", `spec: size: 1`, `spec: {size: 2, colour: "red"}`)
	p.fleetc("apply", "--yes").ok(p).says(p, "0 created, 2 changed")
	if got := p.kubectl("one", "-n", "widgets", "get", "widget", "one", "-o", "jsonpath={.spec}"); got != `{"colour":"red","size":2}` {
		t.Errorf("the widget has %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A saved plan is applied exactly, or not at all when something has changed.
func TestSavedPlan(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.edit("environments/web.cue", "hunter2", "hunter3")
	p.fleetc("apply", "--plan", "plan.json", "--dry-run").exits(p, 1)
	p.fleetc("apply", "--plan", "plan.json").ok(p).says(p, "~ data.colour")
	text, err := os.ReadFile(filepath.Join(p.dir, "plan.json"))
	if err != nil || strings.Contains(string(text), "hunter") || strings.Contains(string(text), "red") {
		t.Errorf("the plan has content of objects, or is not there (%v):\n%s", err, text)
	}
	_, mark := p.writes("one", 0)
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--type=merge", "-p", `{"metadata":{"labels":{"x":"y"}}}`)
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, `ConfigMap web/web: it was changed since the plan was made \[FL2112\]$`)
	p.kubectl("one", "-n", "web", "delete", "deployment", "web")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, "Deployment.apps web/web: it differs from the plan: the action was none, and now it is create")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes", "--force-conflicts").exits(p, 2).says(p, "which --force-conflicts would change")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a plan that no longer holds writes %q", w)
	}
	p.fleetc("apply", "--plan", "plan.json").ok(p)
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").ok(p).says(p, "1 created, 2 changed")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, "the action was change, and now it is none")
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, "the bundle of this cluster has changed")
}

// A hook runs when its release changes. When it fails, later objects are not
// applied.
func TestHooks(t *testing.T) {
	p := newWeb(t)
	hook := `package fleet

releases: web: objects: migrate: {
	apiVersion: "batch/v1"
	kind:       "Job"
	metadata: {name: "migrate", annotations: {"helm.sh/hook": "pre-install,pre-upgrade"}}
	spec: {
		backoffLimit: 0
		template: {
			metadata: annotations: {}
			spec: {restartPolicy: "Never", containers: [{name: "migrate", image: "example.com/migrate:1"}]}
		}
	}
}
`
	p.write("environments/hook.cue", hook)
	uid := func() string {
		return p.kubectl("one", "-n", "web", "get", "job", "migrate", "-o", "jsonpath={.metadata.uid}")
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "runs hook Job.batch web/migrate", "4 created, 0 changed, 0 pruned; 1 hook run")
	first := uid()
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "1 changed, 0 pruned; 1 hook run")
	if uid() == first {
		t.Error("the hook did not run for a change of its release")
	}
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	p.edit("environments/hook.cue", "metadata: annotations: {}", `metadata: annotations: "fleetc.test/fail": "true"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "Job.batch web/migrate: the hook did not succeed", "^dev/one: failed: 0 created, 0 changed")
	if got := p.kubectl("one", "-n", "web", "get", "configmap", "web", "-o", "jsonpath={.data.colour}"); got != "red" {
		t.Errorf("after a hook that failed, the release is applied: %s", got)
	}
	p.edit("environments/hook.cue", `metadata: annotations: "fleetc.test/fail": "true"`, "metadata: annotations: {}")
	p.fleetc("apply", "--yes").ok(p).says(p, "1 changed, 0 pruned; 1 hook run")
}

// A hook that stores data is not recreated, and an object that is not a hook is not
// treated as one.
func TestHookKeepsData(t *testing.T) {
	p := newWeb(t)
	p.write("environments/hook.cue", `package fleet

releases: web: objects: hook: {
	apiVersion: "v1"
	kind:       "Secret"
	metadata: {name: "hook", annotations: {"helm.sh/hook": "pre-install,pre-upgrade"}}
	stringData: password: "first"
}
`)
	p.fleetc("apply", "--yes").ok(p).says(p, "runs hook Secret web/hook")
	uid := func() string {
		return p.kubectl("one", "-n", "web", "get", "secret", "hook", "-o", "jsonpath={.metadata.uid} {.data.more}")
	}
	p.kubectl("one", "-n", "web", "patch", "secret", "hook", "--type=merge", "-p", `{"data": {"more": "eA=="}}`)
	before := uid()
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "1 hook run")
	if got := uid(); got != before {
		t.Errorf("the Secret was %s and is %s", before, got)
	}
	p.kubectl("one", "-n", "web", "delete", "secret", "hook")
	p.kubectl("one", "-n", "web", "create", "secret", "generic", "hook", "--from-literal=mine=1")
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "Secret web/hook: an object with this name exists and is not a hook")
}

// All missing rights are listed before anything is written; with the rights of
// docs/apply.md, an apply succeeds.
func TestRights(t *testing.T) {
	p := newWeb(t)
	c := p.clusters["one"]
	kubeconfig, err := c.User("deployer", "deployers")
	if err != nil {
		t.Fatal(err)
	}
	as := func(args ...string) result {
		cmd := p.command(append(args, "--kubeconfig", kubeconfig)...)
		return p.end(cmd)
	}
	as("apply", "--yes").exits(p, 2).says(p, `User "deployer" cannot get resource "namespaces"`)
	p.kubectl("one", "create", "clusterrole", "reader", "--verb=get", "--resource=namespaces,secrets,configmaps,deployments.apps")
	p.kubectl("one", "create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=deployer")
	p.waitForRight("one", "deployer", "get", "namespaces")
	_, mark := p.writes("one", 0)
	as("apply", "--yes").exits(p, 2).says(p, "the user is not allowed to ", "create and patch configmaps in web", "create and patch deployments.apps in web",
		"create, get and update leases.coordination.k8s.io in fleetc-system", "create, delete, list and update secrets in fleetc-system")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("without the rights, apply writes %q", w)
	}
	p.grant("one", "apply", "deployer", "deployers")
	as("apply", "--yes").ok(p).says(p, "^dev/one: applied: 4 created")
	as("apply", "--yes").ok(p).says(p, "nothing was written")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	as("apply", "--yes").ok(p).says(p, "1 changed")
	p.write("environments/migration.cue", migration)
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	as("apply", "--yes").exits(p, 2).says(p, `the user is not allowed to create, delete, get and patch jobs.batch in web \[FL2104\]$`)
}

// An inventory that is too large for one Secret uses several.
func TestLargeInventory(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	head := p.kubectl("one", "-n", "fleetc-system", "get", "secret", inventorySecret, "-o", "json")
	var o struct{ Data map[string][]byte }
	if err := json.Unmarshal([]byte(head), &o); err != nil {
		t.Fatal(err)
	}
	var names []string
	data := o.Data["data"]
	for _, part := range [][]byte{data[:len(data)/2], data[len(data)/2:]} {
		name := chunkName("inventory", part)
		names = append(names, name)
		p.kubectlInput("one", secretOf(t, name, map[string][]byte{"data": part}), "apply", "--server-side", "-f", "-")
	}
	p.kubectl("one", "-n", "fleetc-system", "delete", "secret", inventorySecret)
	p.kubectlInput("one", secretOf(t, inventorySecret, map[string][]byte{"sha256": o.Data["sha256"], "chunks": []byte(strings.Join(names, "\n"))}), "create", "-f", "-")
	kubeconfig, err := p.clusters["one"].User("viewer", "viewers")
	if err != nil {
		t.Fatal(err)
	}
	p.grant("one", "history", "viewer", "viewers")
	p.fleetc("status", "--kubeconfig", kubeconfig).exits(p, 2).says(p, `cannot get resource "secrets" .* \[FL2104\]$`, "hint: ask for the right to read all Secrets in fleetc-system")
	p.kubectl("one", "-n", "fleetc-system", "patch", "role", "fleetc-status", "--type=json", "-p", `[{"op": "remove", "path": "/rules/0/resourceNames"}]`)
	p.waitForRight("one", "viewer", "get", "secrets", "--namespace=fleetc-system", "--as-group=viewers")
	p.fleetc("status", "--kubeconfig", kubeconfig).ok(p)

	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "1 changed")
	if got := p.kubectl("one", "-n", "fleetc-system", "get", "secrets", "-o", "name"); strings.Contains(got, "inventory-") {
		t.Errorf("the parts of the old inventory are left: %s", got)
	}
}

// chunkName returns the name of a chunk.
func chunkName(of string, part []byte) string {
	sum := sha256.Sum256(append([]byte("example.com/infra\x00"), part...))
	return of + "-" + hex.EncodeToString(sum[:16])
}

func secretOf(t *testing.T, name string, data map[string][]byte) string {
	t.Helper()
	module := sha256.Sum256([]byte("example.com/infra"))
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "fleetc.dev/inventory", "data": data,
		"metadata": map[string]any{"name": name, "namespace": "fleetc-system", "labels": map[string]string{"fleetc.dev/inventory": hex.EncodeToString(module[:8])}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// grant gives the user and group the rights of a page of the docs, and waits until
// they are effective.
func (p *place) grant(id, page, user, group string) {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(top, "docs", page+".md"))
	if err != nil {
		p.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "```yaml\n")
	roles, _, ok := strings.Cut(rest, "```")
	if !ok {
		p.Fatalf("docs/%s.md has no roles", page)
	}
	p.kubectlInput(id, roles, "apply", "-f", "-")
	p.waitForRight(id, user, "get", "namespaces/kube-system", "--as-group="+group)
	p.waitForRight(id, user, "get", "leases.coordination.k8s.io", "--namespace=fleetc-system", "--as-group="+group)
}

// fleetc and kubectl, with the exported bundle, create the same objects.
func TestSameAsKubectl(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	p.write("environments/widgets.cue", widgets)
	p.write("environments/plain.cue", "package fleet\n\nreleases: web: plaintext: \"Secret/web\": \"kubectl applies it here\"\n")
	p.fleetc("apply", "--yes", "dev/one").ok(p)
	p.fleetc("export", "--out", "out", "dev/one").ok(p) // kubectl applies it to the other cluster
	dir := filepath.Join(p.dir, "out/dev/one")
	p.kubectl("two", "apply", "--server-side", "-f", filepath.Join(dir, "space"))
	crd, err := filepath.Glob(dir + "/widgets/*.yaml")
	if err != nil || len(crd) != 3 {
		t.Fatalf("%q, %v", crd, err)
	}
	p.kubectl("two", "apply", "--server-side", "-f", dir+"/widgets/"+base(t, crd, "customresourcedefinition"), "-f", dir+"/widgets/"+base(t, crd, "namespace"))
	p.kubectl("two", "wait", "--for=condition=Established", "crd/widgets.example.com")
	p.kubectl("two", "apply", "--server-side", "-R", "-f", filepath.Join(dir, "web"), "-f", filepath.Join(dir, "widgets"))
	for _, object := range [][]string{
		{"namespace", "web"},
		{"-n", "web", "configmap", "web"},
		{"-n", "web", "secret", "web"},
		{"-n", "web", "deployment", "web"},
		{"-n", "widgets", "widget", "one"},
		{"crd", "widgets.example.com"},
	} {
		get := append([]string{"get", "-o", "json"}, object...)
		one, two := declared(t, p.kubectl("one", get...)), declared(t, p.kubectl("two", get...))
		if !reflect.DeepEqual(one, two) {
			t.Errorf("%v: fleetc makes\n%v\nkubectl makes\n%v", object, one, two)
		}
	}
}

func base(t *testing.T, files []string, begins string) string {
	t.Helper()
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), begins) {
			return filepath.Base(f)
		}
	}
	t.Fatalf("no %s in %q", begins, files)
	return ""
}

// declared returns an object without fields that differ between clusters.
func declared(t *testing.T, object string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	delete(o, "status")
	meta := o["metadata"].(map[string]any)
	for _, k := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		delete(meta, k)
	}
	if a, ok := meta["annotations"].(map[string]any); ok {
		delete(a, "deployment.kubernetes.io/revision")
	}
	return o
}
