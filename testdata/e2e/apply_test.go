package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// web is a release in two stages: a namespace and its content.
const web = `package fleet

stages: [{name: "default"}, {name: "apps"}]

releases: space: {
	namespace: "web"
	stage:     "default"
	objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "web"}
}
releases: web: {
	namespace: "web"
	stage:     "apps"
	objects: {
		config: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "web", data: colour: "blue"}
		secret: {apiVersion: "v1", kind: "Secret", metadata: name: "web", stringData: password: "hunter2"}
		deployment: {
			apiVersion: "apps/v1"
			kind:       "Deployment"
			metadata: name: "web"
			spec: {
				replicas: 2
				selector: matchLabels: app: "web"
				template: {
					metadata: labels: app: "web"
					spec: containers: [{name: "web", image: "example.com/web:1"}]
				}
			}
		}
	}
}
`

const fleetFile = "environments/fleet.cue"

// newWeb returns a cluster with the fleet web, not applied.
func newWeb(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, clusters.Spec{Name: "one"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	return p
}

// An apply creates missing objects and waits for them. The next apply writes
// nothing. A changed value is one patch, and drift is reverted.
func TestApply(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply").exits(p, 2).says(p, "cannot ask here")
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, `^dev/one: is new to fleetc`, `\+ Deployment.apps web/web \(release web\)`)
	if w, _ := p.writes("one", 0); len(w) > 0 {
		t.Errorf("a dry run writes %q", w)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/one: applied: 4 created, 0 changed, 0 pruned`)
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.status.availableReplicas}"); got != "2" {
		t.Errorf("%s replicas are available after apply", got)
	}

	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/one: runs its bundle, nothing was written`)
	p.fleetc("apply", "--dry-run").ok(p).says(p, "^dev/one: runs its bundle, nothing was written$")
	w, mark := p.writes("one", mark)
	if len(w) > 0 {
		t.Errorf("a second apply writes %q", w)
	}

	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p).says(p, `~ data.colour: "?blue"? -> "?red"?`, `0 created, 1 changed`)
	w, mark = p.writes("one", mark)
	if w = withoutOwn(w); !slices.Equal(w, []string{"patch /api/v1/namespaces/web/configmaps/web 200"}) {
		t.Errorf("one value changed, and apply writes %q", w)
	}

	p.edit("environments/web.cue", "hunter2", "hunter3")
	if d := p.fleetc("apply", "--yes").ok(p); strings.Contains(d.stdout+d.stderr, "hunter") {
		t.Errorf("a secret is shown:\n%s%s", d.stdout, d.stderr)
	}
	if got := p.kubectl("one", "-n", "web", "get", "secret", "web", "-o", "jsonpath={.data.password}"); got != "aHVudGVyMw==" {
		t.Errorf("the secret is %s", got)
	}

	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, `\+ ConfigMap web/web`)
	p.fleetc("apply", "--yes").ok(p).says(p, "1 created")

	_, mark = p.writes("one", mark)
	p.fleetc("apply", "--yes").ok(p)
	if w, _ = p.writes("one", mark); len(w) > 0 {
		t.Errorf("the last apply writes %q", w)
	}
}

// An apply refuses a rule that matches no object, as vet --render does, also in a rollout.
func TestUnusedRule(t *testing.T) {
	p := newWeb(t)
	p.write("environments/images.cue", "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\nimages: schema.#Images & {\"example.com/wbe\": policy: semver: \"^1\"}\n")
	unused := `^environments/images.cue:5:27: images."example.com/wbe": no object of its clusters has the image example.com/wbe \[FL1113\]`
	p.fleetc("vet", "--render").exits(p, 2).says(p, unused)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, unused)
	p.write("environments/rollout.cue", "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\nrollout: schema.#Rollout & {waves: [{name: \"all\", others: true}]}\n")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, unused)
	if w, _ := p.writes("one", 0); len(w) > 0 {
		t.Errorf("refused applies write %q", w)
	}
	p.edit("environments/images.cue", "wbe", "web")
	p.fleetc("apply", "--yes").ok(p)

	// drift --fix refuses it, too, also in a fleet without a rollout.
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.edit("environments/images.cue", "example.com/web", "example.com/wbe")
	_, mark := p.writes("one", 0)
	p.fleetc("drift", "--fix", "--yes").exits(p, 2).says(p, unused)
	p.fleetc("drift", "--fix", "--dry-run").exits(p, 2).says(p, unused)
	p.write("environments/rollout.cue", "package fleet\n")
	p.fleetc("drift", "--fix", "--yes").exits(p, 2).says(p, unused)
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("refused fixes write %q", w)
	}
	p.edit("environments/images.cue", "wbe", "web")
	p.fleetc("drift", "--fix", "--yes").ok(p).says(p, "1 created")
}

// manyRelease is a release with n ConfigMaps, and objects that are not pruned.
func manyRelease(n int) string {
	var b strings.Builder
	b.WriteString("package fleet\n\nreleases: many: {\n\tnamespace: \"web\"\n\tstage: \"apps\"\n\tobjects: {\n")
	for i := range n {
		fmt.Fprintf(&b, "\t\tc%02d: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"many-%02d\"}\n", i, i)
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

const kept = `package fleet

releases: kept: {
	namespace: "other"
	stage:     "apps"
	objects: {
		ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "other"}
		kept: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "kept", annotations: "helm.sh/resource-policy": "keep"}}
		never: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "never", annotations: "fleetc.dev/prune": "never"}}
		claim: {
			apiVersion: "v1"
			kind:       "PersistentVolumeClaim"
			metadata: name: "claim"
			spec: {accessModes: ["ReadWriteOnce"], storageClassName: "kwok-volume", resources: requests: storage: "1Gi"}
		}
	}
}
`

// Objects that leave the fleet are pruned, unless they are protected, kept, or more
// than the limit. Objects outside of the inventory or the selection are not pruned.
func TestPrune(t *testing.T) {
	p := newWeb(t)
	p.write("environments/many.cue", manyRelease(14))
	p.write("environments/kept.cue", kept)
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: applied: 22 created")
	p.kubectl("one", "-n", "web", "create", "configmap", "foreign")

	if err := os.Remove(filepath.Join(p.dir, "environments/kept.cue")); err != nil {
		t.Fatal(err)
	}
	p.write("environments/many.cue", manyRelease(12))
	// Another object of the same name, which fleetc did not create.
	p.kubectl("one", "-n", "web", "delete", "configmap", "many-12")
	p.kubectl("one", "-n", "web", "create", "configmap", "many-12")
	p.fleetc("apply", "--yes", "--stage", "default").ok(p).says(p, "nothing was written")
	p.fleetc("apply", "--yes", "--release", "web").ok(p).says(p, "nothing was written")
	p.fleetc("apply", "--yes").ok(p).says(p, "- ConfigMap web/many-13", "0 created, 0 changed, 1 pruned",
		"keeps ConfigMap other/kept: helm.sh/resource-policy: keep", "keeps ConfigMap other/never: fleetc.dev/prune: never",
		"keeps PersistentVolumeClaim other/claim", "keeps Namespace other")
	maps := "{range .items[*]}{.metadata.name} {end}"
	if got := p.kubectl("one", "-n", "web", "get", "configmaps", "-o", "jsonpath="+maps); !strings.Contains(got, "many-12 web") || strings.Contains(got, "many-13") || !strings.Contains(got, "foreign") {
		t.Errorf("the ConfigMaps are %s", got)
	}
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written", "keeps Namespace other")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("an apply that keeps objects writes %q", w)
	}

	// Pruning everything is refused, and done with a flag.
	for _, f := range []string{"many", "web"} {
		if err := os.Remove(filepath.Join(p.dir, "environments", f+".cue")); err != nil {
			t.Fatal(err)
		}
	}
	p.edit(fleetFile, "stages: schema.#Stages", `stages: schema.#Stages & [{name: "default"}]`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `15 objects would be pruned, and the limit is 10 \[FL2108\]$`, "pass --prune-limit 15")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a refused apply writes %q", w)
	}
	p.fleetc("apply", "--plan", "plan.json", "--prune-limit", "0").exits(p, 2).says(p, "15 objects would be pruned, and the limit is 0")
	p.fleetc("apply", "--yes", "--prune-limit", "15").ok(p).says(p, "15 pruned", "keeps Namespace web")
	p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "keeps Namespace other: it contains ConfigMap other/(kept|never), which is kept", "2 pruned")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// Objects that existed before fleetc, and namespaces of remaining objects, are
// never pruned.
func TestPreexistingNotPruned(t *testing.T) {
	p := newWeb(t)
	p.kubectl("one", "create", "namespace", "old")
	p.write("environments/old.cue", `package fleet

releases: space: objects: old: {apiVersion: "v1", kind: "Namespace", metadata: name: "old"}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if err := os.Remove(filepath.Join(p.dir, "environments/old.cue")); err != nil {
		t.Fatal(err)
	}
	p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "keeps Namespace old: it existed before")
	p.edit("environments/web.cue", `metadata: name: "web"}
}`, `metadata: name: "other"}
}`)
	p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "keeps Namespace web: it contains .*, which is kept")
	if got := p.kubectl("one", "get", "namespaces", "old", "web", "-o", "jsonpath={.items[*].status.phase}"); got != "Active Active" {
		t.Errorf("the namespaces are %s", got)
	}
}

// Fields of other managers are reported and left alone, unless they are forced.
func TestConflict(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "scale", "deployment", "web", "--replicas=5")
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes").exits(p, 2).says(p,
		`Deployment.apps web/web: spec.replicas is kubectl's, who has 5; the bundle has 2`,
		`other managers own fields of it: spec.replicas \(kubectl\) \[FL2106\]$`, `--force-conflicts`, `^dev/one: refused, nothing was written`)
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a refused apply writes %q", w)
	}
	p.fleetc("apply", "--yes", "--force-conflicts").ok(p).says(p, "0 created, 1 changed")
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"); got != "2" {
		t.Errorf("%s replicas", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A changed immutable field is reported before anything is written.
func TestImmutable(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/web.cue", `app: "web"`, `app: "other"`)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `Deployment.apps web/web: spec.selector: field is immutable \[FL2107\]$`)
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a refused apply writes %q", w)
	}
}

// Objects of kubectl are refused, and adopted with a flag. Fields that only kubectl
// had set are removed.
func TestAdopt(t *testing.T) {
	p := newWeb(t)
	p.kubectl("one", "create", "namespace", "web")
	p.kubectlInput("one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"web"},"data":{"colour":"green","extra":"x"}}`, "apply", "-f", "-")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `ConfigMap web/web: it already exists, and kubectl-client-side-apply created it`, "--adopt")
	p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, `takes over ConfigMap web/web`)
	var o struct {
		Data     map[string]string
		Metadata struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal([]byte(p.kubectl("one", "-n", "web", "get", "configmap", "web", "-o", "json")), &o); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(o.Metadata.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, "fleetc.dev/") })
	if len(o.Data) != 1 || o.Data["colour"] != "blue" || len(o.Metadata.Annotations) > 0 {
		t.Errorf("the adopted object has %v, annotations %v", o.Data, o.Metadata.Annotations)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A context of a different cluster is refused.
func TestIdentity(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	applied := p.fleetc("apply", "--yes", "--parallel", "1").ok(p).says(p, "^dev/one: applied", "^dev/two: applied")
	if events := applied.stderr; strings.LastIndex(events, "dev/one: stage") > strings.Index(events, "dev/two: stage") {
		t.Errorf("--parallel 1 begins with a cluster before another is done:\n%s", events)
	}
	one, two := p.clusters["one"].Context, p.clusters["two"].Context
	uid := p.kubectl("one", "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")
	p.write("environments/dev/one/uid.cue", "package fleet\n\ncluster: uid: \""+uid+"\"\n")
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: runs its bundle")
	p.write("environments/dev/one/uid.cue", "package fleet\n\ncluster: uid: \"1234\"\n")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "^dev/one: refused", "cluster.uid: .* is another cluster: the UID of its namespace kube-system is "+uid, "set cluster.uid to this UID", "^dev/two: runs its bundle")
	p.write("environments/dev/one/uid.cue", "package fleet\n")
	_, mark := p.writes("two", 0)
	p.edit("environments/dev/one/cluster.cue", one, two)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "clusters dev/one and dev/two both have the context")
	p.fleetc("apply", "--yes", "dev/one").exits(p, 2).says(p, `is cluster "dev/two" of fleet`)
	p.edit("environments/dev/one/cluster.cue", two, one+"x")
	p.fleetc("apply", "--yes", "dev/one").exits(p, 2).says(p, "the kubeconfig has no context", "did you mean "+one)
	p.edit("environments/dev/one/cluster.cue", `, context: "`+one+`x"`, "")
	p.fleetc("apply", "--yes", "dev/one").exits(p, 2).says(p, "the cluster has no kubeconfig context")
	// Another name of the same cluster, in a kubeconfig.
	kubeconfig, err := os.ReadFile(shared.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	p.write("kubeconfig", string(kubeconfig))
	p.kubeconfig("config", "set-context", "alias", "--cluster="+p.kubeconfig("config", "view", "-o", `jsonpath={.contexts[?(@.name=="`+two+`")].context.cluster}`),
		"--user="+p.kubeconfig("config", "view", "-o", `jsonpath={.contexts[?(@.name=="`+two+`")].context.user}`))
	p.edit("environments/dev/one/cluster.cue", `kubernetes: "1.37"`, `kubernetes: "1.37", context: "alias"`)
	p.fleetc("apply", "--yes", "--kubeconfig", "kubeconfig").exits(p, 2).says(p, `lead to the same cluster`, "^dev/one: refused", "^dev/two: refused")
	p.edit("environments/dev/one/cluster.cue", `, context: "alias"`, "")
	// The inventory of another cluster, as after restoring a backup.
	p.edit("environments/dev/one/cluster.cue", `kubernetes: "1.37"`, `kubernetes: "1.37", context: "`+two+`"`)
	secret := p.kubectl("one", "-n", "fleetc-system", "get", "secret", inventorySecret, "-o", "json")
	p.kubectl("two", "-n", "fleetc-system", "delete", "secret", inventorySecret)
	p.kubectlInput("two", withoutServerFields(t, secret), "create", "-f", "-")
	p.fleetc("apply", "--yes", "dev/one").exits(p, 2).says(p, `is not the cluster that fleetc knows as .* \[FL2102\]$`)
	// An inventory that was changed by hand.
	p.kubectl("two", "-n", "fleetc-system", "patch", "secret", inventorySecret, "-p", `{"data":{"data":"aGVsbG8="}}`)
	p.fleetc("apply", "--yes", "dev/one").exits(p, 2).says(p, `the inventory in fleetc-system cannot be used: its checksum is wrong \[FL2113\]$`)
	if w, _ := p.writes("two", mark); len(w) > 0 {
		t.Errorf("refused applies write %q", w)
	}
}

func withoutServerFields(t *testing.T, object string) string {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	meta := o["metadata"].(map[string]any)
	for _, k := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(meta, k)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
