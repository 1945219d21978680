package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The table agrees with well-known facts about Kubernetes.
func TestTableFacts(t *testing.T) {
	k := kubernetes()
	if k.first != 29 || k.last != 37 {
		t.Errorf("the table covers 1.%d to 1.%d, want 1.29 to 1.37", k.first, k.last)
	}
	for _, tt := range []struct {
		apiVersion, kind string
		minors           string // minor versions that serve it
		scope            string
	}{
		{"v1", "Pod", "1.29-1.37", "Namespaced"},
		{"v1", "Namespace", "1.29-1.37", "Cluster"},
		{"v1", "Node", "1.29-1.37", "Cluster"},
		{"v1", "PersistentVolume", "1.29-1.37", "Cluster"},
		{"v1", "PersistentVolumeClaim", "1.29-1.37", "Namespaced"},
		{"v1", "Binding", "", ""},
		{"v1", "ComponentStatus", "", ""},
		{"apps/v1", "Deployment", "1.29-1.37", "Namespaced"},
		{"apps/v1beta1", "Deployment", "", ""},
		{"extensions/v1beta1", "Ingress", "", ""},
		{"networking.k8s.io/v1", "Ingress", "1.29-1.37", "Namespaced"},
		{"networking.k8s.io/v1", "IngressClass", "1.29-1.37", "Cluster"},
		{"policy/v1beta1", "PodDisruptionBudget", "", ""},
		{"policy/v1beta1", "PodSecurityPolicy", "", ""},
		{"policy/v1", "PodDisruptionBudget", "1.29-1.37", "Namespaced"},
		{"policy/v1", "Eviction", "", ""},
		{"batch/v1", "CronJob", "1.29-1.37", "Namespaced"},
		{"batch/v1beta1", "CronJob", "", ""},
		{"autoscaling/v2", "HorizontalPodAutoscaler", "1.29-1.37", "Namespaced"},
		{"autoscaling/v2beta2", "HorizontalPodAutoscaler", "", ""},
		{"autoscaling/v1", "Scale", "", ""},
		{"flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "1.29-1.31", "Cluster"},
		{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "1.29-1.37", "Cluster"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "1.30-1.37", "Cluster"},
		{"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "1.36-1.37", "Cluster"},
		{"resource.k8s.io/v1", "ResourceClaim", "1.34-1.37", "Namespaced"},
		{"resource.k8s.io/v1", "DeviceClass", "1.34-1.37", "Cluster"},
		{"rbac.authorization.k8s.io/v1", "Role", "1.29-1.37", "Namespaced"},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "1.29-1.37", "Cluster"},
		{"rbac.authorization.k8s.io/v1beta1", "ClusterRole", "", ""},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "1.29-1.37", "Cluster"},
		{"apiregistration.k8s.io/v1", "APIService", "1.29-1.37", "Cluster"},
		{"authentication.k8s.io/v1", "TokenReview", "", ""},
		{"storage.k8s.io/v1", "CSIStorageCapacity", "1.29-1.37", "Namespaced"},
		{"scheduling.k8s.io/v1", "PriorityClass", "1.29-1.37", "Cluster"},
		{"coordination.k8s.io/v1", "Lease", "1.29-1.37", "Namespaced"},
	} {
		t.Run(tt.apiVersion+"_"+tt.kind, func(t *testing.T) {
			var in []int
			if tt.minors != "" {
				want, err := spans(tt.minors)
				if err != nil {
					t.Fatal(err)
				}
				for m := want[0].from; m <= want[0].to; m++ {
					in = append(in, m)
				}
			}
			for _, v := range Versions() {
				gvk := schema.FromAPIVersionAndKind(tt.apiVersion, tt.kind)
				kind, served := v.Kind(gvk)
				if served != slices.Contains(in, v.Number()) {
					t.Errorf("%s: served %v", v, served)
				}
				if served && kind.Namespaced != (tt.scope == "Namespaced") {
					t.Errorf("%s: namespaced %v", v, kind.Namespaced)
				}
				if served != (v.Schema(gvk) != nil) {
					t.Errorf("%s: served %v, with a schema %v", v, served, v.Schema(gvk) != nil)
				}
			}
		})
	}
}

// The table has the form that kubegen writes: a header with the source of every
// minor version, then sorted rows without duplicates.
func TestTableForm(t *testing.T) {
	k := kubernetes()
	lines := strings.Split(strings.TrimSuffix(kindsText, "\n"), "\n")
	sources, ok := strings.CutPrefix(lines[1], "# k8s.io/kubernetes ")
	if !ok || !strings.HasPrefix(lines[0], "# ") {
		t.Fatalf("no header: %q", lines[:2])
	}
	versions := strings.Fields(sources)
	if len(versions) != k.last-k.first+1 {
		t.Errorf("the header names %d sources for 1.%d to 1.%d", len(versions), k.first, k.last)
	}
	for i, v := range versions {
		if !strings.HasPrefix(v, fmt.Sprintf("v1.%d.", k.first+i)) {
			t.Errorf("source %d is %s", i, v)
		}
	}
	type key struct{ apiVersion, kind, scope string }
	var last key
	scopes := map[string]string{}
	for _, line := range lines[2:] {
		f := strings.Fields(line)
		row := key{f[0], f[1], f[2]}
		if slices.Compare([]string{last.apiVersion, last.kind, last.scope}, []string{f[0], f[1], f[2]}) >= 0 {
			t.Errorf("%s stands after %s", line, last)
		}
		last = row
		// A kind that changes its scope would need changes in all users of the
		// table.
		gk := strings.Split(f[0], "/")[0] + " " + f[1]
		if s, ok := scopes[gk]; ok && s != f[2] {
			t.Errorf("%s has two scopes", gk)
		}
		scopes[gk] = f[2]
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{
		"",
		"apps/v1 Deployment Namespaced",
		"apps/v1 Deployment Global 1.29",
		"apps/v1/x Deployment Namespaced 1.29",
		"apps/v1 Deployment Namespaced 1.31-1.29",
		"apps/v1 Deployment Namespaced 1.29-1.30,1.31",
		"apps/v1 Deployment Namespaced 1.29,1.29",
		"apps/v1 Deployment Namespaced 1.x",
		"apps/v1 Deployment Namespaced 1.29-",
	} {
		if _, err := parse("# header\n" + line + "\n"); err == nil || !strings.HasPrefix(err.Error(), "kinds.txt:2: ") {
			t.Errorf("parse %q: %v", line, err)
		}
	}
}

func TestWhen(t *testing.T) {
	k := &table{first: 29, last: 37}
	for text, want := range map[string]string{
		"1.29-1.31":      "until 1.31",
		"1.34-1.37":      "from 1.34",
		"1.33-1.36":      "from 1.33 until 1.36",
		"1.34":           "in 1.34",
		"1.29-1.37":      "in every version",
		"1.29-1.30,1.35": "until 1.30 and in 1.35",
	} {
		minors, err := spans(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.when(minors); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestMinorOf(t *testing.T) {
	for text, want := range map[string]int{"1.36": 36, "1.36.2": 36, "1.0": 0} {
		if got, ok := minorOf(text); !ok || got != want {
			t.Errorf("minorOf(%q) = %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "1", "1.", "2.36", "v1.36", "1.-36", "1.+36", "1.36x", "1.99999999"} {
		if got, ok := minorOf(text); ok {
			t.Errorf("minorOf(%q) = %d", text, got)
		}
	}
}
