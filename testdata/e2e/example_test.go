package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// Nothing runs behind a Service of these clusters, so that a webhook would
// answer to nobody.
const withoutWebhooks = `package fleet

releases: [=~"^(cert-manager|ingress-controller|monitoring)$"]: patches: "without-webhooks": {
	target: kinds: ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]
	optional: true
	merge: webhooks: []
}
releases: "metrics-server": patches: "without-apiservice": {
	target: kinds: ["APIService"]
	strategic: spec: service: null
	strategic: spec: insecureSkipTLSVerify: null
}
`

// An empty cluster becomes a cluster of the example fleet in one run, from the
// repository alone; the next one writes nothing.
func TestExample(t *testing.T) {
	dir := t.TempDir()
	for _, part := range []string{"environments", "schema", "lib", "cue.mod", "testdata/charts", "testdata/components"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(top, part))); err != nil {
			t.Fatal(err)
		}
	}
	const context = "kind-ci"
	spec := clusters.Spec{Name: "example", Context: context, Nodes: 3}
	if err := shared.Add(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	c := shared.Cluster("example")
	t.Cleanup(func() {
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
	})
	p := &place{T: t, dir: dir, clusters: map[string]*clusters.Cluster{"ci": c}}
	p.write("environments/webhooks.cue", withoutWebhooks)
	// Nor is there an operator who would say how its resources are.
	p.write("environments/health.cue", "package fleet\n\nhealth: operators: {match: kinds: [\"Prometheus.monitoring.coreos.com\", \"ClusterIssuer.cert-manager.io\"], wait: false}\n")
	p.fleetc("apply", "--yes", "--timeout", "2m", "dev/ci").ok(p).says(p, "^dev/ci: applied: ", "hooks run")
	_, mark := p.writes("ci", 0)
	p.fleetc("apply", "--yes", "dev/ci").ok(p).says(p, "^dev/ci: runs its bundle, nothing was written")
	if w, _ := p.writes("ci", mark); len(w) > 0 {
		t.Errorf("a second apply writes %q", w)
	}
	p.write("environments/dev/ci/quota.cue", "package fleet\n\nreleases: kibana: defaults: ci: replicas: 2\n")
	p.fleetc("apply", "--yes", "dev/ci").ok(p).says(p, "0 created, 1 changed, 0 pruned$")
	w, _ := p.writes("ci", mark)
	if w = withoutOwn(w); len(w) != 1 || w[0] != "patch /apis/apps/v1/namespaces/logging/deployments/kibana 200" {
		t.Errorf("one value changed, and apply writes %q", w)
	}
}
