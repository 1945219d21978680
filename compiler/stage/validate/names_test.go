package validate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestIllegalName(t *testing.T) {
	const rbac = "rbac.authorization.k8s.io"
	long := func(n int) string { return strings.Repeat("a", n) }
	for _, tt := range []struct {
		group, kind string
		minor       int
		legal       []string
		illegal     []string
		want        string
	}{
		{"apps", "Deployment", 36, []string{"a", "a.b", "1-a", long(253)}, []string{"A", "a_b", "-a", "a..b", "a/b", "..", "a:b", "a.", long(254)}, subdomain},
		{"example.com", "Thing", 36, []string{"a.b"}, []string{"A", "a/b"}, subdomain},
		{"", "Namespace", 36, []string{"a", "1a", long(63)}, []string{"a.b", "A", long(64)}, label},
		{"apps", "StatefulSet", 36, []string{"a", "1a", long(63)}, []string{"a.b", long(64)}, label},
		{"", "Service", 35, []string{"a", "a1", long(63)}, []string{"1a", "a.b", "a-", long(64)}, dns1035},
		{"", "Service", 36, []string{"a", "1a", long(63)}, []string{"a.b", "a-", "A", long(64)}, label},
		{rbac, "Role", 36, []string{"system:Node", "a b", "a..b"}, []string{"a/b", ".", "..", "a%b", "a\nb", "a\x00", "a\xff"}, segment},
		{rbac, "ClusterRole", 36, []string{"system:node"}, []string{"a/b"}, segment},
		{rbac, "RoleBinding", 36, []string{"system:node"}, []string{"a/b"}, segment},
		{rbac, "ClusterRoleBinding", 36, []string{"system:node"}, []string{"a/b"}, segment},
		{"example.com", "Role", 36, nil, []string{"system:node"}, subdomain},
		{"policy", "PodDisruptionBudget", 36, []string{"My_PDB"}, []string{"a/b"}, segment},
		{"certificates.k8s.io", "CertificateSigningRequest", 36, []string{"user:A"}, []string{"a/b"}, segment},
		{"", "Event", 36, []string{"a.B"}, []string{"a/b"}, segment},
		{"events.k8s.io", "Event", 36, []string{"a.b"}, []string{"a.B"}, subdomain},
		{"coordination.k8s.io", "LeaseCandidate", 36, []string{"A_b.c"}, []string{"a/b", "..", "a:b"}, keyName},
		{"batch", "CronJob", 36, []string{"a.b", long(52)}, []string{"A", long(53)}, "at most 52 characters: " + subdomain},
		{"batch", "Job", 36, []string{"a.b", long(63)}, []string{"A", long(64)}, "at most 63 characters: " + subdomain},
		{"networking.k8s.io", "IPAddress", 36, []string{"10.0.0.1", "fd00::1"}, []string{"10.0.0", "fe80::1%eth0", "a"}, "an IP address"},
		{"certificates.k8s.io", "ClusterTrustBundle", 36, []string{"a.b"}, []string{"a:b"}, subdomain},
	} {
		gk := schema.GroupKind{Group: tt.group, Kind: tt.kind}
		check := func(name, want string) {
			t.Helper()
			o := fleet.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}}
			if got := illegalName(o, gk, tt.minor); got != want {
				t.Errorf("%s %q in 1.%d: want %q, got %q", gk, name, tt.minor, want, got)
			}
		}
		for _, name := range tt.legal {
			check(name, "")
		}
		for _, name := range tt.illegal {
			check(name, tt.want)
		}
	}
}

// Some names repeat fields of the object.
func TestIllegalNameOfSpec(t *testing.T) {
	for _, tt := range []struct {
		kind, name string
		spec       map[string]any
		want       string
	}{
		{crdKind, "things.example.com", map[string]any{"group": "example.com", "names": map[string]any{"plural": "things"}}, ""},
		{crdKind, "thing.example.com", map[string]any{"group": "example.com", "names": map[string]any{"plural": "things"}}, `"things.example.com", from spec.names.plural and spec.group`},
		{crdKind, "x/y.example.com", map[string]any{"group": "example.com", "names": map[string]any{"plural": "x/y"}}, subdomain},
		{crdKind, "A", nil, subdomain},
		{"APIService.apiregistration.k8s.io", "v1.example.com", map[string]any{"version": "v1", "group": "example.com"}, ""},
		{"APIService.apiregistration.k8s.io", "v1.", map[string]any{"version": "v1"}, ""},
		{"APIService.apiregistration.k8s.io", "v2.example.com", map[string]any{"version": "v1", "group": "example.com"}, `"v1.example.com", from spec.version and spec.group`},
		{"ClusterTrustBundle.certificates.k8s.io", "example.com:mine:a", map[string]any{"signerName": "example.com/mine"}, ""},
		{"ClusterTrustBundle.certificates.k8s.io", "a", map[string]any{"signerName": "example.com/mine"}, "example.com:mine: followed by " + subdomain},
		{"ClusterTrustBundle.certificates.k8s.io", "%:a", map[string]any{"signerName": "%"}, "%: followed by " + subdomain},
	} {
		o := fleet.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": tt.name}, "spec": tt.spec}}}
		if got := illegalName(o, schema.ParseGroupKind(tt.kind), 36); got != tt.want {
			t.Errorf("%s %q: want %q, got %q", tt.kind, tt.name, tt.want, got)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a b":                    "a b",
		"a\nb\x1b\xff":           "a\uFFFDb\uFFFD\uFFFD",
		strings.Repeat("é", 200): strings.Repeat("é", 150) + "…",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}
