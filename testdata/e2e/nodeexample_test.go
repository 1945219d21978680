package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
	"github.com/fleetc/fleetc/testdata/operators"
)

// exampleImages returns the images of the example in dev/ci. Operators are real. A
// stand-in answers requests to the other programs: some are not Go modules, and the others,
// such as metrics-server, node-exporter and Prometheus, would take too long to build.
func exampleImages(t *testing.T, programs map[string]string) []clusters.Image {
	t.Helper()
	standin := filepath.Join(t.TempDir(), "standin")
	build := exec.Command("go", "build", "-o", standin, "./testdata/e2e/standin")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := func(image, path string) clusters.Image {
		return clusters.Image{Name: image, Files: map[string]string{path: programs[filepath.Base(path)]}, Entrypoint: []string{path}, User: "1000"}
	}
	answers := func(image string, flags ...string) clusters.Image {
		return clusters.Image{Name: image, Files: map[string]string{"/standin": standin}, Entrypoint: append(append([]string{"/standin"}, flags...), "--")}
	}
	linked := func(image clusters.Image, links ...string) clusters.Image {
		image.Links = map[string]string{}
		for _, link := range links {
			image.Links[link] = "/standin"
		}
		return image
	}
	certgen := linked(answers("registry.example.dev/ingress/webhook-certgen:v1.6.2"), "/certgen")
	certgen.Entrypoint = []string{"/certgen"}
	elasticsearch := linked(answers("registry.example.dev/elastic/elasticsearch:8.19.3", "-http", ":9200"), "/bin/bash", "/bin/curl")
	elasticsearch.Links["/bin/sysctl"] = "/bin/true" // the parameters are those of the machine
	return []clusters.Image{
		program("quay.example.dev/certs/cert-manager-cainjector:v1.18.4", "/cainjector"),
		program("quay.example.dev/certs/cert-manager-controller:v1.18.4", "/controller"),
		program("quay.example.dev/certs/cert-manager-startupapicheck:v1.18.4", "/ctl"),
		program("quay.example.dev/certs/cert-manager-webhook:v1.18.4", "/webhook"),
		program("registry.example.dev/prometheus-operator/prometheus-operator:v0.86.1", "/operator"),
		program("registry.example.dev/prometheus-operator/prometheus-config-reloader:v0.86.1", "/bin/prometheus-config-reloader"),
		certgen, elasticsearch,
		answers("registry.example.dev/dashboard/dashboard:v2.7.0", "-https", ":8443"),
		answers("registry.example.dev/elastic/kibana:8.19.3", "-http", ":5601"),
		answers("registry.example.dev/fluent/fluentd-kubernetes:v1.18.0-elasticsearch8", "-http", ":24231"),
		answers("registry.example.dev/grafana/grafana:12.2.1", "-http", ":3000"),
		answers("registry.example.dev/ingress/controller@sha256:7f41f2d4b55bbb2d4d0c5d5ea5d8a3b7a6ad71b8a27f5a0fe30a7b0d0c6a1e55",
			"-http", ":10254", "-https", ":8443", "-certs", "/usr/local/certificates"),
		answers("registry.example.dev/kube-state-metrics/kube-state-metrics:v2.17.0", "-http", ":8080,:8081"),
		answers("registry.example.dev/library/k8s-sidecar:1.30.10", "-http", ":0"),
		answers("registry.example.dev/metrics-server/metrics-server:v0.8.0", "-https", ":10250"),
		linked(answers("registry.example.dev/nodes/kured:1.17.1"), "/usr/bin/kured"),
		answers("registry.example.dev/prometheus/node-exporter:v1.10.2", "-http", ":9100"),
		answers("registry.example.dev/prometheus/prometheus:v3.7.3", "-http", ":9090"),
	}
}

// exampleNode configures a cluster with one small node and without a network, and for
// cert-manager 1.11: later versions have their programs in modules that the proxy does not
// serve.
const exampleNode = `package fleet

releases: {
	elasticsearch: defaults: ci: resources: requests: {cpu: "50m", memory: "64Mi"}
	kibana: defaults: ci: resources: requests: {cpu: "50m", memory: "64Mi"}
	"cert-manager": patches: old: {
		// cert-manager 1.11 removes fields that it does not know.
		target: {kinds: ["MutatingWebhookConfiguration"], names: ["cert-manager-webhook"]}
		json: [{op: "remove", path: "/webhooks/0/matchConditions"}]
	}
	"cert-manager": defaults: ci: {
		// cert-manager 1.11 does not serve this probe.
		livenessProbe: enabled: false
		clusterIssuers: letsencrypt: acme: {server: "https://ACME/dir", skipTLSVerify: true}
	}

	// The example refers to this Secret, and does not create it: its data is not in git.
	accounts: {
		namespace: "monitoring"
		stage:     "base"
		plaintext: "Secret/grafana-admin": "a password for a test"
		objects: grafana: {
			apiVersion: "v1", kind: "Secret", metadata: name: "grafana-admin"
			stringData: {"admin-user": "admin", "admin-password": "unused"}
		}
	}

	rights: {
		namespace: "cert-manager"
		stage:     "base"
		objects: {
			// The check of cert-manager 1.11 creates a Certificate. Later versions create a
			// CertificateRequest.
			role: {
				apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: name: "test-certificates"
				rules: [{apiGroups: ["cert-manager.io"], resources: ["certificates"], verbs: ["create"]}]
			}
			binding: {
				apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: name: "test-certificates"
				roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "test-certificates"}
				subjects: [{kind: "ServiceAccount", name: "cert-manager-startupapicheck", namespace: "cert-manager"}]
			}
		}
	}

	certificate: {
		namespace: "dashboard"
		stage:     "apps"
		objects: issuer: {apiVersion: "cert-manager.io/v1", kind: "Issuer", metadata: name: "self", spec: selfSigned: {}}
		objects: certificate: {
			apiVersion: "cert-manager.io/v1", kind: "Certificate", metadata: name: "web"
			spec: {secretName: "web", dnsNames: ["web.example.com"], issuerRef: name: "self"}
		}
	}
}
`

// acmeServer starts an ACME server that the node of ci reaches, and returns its address.
func (p *place) acmeServer(programs map[string]string) string {
	p.Helper()
	// The machine has the address before that of the node.
	node, err := netip.ParseAddr(p.kubectl("ci", "get", "nodes", "-o", `jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}`))
	if err != nil {
		p.Fatal(err)
	}
	port, err := shared.Port()
	if err != nil {
		p.Fatal(err)
	}
	address := netip.AddrPortFrom(node.Prev(), uint16(port)).String()
	p.write("pebble.json", fmt.Sprintf(`{"pebble": {"listenAddress": %q, "certificate": %q, "privateKey": %q,
		"profiles": {"default": {"description": "for tests", "validityPeriod": 86400}}}}`, address, programs["cert.pem"], programs["key.pem"]))
	if err := p.clusters["ci"].Run(programs["pebble"], []string{"-config", filepath.Join(p.dir, "pebble.json"), "-strict=false"}, nil); err != nil {
		p.Fatal(err)
	}
	return address
}

// One apply turns an empty cluster into a cluster of the example fleet whose programs run
// in containers on a real node, with real operators and webhooks.
func TestNodeExample(t *testing.T) {
	programs, err := operators.Build(context.Background(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	p := newExample(t, clusters.Spec{Name: "ci", RealNodes: 1, Images: exampleImages(t, programs)})
	p.write("environments/dev/ci/node.cue", strings.Replace(exampleNode, "ACME", p.acmeServer(programs), 1))
	p.fleetc("apply", "--yes", "dev/ci").ok(p).says(p, "^dev/ci: applied: ", "hooks run")
	if got := p.kubectl("ci", "get", "secret", "web", "-n", "dashboard", "-o", "jsonpath={.type}"); got != "kubernetes.io/tls" {
		t.Errorf("the Secret of the Certificate is %s", got)
	}
	if got := p.kubectl("ci", "get", "prometheus", "monitoring-prometheus", "-n", "monitoring", "-o", "jsonpath={.status.availableReplicas}"); got != "1" {
		t.Errorf("%s replicas of Prometheus are available", got)
	}
	p.fleetc("apply", "--yes", "dev/ci").ok(p).says(p, "^dev/ci: runs its bundle, nothing was written")
}
