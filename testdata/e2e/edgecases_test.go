package e2e

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/testdata/clusters"
)

// grafana adds a chart that generates passwords, and a release that keeps them.
func (p *place) grafana() {
	p.write("charts/g/Chart.yaml", "apiVersion: v2\nname: g\nversion: 1.0.0\n")
	p.write("charts/g/values.yaml", "colour: blue\n")
	p.write("charts/g/templates/a.yaml", `apiVersion: v1
kind: Secret
metadata: {name: stored}
data: {password: {{ randAlphaNum 16 | b64enc }}}
---
apiVersion: v1
kind: Secret
metadata: {name: plain}
stringData: {password: {{ randAlphaNum 16 }}}
---
apiVersion: v1
kind: Secret
metadata:
  name: hook
  annotations: {helm.sh/hook: "pre-install,pre-upgrade"}
data: {password: {{ randAlphaNum 16 | b64enc }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: colour}
data: {colour: {{ .Values.colour }}}
`)
	p.write("environments/g.cue", `package fleet

releases: g: {
	namespace: "g"
	chart: path: "charts/g"
	values: colour: "blue"
	random: {
		"Secret/stored data.password":      keep: true
		"Secret/plain stringData.password": keep: true
		"Secret/hook data.password":        keep: true
	}
}
`)
}

// A generated password is generated once: it survives the loss of the inventory, is
// kept from any tool's Secret, and is kept in hooks.
func TestGeneratedPasswords(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"})
	p.grafana()
	p.kubectl("one", "create", "namespace", "g")
	p.kubectl("one", "-n", "g", "create", "secret", "generic", "stored", "--from-literal=password=of-kubectl")
	passwords := func() string {
		return p.kubectl("one", "-n", "g", "get", "secrets", "-o", "jsonpath={range .items[*]}{.metadata.name}={.data.password} {end}")
	}
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "Secret g/stored: it already exists")
	p.fleetc("apply", "--yes", "--adopt").ok(p)
	first := passwords()
	if !strings.Contains(first, "stored=b2Yta3ViZWN0bA==") {
		t.Errorf("the password that was taken over is another one: %s", first)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.edit("environments/g.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "1 changed, 0 pruned; 1 hook run")
	if got := passwords(); got != first {
		t.Errorf("the passwords are %s, and were %s", got, first)
	}
	p.kubectl("one", "-n", "fleetc-system", "delete", "secret", inventorySecret)
	p.fleetc("apply", "--yes").ok(p)
	if got := passwords(); got != first {
		t.Errorf("without the inventory, the passwords are %s, and were %s", got, first)
	}
	// A user without the right to read them changes nothing, and other clusters are
	// applied.
	kubeconfig, err := p.clusters["one"].User("blind", "blind")
	if err != nil {
		t.Fatal(err)
	}
	p.kubectl("one", "create", "clusterrole", "blind", "--verb=get", "--resource=namespaces")
	p.kubectl("one", "create", "clusterrolebinding", "blind", "--clusterrole=blind", "--user=blind")
	p.waitForRight("one", "blind", "get", "namespaces")
	p.end(p.command("apply", "--yes", "--kubeconfig", kubeconfig)).exits(p, 2).says(p, `cannot be read to keep its data.password: User "blind" cannot get`, "^dev/one: refused, nothing was written")
}

// plans returns the compiler's plans of the fleet.
func (p *place) plans(o apply.Options) []*deliver.ClusterPlan {
	p.Helper()
	f, err := (&compiler.Compiler{Dir: p.dir, Build: "test"}).Load(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	o.Holder = "test"
	var out []*deliver.ClusterPlan
	for planned, err := range deliver.Plans(p.Context(), f, deliver.ApplyOptions{Options: o, Access: cluster.Access{Kubeconfig: shared.Kubeconfig, Agent: "test"}}, make([]byte, 32)) {
		if err != nil {
			p.Fatal(err)
		}
		if planned.Err != nil {
			p.Fatal(planned.Err)
		}
		out = append(out, planned)
	}
	return out
}

const kubectlWeb = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"web","labels":{"by":"kubectl"}},"data":{"colour":"green","extra":"x"}},
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"web","namespace":"web","annotations":{"a":"b"}},"stringData":{"password":"oldword","more":"topsecret"}},
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"web"},"spec":{
  "replicas":4,"revisionHistoryLimit":3,"strategy":{"type":"Recreate"},"selector":{"matchLabels":{"app":"web"}},
  "template":{"metadata":{"labels":{"app":"web","old":"label"}},"spec":{"terminationGracePeriodSeconds":7,"nodeSelector":{"kubernetes.io/os":"linux"},
    "containers":[{"name":"web","image":"example.com/web:0","env":[{"name":"A","value":"1"}],"ports":[{"containerPort":80}],"resources":{"requests":{"cpu":"1m"}}},
      {"name":"side","image":"example.com/side:1"}]}}}}
]}`

// The plan of an adoption shows the removed fields, and matches the result.
func TestAdoptPlan(t *testing.T) {
	p := newWeb(t)
	p.kubectl("one", "create", "namespace", "web")
	p.kubectlInput("one", kubectlWeb, "apply", "-f", "-")
	// Fields of other managers stay.
	p.kubectl("one", "-n", "web", "label", "--field-manager=somebody", "configmap", "web", "mine=1")
	d := p.fleetc("apply", "--dry-run", "--adopt").exits(p, 1).says(p, `- data.extra: x`, `- metadata.labels.by: kubectl`, `- spec.template.spec.containers\[name=side\]`,
		`spec.replicas: 4 -> 2`, `- spec.template.spec.nodeSelector`, `spec.template.spec.terminationGracePeriodSeconds: 7 -> 30`)
	if strings.Contains(d.stdout, "topsecret") || strings.Contains(d.stdout, "dG9wc2VjcmV0") || strings.Contains(d.stdout, "- metadata.labels.mine") {
		t.Errorf("the plan shows\n%s", d.stdout)
	}
	planned := p.plans(apply.Options{Adopt: true})[0].Plan
	p.fleetc("apply", "--yes", "--adopt").ok(p)
	p.kubectl("one", "-n", "web", "rollout", "status", "deployment", "web")
	live := map[string]map[string]any{}
	for _, kind := range []string{"ConfigMap", "Secret", "Deployment"} {
		live[kind] = declared(t, p.kubectl("one", "-n", "web", "get", kind, "web", "-o", "json"))
	}
	for _, it := range planned.Items {
		kind, _, _ := strings.Cut(it.ID, " ")
		kind, _, _ = strings.Cut(kind, ".")
		want := live[kind]
		if want == nil {
			continue
		}
		if !it.Adopts || it.Action != apply.Change {
			t.Errorf("%s: %s", it.ID, it.Action)
		}
		text, err := it.After.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		got := declared(t, string(text))
		delete(got["metadata"].(map[string]any), "managedFields")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the plan of %s has\n%v\nand it is\n%v", it.ID, got, want)
		}
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A write that is retried after an outage checks the lease, which another process
// may have taken.
func TestLeaseInRetry(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/numbered.cue", numberedRelease(0, 200, 0))
	r := p.begin("apply", "--yes")
	r.readUntil("created", 20)
	c := p.clusters["one"]
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	r.readAll()
	time.Sleep(time.Second) // until it starts to retry
	if err := r.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, mark := p.writes("one", 0)
	time.Sleep(16 * time.Second) // until the lease expires
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	p.kubectl("one", "-n", "fleetc-system", "patch", "lease", "apply", "--type=merge", "-p", `{"spec":{"holderIdentity":"another","renewTime":"`+now+`"}}`)
	if err := r.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.end().exits(p, 2).says(p, "another took the lease of this cluster")
	w, _ := p.writes("one", mark)
	if w = withoutOwn(w); len(w) > 0 {
		t.Errorf("without the lease, apply writes %q", w)
	}
}

const twoVersions = `package fleet

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
				versions: [for v in ["v1", "v1beta1"] {
					name: v, served: true, storage: v == "v1"
					schema: openAPIV3Schema: {type: "object", properties: spec: type: "object", properties: spec: properties: size: type: "integer"}
				}]
			}
		}
		one: {apiVersion: "example.com/v1beta1", kind: "Widget", metadata: name: "one", spec: size: 1}
		two: {apiVersion: "example.com/v1beta1", kind: "Widget", metadata: name: "two", spec: size: 1}
	}
}
`

// An object is pruned although the version in which it was applied is not served
// any more.
func TestRemovedVersion(t *testing.T) {
	p := newWeb(t)
	p.write("environments/widgets.cue", twoVersions)
	p.fleetc("apply", "--yes").ok(p)
	// The version is removed in the run that prunes.
	p.edit("environments/widgets.cue", `["v1", "v1beta1"]`, `["v1"]`)
	p.edit("environments/widgets.cue", `two: {apiVersion: "example.com/v1beta1", kind: "Widget", metadata: name: "two", spec: size: 1}`, "")
	p.edit("environments/widgets.cue", "example.com/v1beta1", "example.com/v1")
	p.fleetc("apply", "--yes").ok(p).says(p, "- Widget.example.com widgets/two", "1 pruned")
	if got := p.kubectl("one", "-n", "widgets", "get", "widgets", "-o", "name"); got != "widget.example.com/one" {
		t.Errorf("there is %s", got)
	}
	// It was removed earlier.
	p.edit("environments/widgets.cue", `["v1"]`, `["v1", "v1beta1"]`)
	p.edit("environments/widgets.cue", "example.com/v1\"", "example.com/v1beta1\"")
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "patch", "crd", "widgets.example.com", "--type=json", "-p", `[{"op":"remove","path":"/spec/versions/1"}]`)
	p.edit("environments/widgets.cue", `["v1", "v1beta1"]`, `["v1"]`)
	p.edit("environments/widgets.cue", `one: {apiVersion: "example.com/v1beta1", kind: "Widget", metadata: name: "one", spec: size: 1}`, "")
	p.fleetc("apply", "--yes", "--force-conflicts").ok(p).says(p, "- Widget.example.com widgets/one", "1 pruned")
	if got := p.kubectl("one", "-n", "widgets", "get", "widgets", "-o", "name"); got != "" {
		t.Errorf("there is %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A custom resource is deleted before its operator is pruned, and its finalizers
// are named.
func TestPruneOperator(t *testing.T) {
	p := newWeb(t)
	p.write("environments/widgets.cue", widgets)
	p.write("environments/operator.cue", `package fleet

stages: [{name: "default"}, {name: "apps"}]
releases: operator: {
	namespace: "web"
	stage:     "apps"
	objects: {
		deployment: {
			apiVersion: "apps/v1"
			kind:       "Deployment"
			metadata: name: "operator"
			spec: {
				selector: matchLabels: app: "operator"
				template: {
					metadata: labels: app: "operator"
					spec: containers: [{name: "operator", image: "example.com/operator:1"}]
				}
			}
		}
		widget: {apiVersion: "example.com/v1", kind: "Widget", metadata: {name: "held", namespace: "widgets", finalizers: ["example.com/operator"]}, spec: size: 1}
	}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	if err := os.Remove(filepath.Join(p.dir, "environments/operator.cue")); err != nil {
		t.Fatal(err)
	}
	operates := func(moment string) {
		if got := p.kubectl("one", "-n", "web", "get", "deployments", "-o", "name"); !strings.Contains(got, "operator") {
			t.Error("the operator went before its resource: " + moment)
		}
	}
	p.fleetc("apply", "--yes", "--timeout", "3s").ok(p).says(p, `still deletes Widget.example.com widgets/held \(it is held by example.com/operator\)`,
		`still deletes Deployment.apps web/operator \(it is deleted after Widget.example.com widgets/held\)`, "2 objects are still being deleted", "this is revision 2")
	operates("at the end of the apply that deletes both")
	p.fleetc("apply", "--yes").ok(p).says(p, "still deletes Widget.example.com widgets/held: it is held by example.com/operator", "nothing was written; 2 objects are still being deleted")
	operates("at the next apply")
	p.kubectl("one", "-n", "widgets", "patch", "widget", "held", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	p.fleetc("apply", "--yes").ok(p).says(p, "1 pruned")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A bundle may have a new version of a CRD and a resource in it. The plan
// recognizes the live resource although the version is not served yet.
func TestNewVersion(t *testing.T) {
	p := newWeb(t)
	p.write("environments/widgets.cue", twoVersions)
	p.edit("environments/widgets.cue", `["v1", "v1beta1"]`, `["v1"]`)
	p.edit("environments/widgets.cue", "example.com/v1beta1", "example.com/v1")
	p.fleetc("apply", "--yes").ok(p)
	last := "v1"
	for i := range 3 {
		next := "v2alpha" + strconv.Itoa(i+1)
		p.edit("environments/widgets.cue", `in ["v1"`, `in ["v1", "`+next+`"`)
		p.edit("environments/widgets.cue", `apiVersion: "example.com/`+last, `apiVersion: "example.com/`+next)
		p.edit("environments/widgets.cue", `size: type: "integer"`, `size: type: "integer", properties: spec: properties: `+next+`: type: "string"`)
		p.edit("environments/widgets.cue", "spec: size: 1", "spec: "+next+`: "x", spec: size: 1`)
		p.fleetc("apply", "--yes").ok(p).says(p, "0 created, 3 changed")
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
		last = next
	}
	// An object of another tool is not treated as fleetc's.
	p.kubectlInput("one", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"theirs","namespace":"widgets"},"spec":{"size":9}}`, "apply", "-f", "-")
	p.edit("environments/widgets.cue", `in ["v1"`, `in ["v1", "v3alpha1"`)
	p.write("environments/theirs.cue", `package fleet

releases: widgets: objects: theirs: {apiVersion: "example.com/v3alpha1", kind: "Widget", metadata: name: "theirs", spec: size: 1}
`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "Widget.example.com widgets/theirs: it already exists, and kubectl-client-side-apply created it")
}

// denyPolicy is an admission policy that rejects a ConfigMap of a colour, and names
// the colour.
const denyPolicy = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"deny"},"spec":{
  "failurePolicy":"Fail","matchConstraints":{"resourceRules":[
    {"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]},
    {"apiGroups":["apps"],"apiVersions":["v1"],"operations":["UPDATE"],"resources":["deployments"]}]},
  "validations":[{"expression":"!has(object.data) || !('colour' in object.data) || object.data.colour != 'hunter2'","messageExpression":"'the colour ' + object.data.colour + ' is denied'"},
    {"expression":"!has(object.spec) || object.spec.replicas != 2","message":"two is denied"}]}},
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"deny"},"spec":{"policyName":"deny","validationActions":["Deny"]}}
]}`

// createDenyPolicy creates the policy and waits until it is effective.
func (p *place) createDenyPolicy(id string) {
	p.Helper()
	p.kubectlInput(id, denyPolicy, "create", "-f", "-")
	p.waitFor("the policy to hold", func() bool {
		_, err := shared.Kubectl(p.Context(), "--context", p.clusters[id].Context, "create", "configmap", "probe", "--dry-run=server", "--from-literal=colour=hunter2")
		return err != nil
	})
}

// Rejections of the cluster hide the contents of Secrets, in plans and applies. A
// conflict is still reported when the object has other faults.
func TestRefusals(t *testing.T) {
	p := newWeb(t)
	p.createDenyPolicy("one")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "hunter2"`)
	for range 2 { // no dry run without the namespace; then a dry run
		d := p.fleetc("apply", "--yes").exits(p, 2).says(p, `ConfigMap web/web: .*the colour \(hidden\) is denied`)
		if strings.Contains(d.stdout+d.stderr, "hunter2") {
			t.Errorf("a secret is shown:\n%s%s", d.stdout, d.stderr)
		}
	}
	p.edit("environments/web.cue", `colour: "hunter2"`, `colour: "blue"`)
	p.edit("environments/web.cue", `replicas: 2`, `replicas: 3`)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "scale", "deployment", "web", "--replicas=5")
	p.edit("environments/web.cue", `replicas: 3`, `replicas: 2`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `other managers own fields of it: spec.replicas \(kubectl\)`)
	p.fleetc("apply", "--yes", "--force-conflicts").exits(p, 2).says(p, "two is denied")
}

// An outdated plan of a new cluster is not applied: not even fleetc's namespace is
// created.
func TestNewClusterSavedPlan(t *testing.T) {
	p := newWeb(t)
	plans := p.plans(apply.Options{})
	p.kubectl("one", "create", "namespace", "web")
	for _, err := range deliver.Run(t.Context(), plans, 1, true, func(apply.Event) {}) {
		if err == nil || !strings.Contains(err.Error(), "it differs from the plan") {
			t.Errorf("a plan that does not hold: %v", err)
		}
	}
	if got := p.kubectl("one", "get", "namespaces", "-o", "name"); strings.Contains(got, "fleetc-system") {
		t.Error("the namespace of fleetc was made")
	}
}

// An apply that finds its bundle applied by another one writes nothing, and says so.
func TestAppliedByAnother(t *testing.T) {
	p := newWeb(t)
	plans := p.plans(apply.Options{})
	p.fleetc("apply", "--yes").ok(p)
	for result, err := range deliver.Run(t.Context(), plans, 1, false, func(apply.Event) {}) {
		if err != nil || !result.UpToDate || result.Revision != 1 {
			t.Errorf("got %+v, %v", result, err)
		}
	}
}

const events = `package fleet

releases: web: objects: {
	for event in ["pre-install", "pre-upgrade"] {
		(event): {
			apiVersion: "batch/v1"
			kind:       "Job"
			metadata: {name: event, annotations: "helm.sh/hook": event}
			spec: {backoffLimit: 0, template: spec: {restartPolicy: "Never", containers: [{name: "a", image: "example.com/a:1"}]}}
		}
	}
}
`

// A release that is adopted from Helm is upgraded, and so is one without a record.
func TestUpgradeHooks(t *testing.T) {
	p := newWeb(t)
	p.write("environments/hooks.cue", events)
	p.kubectl("one", "create", "namespace", "web")
	p.kubectlInput("one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"web","labels":{"app.kubernetes.io/managed-by":"Helm"},
		"annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"web"}},"data":{"colour":"green"}}`, "apply", "--server-side", "--field-manager=helm", "-f", "-")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "Helm release web/web created it")
	d := p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, "runs hook Job.batch web/pre-upgrade")
	if strings.Contains(d.stderr, "pre-install") {
		t.Errorf("it is taken for an installation:\n%s", d.stderr)
	}
	p.kubectl("one", "-n", "fleetc-system", "delete", "secret", inventorySecret)
	d = p.fleetc("apply", "--yes").ok(p).says(p, "runs hook Job.batch web/pre-upgrade")
	if strings.Contains(d.stderr, "pre-install") {
		t.Errorf("without the record it is taken for an installation:\n%s", d.stderr)
	}
}

// A namespace that is being deleted is waited for, and recreated with all its
// objects in the bundle.
func TestTerminating(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectlInput("one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"holds","namespace":"web","finalizers":["example.com/holds"]}}`, "create", "-f", "-")
	p.kubectl("one", "delete", "namespace", "web", "--wait=false")
	p.waitFor("the namespace to say what is in it", func() bool {
		return strings.Contains(p.kubectl("one", "get", "namespace", "web", "-o", "jsonpath={.status.conditions[*].message}"), "example.com/holds")
	})
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, `\+ Namespace web`, "4 objects created")
	p.fleetc("apply", "--yes", "--timeout", "2s").exits(p, 2).says(p, `Namespace web: it is not deleted after 2s: .*example.com/holds`)
	p.fleetc("apply", "--yes", "--timeout", "4s").exits(p, 2).says(p, `dev/one: waits for the deletion of Namespace web: .*example.com/holds`)
	r := p.begin("apply", "--yes")
	p.kubectl("one", "-n", "web", "patch", "configmap", "holds", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	r.end().ok(p)
	if got := strings.Fields(p.kubectl("one", "-n", "web", "get", "configmap,secret,deployment", "-o", "name")); !slices.Contains(got, "configmap/web") || !slices.Contains(got, "secret/web") || !slices.Contains(got, "deployment.apps/web") {
		t.Errorf("there is %q", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// A hook with the policy hook-succeeded is deleted after its success, for any kind,
// even when a later one fails; other hooks stay.
func TestHookSucceeded(t *testing.T) {
	p := newWeb(t)
	p.write("environments/hooks.cue", `package fleet

releases: web: objects: {
	map: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "gone", annotations: {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "-2", "helm.sh/hook-delete-policy": "hook-succeeded"}}}
	account: {apiVersion: "v1", kind: "ServiceAccount", metadata: {name: "stays", annotations: {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "-1"}}}
	job: {
		apiVersion: "batch/v1"
		kind:       "Job"
		metadata: {name: "job", annotations: "helm.sh/hook": "pre-install,pre-upgrade"}
		spec: {backoffLimit: 0, template: {metadata: annotations: {}, spec: {restartPolicy: "Never", containers: [{name: "a", image: "example.com/a:1"}]}}}
	}
}
`)
	hooks := func() string {
		return p.kubectl("one", "-n", "web", "get", "configmap/gone", "serviceaccount/stays", "--ignore-not-found", "-o", "name")
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "3 hooks run")
	if got := hooks(); got != "serviceaccount/stays" {
		t.Errorf("of the hooks there is %q", got)
	}
	p.edit("environments/hooks.cue", "metadata: annotations: {}", `metadata: annotations: "fleetc.test/fail": "true"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "the hook did not succeed")
	if got := hooks(); got != "serviceaccount/stays" {
		t.Errorf("after a hook that failed, there is %q", got)
	}
}

// A key that is removed from stringData is removed from the Secret.
func TestStringData(t *testing.T) {
	p := newWeb(t)
	p.edit("environments/web.cue", `password: "hunter2"`, `{password: "hunter2", old: "x"}`)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/web.cue", `, old: "x"`, "")
	p.fleetc("apply", "--yes").ok(p).says(p, "- data.old", "1 changed")
	if got := p.kubectl("one", "-n", "web", "get", "secret", "web", "-o", "jsonpath={.data}"); got != `{"password":"aHVudGVyMg=="}` {
		t.Errorf("the secret has %s", got)
	}
	// A value that another manager changes is a conflict.
	p.kubectl("one", "-n", "web", "patch", "secret", "web", "--type=merge", "-p", `{"data":{"password":"eA=="}}`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `other managers own fields of it: data.password \(kubectl-patch\)`)
}

// A partial apply does not hide an unhealthy release outside of it.
func TestPartial(t *testing.T) {
	p := newWeb(t)
	p.write("environments/stuck.cue", `package fleet

releases: stuck: {
	namespace: "web"
	stage:     "apps"
	objects: stuck: {
		apiVersion: "apps/v1"
		kind:       "Deployment"
		metadata: name: "stuck"
		spec: {
			selector: matchLabels: app: "stuck"
			template: {
				metadata: {labels: app: "stuck", annotations: "fleetc.test/stuck": "ImagePullBackOff"}
				spec: containers: [{name: "stuck", image: "example.com/stuck:1"}]
			}
		}
	}
}
`)
	p.fleetc("apply", "--yes", "--timeout", "10s").exits(p, 2).says(p, "Deployment.apps web/stuck: ")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes", "--release", "web").ok(p).says(p, "1 changed")
	p.fleetc("apply", "--yes", "--release", "web").ok(p).says(p, "nothing was written")
	p.fleetc("apply", "--yes", "--timeout", "5s").exits(p, 2).says(p, "Deployment.apps web/stuck: ")
	p.fleetc("apply", "--yes", "--release", "stuck", "--timeout", "5s").exits(p, 2).says(p, "Deployment.apps web/stuck: ")
}

// An object that existed before belongs to fleetc once fleetc has recreated it.
func TestRecreatedPreexisting(t *testing.T) {
	p := newWeb(t)
	p.kubectl("one", "create", "namespace", "old")
	p.write("environments/old.cue", `package fleet

releases: old: {namespace: "old", stage: "default", objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "old"}}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "delete", "namespace", "old")
	p.fleetc("apply", "--yes").ok(p).says(p, "1 created")
	if err := os.Remove(filepath.Join(p.dir, "environments/old.cue")); err != nil {
		t.Fatal(err)
	}
	p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "- Namespace old", "1 pruned")
}
