package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// inventory returns the decoded inventory of the cluster one.
func (p *place) inventory() map[string]any {
	p.Helper()
	var o struct{ Data map[string][]byte }
	if err := json.Unmarshal([]byte(p.kubectl("one", "-n", "fleetc-system", "get", "secret", inventorySecret, "-o", "json")), &o); err != nil {
		p.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(o.Data["data"]))
	if err != nil {
		p.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		p.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		p.Fatal(err)
	}
	return v
}

func packInventory(t *testing.T, v any) (data, sum []byte) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := sha256.Sum256(b.Bytes())
	return b.Bytes(), []byte(hex.EncodeToString(s[:]))
}

// parts returns the names of the Secrets of a revision.
func parts(inventory map[string]any, revision int) []any {
	return inventory["history"].([]any)[revision-1].(map[string]any)["parts"].([]any)
}

// A damaged bundle, or one in a newer format, cannot be rolled back to, and does
// not prevent applies.
func TestHistoryBroken(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p)
	secrets := func(args ...string) {
		p.Helper()
		p.kubectl("one", append([]string{"-n", "fleetc-system"}, args...)...)
	}
	webPart := parts(p.inventory(), 1)[2].([]any)[0].(string)
	text := p.kubectl("one", "-n", "fleetc-system", "get", "secret", webPart, "-o", "json")
	if !strings.Contains(text, `"immutable": true`) {
		t.Errorf("recorded parts can be changed: %s", text)
	}
	secrets("delete", "secret", webPart)
	p.fleetc("rollback", "dev/one", "--yes").exits(p, 2).says(p, "revision 1 cannot be read: Secret "+webPart+" is missing", "roll back to another revision", "^dev/one: refused")
	p.kubectlInput("one", secretOf(t, webPart, map[string][]byte{"data": []byte("x")}), "create", "-f", "-")
	p.fleetc("rollback", "dev/one", "--yes").exits(p, 2).says(p, "revision 1 cannot be read: Secret "+webPart+" was changed")
	p.fleetc("history").ok(p).says(p, `^dev/one +2\* `)
	// Missing chunks of the next revision are written again.
	shared := parts(p.inventory(), 2)[1].([]any)[0].(string)
	secrets("delete", "secret", shared)
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "this is revision 3$")
	p.fleetc("rollback", "dev/one", "--yes", "--to", "2").ok(p).says(p, "this is revision 4$")
	p.fleetc("rollback", "dev/one", "--dry-run", "--to", "1").exits(p, 2)

	// A newer format.
	v := p.inventory()
	head, _ := packInventory(t, map[string]any{"format": 2, "stages": "something else"})
	name := chunkName("bundle", head)
	p.kubectlInput("one", secretOf(t, name, map[string][]byte{"data": head}), "create", "-f", "-")
	parts(v, 3)[0] = []any{name}
	data, sum := packInventory(t, v)
	secrets("delete", "secret", inventorySecret)
	p.kubectlInput("one", secretOf(t, inventorySecret, map[string][]byte{"data": data, "sha256": sum}), "create", "-f", "-")
	p.fleetc("rollback", "dev/one", "--yes", "--to", "4").exits(p, 2).says(p, "revision 4 is recorded in format 2, but this fleetc supports 1")
	// Older revisions can still be rolled back to.
	p.edit("environments/web.cue", `colour: "green"`, `colour: "black"`)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("rollback", "dev/one", "--yes", "--to", "3").ok(p).says(p, "cannot undo unknown effects of hooks: revision 4 is recorded in format 2")
	// A malformed history.
	parts(v, 3)[0] = []any{"web"}
	data, sum = packInventory(t, v)
	secrets("delete", "secret", inventorySecret)
	p.kubectlInput("one", secretOf(t, inventorySecret, map[string][]byte{"data": data, "sha256": sum}), "create", "-f", "-")
	for _, command := range [][]string{{"apply", "--yes"}, {"rollback", "dev/one", "--yes"}, {"history"}, {"status"}} {
		p.fleetc(command...).exits(p, 2).says(p, "revision 4 is in Secret web, which fleetc did not write")
	}
}

// A rollback that removes a version of a CRD says so, and is refused while objects
// are stored in that version.
func TestRollbackCRD(t *testing.T) {
	p := newWeb(t)
	p.write("environments/widgets.cue", widgets)
	p.fleetc("apply", "--yes").ok(p)
	schema := `schema: openAPIV3Schema: {type: "object", properties: spec: {type: "object", properties: size: type: "integer"}}`
	p.edit("environments/widgets.cue", schema+"\n\t\t\t\t}]", schema+"\n\t\t\t\t}, {name: \"v2\", served: true, storage: false, "+schema+"}]")
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("rollback", "dev/one", "--dry-run").exits(p, 1).says(p,
		"cannot undo CustomResourceDefinition.apiextensions.k8s.io widgets.example.com: version v2 is removed, and requests for it fail")
	p.edit("environments/widgets.cue", `name: "v1", served: true, storage: true`, `name: "v1", served: true, storage: false`)
	p.edit("environments/widgets.cue", `name: "v2", served: true, storage: false`, `name: "v2", served: true, storage: true`)
	p.fleetc("apply", "--yes").ok(p)
	_, mark := p.writes("one", 0)
	p.fleetc("rollback", "dev/one", "--yes", "--to", "1").exits(p, 2).says(p,
		"version v2 is removed, and objects are stored in it", "^dev/one: refused, nothing was written", "status.storedVersions")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a refused rollback writes %q", w)
	}
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "goes back to revision 2", "1 changed")
	// The status after a storage migration.
	p.kubectl("one", "patch", "crd", "widgets.example.com", "--subresource=status", "--type=merge", "-p", `{"status":{"storedVersions":["v1"]}}`)
	p.fleetc("rollback", "dev/one", "--yes", "--to", "1").ok(p).says(p, "version v2 is removed, and requests for it fail", "1 changed")

	// Nothing is stored in v2, although the status says that something may be.
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("rollback", "dev/one", "--dry-run", "--to", "1").exits(p, 2).says(p, "version v2 is removed, and objects are stored in it")
	p.kubectl("one", "-n", "widgets", "delete", "widgets.example.com", "one")
	kubeconfig, err := p.clusters["one"].User("deployer", "deployers")
	if err != nil {
		t.Fatal(err)
	}
	p.kubectl("one", "create", "clusterrole", "all", "--verb=get,list,create,patch,update,delete",
		"--resource=namespaces,secrets,configmaps,deployments.apps,leases.coordination.k8s.io,customresourcedefinitions.apiextensions.k8s.io,widgets.example.com")
	p.kubectl("one", "create", "clusterrolebinding", "all", "--clusterrole=all", "--user=deployer")
	p.waitForRight("one", "deployer", "patch", "widgets.example.com")
	p.fleetc("rollback", "dev/one", "--dry-run", "--to", "1", "--kubeconfig", kubeconfig).exits(p, 2).says(p,
		`the user is not allowed to patch customresourcedefinitions\.apiextensions\.k8s\.io/status \[FL2104\]$`)
	p.fleetc("rollback", "dev/one", "--yes", "--to", "1").ok(p).says(p, "version v2 is removed, and requests for it fail", "1 created, 1 changed")
	if got := p.kubectl("one", "get", "crd", "widgets.example.com", "-o", "jsonpath={.status.storedVersions} {.spec.versions[*].name}"); got != `["v1"] v1` {
		t.Errorf("the CRD has the versions %s", got)
	}
	p.fleetc("status", "--health").exits(p, 1).says(p, "all objects are ready")
}

// hooksRelease is a release with hooks for all events.
const hooksRelease = `package fleet

releases: web: objects: {
	for event in ["pre-install", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback"] {
		(event): {
			apiVersion: "batch/v1"
			kind:       "Job"
			metadata: {name: event, annotations: "helm.sh/hook": event}
			spec: template: spec: {restartPolicy: "Never", containers: [{name: "hook", image: "example.com/hook:1"}]}
		}
	}
}
`

// A rollback runs rollback hooks instead of upgrade hooks, only of releases that it
// changes.
func TestRollbackHooks(t *testing.T) {
	p := newWeb(t)
	p.write("environments/hooks.cue", hooksRelease)
	p.write("environments/numbered.cue", numberedRelease(0, 1, 0))
	p.fleetc("apply", "--yes").ok(p).says(p, "runs hook Job.batch web/pre-install", "; 1 hook run")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "runs hook Job.batch web/pre-upgrade", "runs hook Job.batch web/post-upgrade", "; 2 hooks run")
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "cannot undo Job.batch web/pre-upgrade: effects of this hook of release web are not undone",
		"runs hook Job.batch web/pre-rollback", "runs hook Job.batch web/post-rollback", "; 2 hooks run; this is revision 3$")
	p.write("environments/numbered.cue", numberedRelease(0, 1, 1))
	p.edit("environments/web.cue", `colour: "red"`, `colour: "blue"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "0 pruned; this is revision 4$")
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "1 changed, 0 pruned; this is revision 5$")
}

// With the rights of docs/apply.md, a user can roll back; with those of
// docs/history.md, see the history, and no bundle.
func TestHistoryRights(t *testing.T) {
	p := newWeb(t)
	p.grant("one", "apply", "deployer", "deployers")
	user := func(name, group string) func(args ...string) result {
		kubeconfig, err := p.clusters["one"].User(name, group)
		if err != nil {
			t.Fatal(err)
		}
		return func(args ...string) result {
			p.Helper()
			return p.end(p.command(append(args, "--kubeconfig", kubeconfig)...))
		}
	}
	deployer, viewer := user("deployer", "deployers"), user("viewer", "viewers")
	deployer("apply", "--yes").ok(p)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	deployer("apply", "--yes").ok(p)
	deployer("rollback", "dev/one", "--yes").ok(p).says(p, "this is revision 3$")
	deployer("history").ok(p).says(p, `^dev/one +3\* .*rollback to 1`)
	deployer("status", "--health").exits(p, 1).says(p, "^dev/one +behind", "all objects are ready")

	viewer("status").exits(p, 2).says(p, `User "viewer" cannot get resource "namespaces"`, "^dev/one +forbidden")
	p.grant("one", "history", "viewer", "viewers")
	viewer("history").ok(p).says(p, `^dev/one +3\* .*rollback to 1`)
	viewer("status").exits(p, 1).says(p, "^dev/one +behind +3 ")
	viewer("status", "--health").exits(p, 2).says(p, "^dev/one +behind +3 ", `User "viewer" cannot get resource`)
	viewer("rollback", "dev/one", "--dry-run").exits(p, 2).says(p, `User "viewer" cannot get resource "secrets"`)
}
