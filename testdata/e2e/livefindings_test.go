package e2e

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

const otherRelease = `package fleet

releases: other: {
	namespace: "web"
	stage:     "apps"
	objects: other: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "other", data: colour: "grey"}
}
`

// Differences have reasons, with any rights. Fields set by controllers and API
// defaults are not differences.
func TestLiveReasons(t *testing.T) {
	p := newWeb(t)
	reader := p.reader("one")
	if d := p.diffLive("one", reader, 1); len(d) != 4 || d["Secret web/web"].Reason != "missing" {
		t.Errorf("of a cluster that was never applied to: %v", d)
	}
	p.kubectl("one", "create", "namespace", "web")
	p.kubectl("one", "-n", "web", "create", "configmap", "web", "--from-literal=colour=blue")
	d := p.diffLive("one", reader, 1)
	if c := d["ConfigMap web/web"]; len(d) != 4 || c.Reason != "conflict" || c.Why != "kubectl-create created it" {
		t.Errorf("of an object that another made: %v", d)
	}
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.write("environments/other.cue", otherRelease)
	p.write("environments/hook.cue", hookJob)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "delete", "job", "migrate")
	if d := p.diffLive("one", reader, 0); len(d) > 0 {
		t.Errorf("after an apply: %v", d)
	}
	p.kubectl("one", "-n", "web", "label", "configmap", "web", "mine=yes")
	p.kubectl("one", "-n", "web", "annotate", "deployment", "web", "mine=yes")
	if d := p.diffLive("one", reader, 0); len(d) > 0 {
		t.Errorf("after others added fields: %v", d)
	}
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--type=merge", "-p", `{"data": {"colour": "red"}}`)
	p.kubectl("one", "-n", "web", "delete", "secret", "web")
	p.kubectlInput("one", `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "web"}, "spec": {"replicas": 5}}`,
		"apply", "--server-side", "--force-conflicts", "--field-manager=scaler", "-f", "-")
	p.write("environments/other.cue", "package fleet\n")
	d = p.diffLive("one", reader, 1)
	for id, want := range map[string]string{
		"ConfigMap web/web":       "update conflict data.colour kubectl-patch",
		"Secret web/web":          "create missing  ",
		"Deployment.apps web/web": "update conflict spec.replicas scaler",
		"ConfigMap web/other":     "delete orphaned  ",
	} {
		c := d[id]
		if len(c.Fields) != 1 {
			t.Errorf("%s: %v", id, c)
			continue
		}
		if got := strings.Join([]string{c.Action, c.Reason, c.Fields[0].Path, c.Fields[0].Manager}, " "); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if len(d) != 4 {
		t.Errorf("found %v", d)
	}
	p.fleetc("diff", "--live", "--release", "other").exits(p, 1).says(p, `^  - ConfigMap web/other \(release other\)$`, "^1 object deleted in 1 cluster$")
	p.fleetc("diff", "--live", "--release", "othre").exits(p, 2).says(p, "no cluster has a release othre", "did you mean other")
	p.fleetc("diff", "--live").says(p, `~ data.colour \(kubectl-patch has it\): red -> blue`)
	p.write("environments/ownership.cue", `package fleet

releases: web: ownership: {
	scaled: {target: kinds: ["Deployment"], fields: ["spec.replicas"], leave: true}
	ours: {target: kinds: ["ConfigMap"], fields: ["data.colour"], take: true}
}
`)
	d = p.diffLive("one", reader, 1)
	if _, differs := d["Deployment.apps web/web"]; differs || d["ConfigMap web/web"].Reason != "changed" {
		t.Errorf("with ownership of the release: %v", d)
	}
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	if c := p.diffLive("one", reader, 1)["ConfigMap web/web"]; c.ID != "" {
		t.Errorf("as others have it: %v", c)
	}
}

const hookJob = `package fleet

releases: web: objects: migrate: {
	apiVersion: "batch/v1"
	kind:       "Job"
	metadata: {name: "migrate", annotations: "helm.sh/hook": "pre-install,pre-upgrade"}
	spec: template: spec: {restartPolicy: "Never", containers: [{name: "migrate", image: "example.com/migrate:1"}]}
}
`

// An object without its CRD is missing. A webhook that does not answer and an
// immutable field lead to a simulated apply.
func TestLiveWithoutDryRun(t *testing.T) {
	p := newWeb(t)
	reader := p.reader("one")
	p.write("environments/widgets.cue", widgets)
	p.fleetc("apply", "--yes").ok(p)
	p.blockWebhook()
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.edit("environments/web.cue", `selector: matchLabels: app: "web"`, `selector: matchLabels: app: "webs"`)
	p.edit("environments/web.cue", `metadata: labels: app: "web"`, `metadata: labels: app: "webs"`)
	p.waitFor("the webhook is called", func() bool {
		return strings.Contains(p.fleetc("diff", "--live").stdout, "compared without a dry run: 1 object in dev/one: a webhook does not answer")
	})
	p.fleetc("diff", "--live").exits(p, 1).says(p,
		`~ ConfigMap web/web \(release web, predicted\)`, `~ data.colour: blue -> red`,
		`~ Deployment.apps web/web \(release web, spec.selector: field is immutable, predicted\)`, `~ spec.selector.matchLabels.app: web -> webs`,
		"^compared without a dry run: 1 object in dev/one: the API server refuses to apply them$")
	p.kubectl("one", "delete", "crd", "widgets.example.com")
	for _, d := range []result{p.fleetc("diff", "--live"), p.fleetc("diff", "--live", "--kubeconfig", reader)} {
		d.exits(p, 1).says(p, `\+ Widget.example.com widgets/one \(release widgets, the cluster does not serve example.com/v1 Widget\)`,
			`\+ CustomResourceDefinition.apiextensions.k8s.io widgets.example.com \(release widgets\)`)
	}
}

// An unreadable object is unknown, and does not hide other objects.
func TestLiveRights(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	kubeconfig, err := p.clusters["one"].User("intern")
	if err != nil {
		t.Fatal(err)
	}
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--type=merge", "-p", `{"data": {"colour": "red"}}`)
	p.fleetc("diff", "--live", "--kubeconfig", kubeconfig).exits(p, 2).says(p, `User "intern" cannot get resource "namespaces"`, "^! cluster dev/one: not compared$")
	p.kubectl("one", "create", "clusterrole", "intern", "--verb=get", "--resource=namespaces,configmaps,deployments.apps")
	p.kubectl("one", "create", "clusterrolebinding", "intern", "--clusterrole=intern", "--user=intern")
	p.waitForRight("one", "intern", "get", "namespaces")
	p.fleetc("diff", "--live", "--kubeconfig", kubeconfig).exits(p, 2).says(p,
		`^  ~ ConfigMap web/web \(release web, predicted\)$`,
		`^  ! Secret web/web \(release web, the user is not allowed to get secrets in web\)$`,
		`^  ! Secret fleetc-system/inventory\.example\.com\.infra \(the user is not allowed to get secrets in fleetc-system\)$`,
		`^1 object updated, 2 unknown in 1 cluster$`, `1 object could not be read: the user is not allowed to get secrets in web \[FL2104\]$`)
	p.kubectl("one", "-n", "web", "create", "role", "intern", "--verb=patch", "--resource=configmaps")
	p.kubectl("one", "-n", "web", "create", "rolebinding", "intern", "--role=intern", "--user=intern")
	p.waitFor("the right is had", func() bool {
		return strings.Contains(p.fleetc("diff", "--live", "--kubeconfig", kubeconfig).stdout, "~ ConfigMap web/web (release web)\n")
	})
}

// Generated passwords are compared with the cluster's. A user who may not read them
// still sees all other objects.
func TestLiveGeneratedPasswords(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"})
	p.grafana()
	p.kubectl("one", "create", "namespace", "g")
	p.fleetc("apply", "--yes").ok(p)
	if d := p.diffLive("one", p.reader("one"), 0); len(d) > 0 {
		t.Errorf("right after an apply: %v", d)
	}
	kubeconfig, err := p.clusters["one"].User("intern")
	if err != nil {
		t.Fatal(err)
	}
	p.kubectl("one", "create", "clusterrole", "intern", "--verb=get", "--resource=namespaces,configmaps")
	p.kubectl("one", "create", "clusterrolebinding", "intern", "--clusterrole=intern", "--user=intern")
	p.waitForRight("one", "intern", "get", "namespaces")
	p.edit("environments/g.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("diff", "--live", "--kubeconfig", kubeconfig).exits(p, 2).says(p, `^  ~ ConfigMap g/colour \(release g, predicted\)$`, `^  ! Secret g/stored `, "^1 object updated, 3 unknown in 1 cluster$")
}

// A cluster that is down, or is a different one, does not prevent the comparison of
// others.
func TestLiveDown(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("diff", "--live").ok(p).says(p, "^no differences in 2 clusters$")
	if err := p.clusters["two"].Kill(); err != nil {
		t.Fatal(err)
	}
	p.fleetc("diff", "--live").exits(p, 2).says(p, "^! cluster dev/two: not compared$", "refuses connections", "^no differences in 1 cluster; 1 cluster not compared$")
	p.edit("environments/dev/one/cluster.cue", p.clusters["one"].Context, p.clusters["two"].Context)
	p.edit("environments/dev/two/cluster.cue", p.clusters["two"].Context, p.clusters["one"].Context)
	p.fleetc("diff", "--live").exits(p, 2).says(p, `^! cluster dev/two: not compared$`, `is cluster "dev/one" of fleet`)
}

// blockWebhook configures a webhook that does not answer for ConfigMaps in the
// namespace web.
func (p *place) blockWebhook() {
	p.Helper()
	p.kubectlInput("one", `{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "nobody"},
		"webhooks": [{
			"name": "nobody.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 1,
			"clientConfig": {"service": {"name": "nobody", "namespace": "web"}},
			"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["configmaps"]}],
			"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "web"}}
		}]
	}`, "create", "-f", "-")
	p.waitFor("the webhook is called", func() bool {
		_, err := shared.Kubectl(p.Context(), "--context", p.clusters["one"].Context, "-n", "web", "label", "configmap", "web", "a=b", "--dry-run=server")
		return err != nil
	})
}

// With a webhook that does not answer, the plan has the changed fields, and no
// fields of other managers. An apply says what it waits for, continues when the
// webhook is removed, and fails after a timeout.
func TestSilentWebhook(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--field-manager=robot", "--type=merge", "-p", `{"metadata":{"labels":{"robot":"x"}},"data":{"extra":"y"}}`)
	p.blockWebhook()
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, "~ data.colour: blue -> red", "made no dry run of ConfigMap web/web: a webhook does not answer").lacks(p, "robot", "extra")
	const waits = "dev/one: waits and tries again: failed calling webhook"
	r := p.begin("apply", "--yes")
	r.readUntil(waits, 1)
	p.kubectl("one", "delete", "validatingwebhookconfiguration", "nobody")
	if d := r.end().ok(p); strings.Count(d.stderr, waits) != 1 {
		t.Errorf("it reports the wait more than once:\n%s", d.stderr)
	}
	if got := p.kubectl("one", "-n", "web", "get", "configmap", "web", "-o", "jsonpath={.data}"); got != `{"colour":"red","extra":"y"}` {
		t.Errorf("the ConfigMap has %s", got)
	}
	p.blockWebhook()
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, waits, "environments/web.cue:.*ConfigMap web/web: a webhook does not answer: failed calling webhook .nobody.example.com.* \\[FL2103\\]$", "see that the pods of the webhook run")
}
