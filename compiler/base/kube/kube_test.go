package kube

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	flowSchema = schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Kind: "FlowSchema"}
)

// version returns a known minor version.
func version(t testing.TB, text string) *Version {
	t.Helper()
	v, known := Minor(text)
	if !known {
		t.Fatalf("Kubernetes %s is not known", text)
	}
	return v
}

func TestMinor(t *testing.T) {
	for text, want := range map[string]string{"1.29": "1.29", "1.36.2": "1.36", "1.37.99": "1.37"} {
		if v := version(t, text); v.String() != want {
			t.Errorf("Minor(%q) is %s", text, v)
		}
	}
	for _, text := range []string{"", "1.28", "1.38", "2.30", "v1.36", "latest", "1.-1"} {
		if v, known := Minor(text); known || v != nil {
			t.Errorf("Minor(%q) is %s", text, v)
		}
	}
	all := Versions()
	if len(all) != 9 || all[0].Number() != 29 || all[8].Number() != 37 {
		t.Errorf("the versions are %v", all)
	}
	all[0] = nil
	if Versions()[0] == nil {
		t.Error("a caller can change the versions")
	}
}

// Every kind of every version has a schema with the common fields of objects.
func TestKindsHaveSchemas(t *testing.T) {
	for _, v := range Versions() {
		kinds := v.Kinds()
		if len(kinds) < 60 {
			t.Errorf("%s has %d kinds", v, len(kinds))
		}
		for _, k := range kinds {
			s := v.Schema(k.GroupVersionKind)
			if s == nil || s.Fields["metadata"] == nil || s.Fields["apiVersion"].Type != String {
				t.Errorf("%s: %s has no schema of an object", v, k)
				continue
			}
			if got, served := v.Kind(k.GroupVersionKind); !served || got != k {
				t.Errorf("%s: Kind(%s) is %v, %v", v, k, got, served)
			}
		}
		if !slices.IsSortedFunc(kinds, func(a, b Kind) int {
			return slices.Compare([]string{a.Group, a.Kind, a.Version}, []string{b.Group, b.Kind, b.Version})
		}) {
			t.Errorf("%s: the kinds are in no order", v)
		}
	}
}

func TestServedIn(t *testing.T) {
	hpa := schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	got := version(t, "1.36").ServedIn(hpa)
	slices.Sort(got)
	if !slices.Equal(got, []string{"v1", "v2"}) {
		t.Errorf("HorizontalPodAutoscaler is served in %v", got)
	}
	if got := version(t, "1.36").ServedIn(schema.GroupKind{Group: "policy", Kind: "PodSecurityPolicy"}); got != nil {
		t.Errorf("PodSecurityPolicy is served in %v", got)
	}
	if !HasGroup("apps") || !HasGroup("") || HasGroup("example.com") {
		t.Error("HasGroup does not know the groups")
	}
	if !HasKind(hpa) || HasKind(schema.GroupKind{Kind: "Deployment"}) {
		t.Error("HasKind does not know the kinds")
	}
	if !slices.Contains(GroupKinds(), hpa) {
		t.Error("GroupKinds leaves kinds out")
	}
}

func TestWhenKind(t *testing.T) {
	for gvk, want := range map[schema.GroupVersionKind]string{
		deployment: "in every version",
		flowSchema: "until 1.31",
		{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}: "from 1.34",
		{Group: "extensions", Version: "v1beta1", Kind: "Ingress"}:       "",
	} {
		if got := WhenKind(gvk); got != want {
			t.Errorf("WhenKind(%s) = %q, want %q", gvk, got, want)
		}
	}
}

func TestWhenField(t *testing.T) {
	for field, want := range map[string]string{
		"image":              "in every version",
		"restartPolicyRules": "from 1.34",
		"imagePulPolicy":     "",
	} {
		if got := WhenField("io.k8s.api.core.v1.Container", field); got != want {
			t.Errorf("WhenField(Container, %s) = %q, want %q", field, got, want)
		}
	}
	if got := WhenField("no.such.Definition", "x"); got != "" {
		t.Errorf("a definition that is not there: %q", got)
	}
}
