package kube

import (
	"encoding/json"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// fuzzKinds are the kinds with their own judge, and two others.
var fuzzKinds = []struct{ version, kind string }{
	{"apps/v1", "Deployment"},
	{"apps/v1", "StatefulSet"},
	{"apps/v1", "DaemonSet"},
	{"apps/v1", "ReplicaSet"},
	{"batch/v1", "Job"},
	{"v1", "Pod"},
	{"v1", "Service"},
	{"v1", "PersistentVolumeClaim"},
	{"v1", "PersistentVolume"},
	{"autoscaling/v2", "HorizontalPodAutoscaler"},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
	{"apiregistration.k8s.io/v1", "APIService"},
	{"v1", "ConfigMap"},
	{"example.com/v1", "Widget"},
}

// No object makes a verdict panic or change, and a reason is one line that is safe
// to print.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":1}],"phase":"Running"},"metadata":{"generation":1}}`,
		`{"status":{"conditions":[3,{"type":[]}],"containerStatuses":[{"state":{"waiting":{"reason":"X\u001b"}},"lastState":{"terminated":{"exitCode":1}}},4],"replicas":1e99}}`,
		`{"spec":{"replicas":-9223372036854775808,"versions":[{"schema":{"openAPIV3Schema":{}}}],"externalIPs":3,"suspend":"x"},"status":{"observedGeneration":2,"replicas":9223372036854775807}}`,
		`{"metadata":{"finalizers":[1,"a"],"deletionTimestamp":"x","annotations":3,"generation":1.5},"status":"x"}`,
		`{"status":{"phase":"Pending","loadBalancer":{"ingress":[{}]},"conditions":{"a":1},"initContainerStatuses":{"b":2},"containerStatuses":[{"state":{"terminated":{"exitCode":2}}}]}}`,
	} {
		f.Add(seed)
	}
	rules, err := CompileHealthRules(&fleet.Cluster{Health: []fleet.HealthRule{
		{
			Name: "w", Match: kinds("Widget.example.com"), Ready: []fleet.HealthTest{{Type: "Ready", Status: "True"}, {Expression: "status.phase == 'Running' || size(status.x) > 2"}},
			Failed: []fleet.HealthTest{{Type: "Broken", Status: "True", Reasons: []string{"a"}}},
		},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var object map[string]any
		if json.Unmarshal([]byte(text), &object) != nil || object == nil {
			return
		}
		for _, k := range fuzzKinds {
			object["apiVersion"], object["kind"] = k.version, k.kind
			u := &unstructured.Unstructured{Object: object}
			before, _ := json.Marshal(object)
			for _, r := range []*HealthRules{nil, rules} {
				o := fleet.Object{Unstructured: u}
				v := r.Judge(o)
				if again := r.Judge(o); again != v {
					t.Errorf("%v, and then %v", v, again)
				}
				if v.State == "" || v.Reason == "" {
					t.Errorf("no verdict: %v", v)
				}
				for _, c := range v.Reason {
					if !unicode.IsPrint(c) {
						t.Errorf("%q in %q", c, v.Reason)
					}
				}
				x := Explainer{Reader: &dump{}}
				x.Explain(t.Context(), o, v)
			}
			if gk, ok := statuslessKind(u); ok && gk.Kind == "" {
				t.Error("a CRD of no kind")
			}
			if after, _ := json.Marshal(object); string(after) != string(before) {
				t.Errorf("%s became %s", before, after)
			}
		}
	})
}
