package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// ingressHealth has Argo CD not wait for the addresses of Ingresses, as in docs/gitops.md.
const ingressHealth = `{"data":{"resource.customizations.health.networking.k8s.io_Ingress":"return {status = \"Healthy\"}"}}`

// Argo CD turns an empty cluster into a cluster of the example fleet, stage by stage.
// A change by hand is then out of sync for Argo CD and drifted for fleetc.
func TestArgoExample(t *testing.T) {
	t.Parallel()
	p := &place{T: t, dir: t.TempDir(), flux: map[string]*Flux{}}
	for _, part := range []string{"environments", "schema", "lib", "cue.mod", "testdata/charts", "testdata/components"} {
		if err := os.CopyFS(filepath.Join(p.dir, part), os.DirFS(filepath.Join("../..", part))); err != nil {
			t.Fatal(err)
		}
	}
	if err := shared.Add(t.Context(), clusters.Spec{Name: "example-ci", Nodes: 3, SimulateOperators: true}); err != nil {
		t.Fatal(err)
	}
	c := shared.Cluster("example-ci")
	t.Cleanup(func() {
		if err := errors.Join(c.Err(), c.Kill()); err != nil {
			t.Error(err)
		}
	})
	p.flux["ci"] = &Flux{Cluster: c}
	p.edit("environments/dev/ci/cluster.cue", "kind-ci", c.Context)
	p.edit("environments/fleet.cue", `gitops: argocd: repoURL: "https://git.example.com/platform/clusters.git"`, "")
	var err error
	if p.servers, err = Serve(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.servers.Close() })
	a := p.withArgoCD("ci")
	p.kubectl("ci", "-n", ArgoNamespace, "patch", "configmap/argocd-cm", "--type=merge", "-p", ingressHealth)
	p.fleetc("export", "--layout", "argocd", "--git", a.url, "--branch", "main", "--path", "clusters", "dev/ci").ok(p)
	p.kubectlInput("ci", p.repository("show", "main:clusters/dev/ci/argocd/dev.ci.yaml"), "apply", "--server-side", "-f", "-")
	if err := a.argo.Ready(t.Context(), "dev.ci", p.repository("rev-parse", "main")); err != nil {
		t.Fatal(err)
	}
	a.order("ci", 0, "namespaces/monitoring", "statefulsets/elasticsearch-master", "deployments/cert-manager", "deployments/dashboard")
	a.fleetc("drift", "dev/ci").ok(p).says(p, "^no drift in 1 cluster$")

	p.kubectl("ci", "-n", ArgoNamespace, "patch", "application/dev.ci", "--type=json", "-p", `[{"op":"remove","path":"/spec/syncPolicy/automated"}]`)
	p.kubectl("ci", "-n", "cert-manager", "set", "image", "deployment/cert-manager", "*=example.com/hand:1")
	p.kubectl("ci", "-n", "logging", "set", "image", "daemonset/fluentd", "*=example.com/hand:1")
	a.seesIn("dev/ci", "DaemonSet.apps logging/fluentd", "Deployment.apps cert-manager/cert-manager")
}
