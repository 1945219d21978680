package e2e

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

const rehearsedChart = `apiVersion: v1
kind: Service
metadata: {name: db}
spec: {selector: {app: db}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: db}
data: {mode: fast}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: example.com/db}]}}
`

// noNodePorts is a policy that only the cluster knows.
const noNodePorts = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-node-ports}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [services]}]}
  validations: [{expression: "object.spec.type != 'NodePort'", message: "no ports of nodes"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-node-ports}
spec: {policyName: no-node-ports, validationActions: [Deny]}
`

// An update and a diff try the new objects on the running clusters, and write nothing.
func TestRehearseLive(t *testing.T) {
	p := newWeb(t)
	repo := filepath.Join(p.dir, "repository")
	pack := func(version, templates string) {
		p.write("db/Chart.yaml", "apiVersion: v2\nname: db\nversion: "+version+"\n")
		p.write("db/templates/all.yaml", templates)
		p.helm("one", "package", filepath.Join(p.dir, "db"), "-d", repo)
		p.helm("one", "repo", "index", repo)
	}
	pack("1.0.0", rehearsedChart)
	server := httptest.NewServer(http.FileServer(http.Dir(repo)))
	t.Cleanup(server.Close)
	p.fleetc("chart", "add", server.URL+"/db").ok(p)
	p.write("environments/db.cue", "package fleet\n\nimport \"example.com/infra/environments/charts/db\"\n\nreleases: \"db\": db.#Release & {namespace: \"web\", stage: \"apps\"}\n")
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "patch", "configmap", "db", "--type=merge", "-p", `{"data": {"mode": "slow"}}`)
	p.kubectlInput("one", noNodePorts, "apply", "-f", "-")
	p.git("init", "--quiet", "--initial-branch=main")
	p.write(".gitignore", "repository\n")
	p.git("add", "--all")
	p.git("commit", "--quiet", "--message=x")
	pack("1.1.0", strings.NewReplacer("mode: fast", "mode: safe", "spec: {selector: {app: db}, ", "spec: {type: NodePort, selector: {app: db}, ", "{app: db}}\n", "{app: db, part: server}}\n", "{labels: {app: db}}", "{labels: {app: db, part: server}}").Replace(rehearsedChart))

	const immutable = `breaks: Deployment.apps web/db \(release db\): spec.selector changes, but is immutable`
	if d := p.fleetc("chart", "update", "db", "--dry-run").ok(p).says(p, immutable, "^before you merge: 1 breaks$"); strings.Contains(d.stdout, "refuses") {
		t.Errorf("without --live: %s", d.stdout)
	}
	_, mark := p.writes("one", 0)
	findings := []string{
		"^before you merge: 3 break$", immutable,
		`breaks: Service web/db \(release db\): the cluster rejects it: .*no ports of nodes`,
		`breaks: ConfigMap web/db \(release db\): other managers own fields of it: data.mode \(kubectl-patch\)`,
	}
	p.waitFor("the policy refuses the service", func() bool {
		return strings.Contains(p.fleetc("chart", "update", "db", "--dry-run", "--live").ok(p).stdout, "no ports of nodes")
	})
	p.fleetc("chart", "update", "db", "--dry-run", "--live").ok(p).says(p, findings...)
	p.fleetc("chart", "update", "db").ok(p)
	p.fleetc("diff", "--against", "git:main", "--rehearse", "--live").exits(p, 1).says(p, findings...)
	reader := p.reader("one")
	p.fleetc("diff", "--against", "git:main", "--rehearse", "--live", "--kubeconfig", reader).exits(p, 1).says(p, "note: some objects had no dry run, because the user is not allowed to patch or create them")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a rehearsal writes %q", w)
	}

	// A cluster that cannot be reached is not tried.
	p.edit("environments/dev/one/cluster.cue", p.clusters["one"].Context, "nowhere")
	p.fleetc("diff", "--against", "git:main", "--rehearse", "--live").exits(p, 1).says(p, immutable, "note: the dry run failed: .*nowhere", "in dev/one")
}
