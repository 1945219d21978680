package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// crd returns a CRD of the group example.com with the served versions v1 and
// v1beta1, and v2, which is not served.
func crd(plural, kind, scope string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.example.com},
spec: {group: example.com, scope: %s, names: {kind: %s, plural: %s},
versions: [{name: v1beta1, served: true}, {name: v1, served: true, storage: true}, {name: v2, served: false}]}}`, plural, scope, kind, plural)
}

func TestUnknownKinds(t *testing.T) {
	const from = " (release web, web/templates/all.yaml) [FL1601]\n    hint: "
	for _, tt := range []struct{ name, version, apiVersion, kind, want string }{
		{
			"another version of the group", "1.36", "policy/v1beta1", "PodDisruptionBudget",
			"Kubernetes 1.36 has no kind PodDisruptionBudget in policy/v1beta1" + from + "use policy/v1",
		},
		{
			"removed", "1.32", "flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema",
			"Kubernetes 1.32 has no kind FlowSchema in flowcontrol.apiserver.k8s.io/v1beta3: it is there until 1.31" + from + "use flowcontrol.apiserver.k8s.io/v1",
		},
		{
			"too new, with an older version", "1.33", "resource.k8s.io/v1", "ResourceClaim",
			"Kubernetes 1.33 has no kind ResourceClaim in resource.k8s.io/v1: it is there from 1.34" + from + "use resource.k8s.io/v1beta2",
		},
		{
			"too new", "1.31", "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy",
			"Kubernetes 1.31 has no kind MutatingAdmissionPolicy in admissionregistration.k8s.io/v1: it is there from 1.36" + from +
				"set cluster.kubernetes to a version that has it, or leave the object out",
		},
		{
			"moved to another group", "1.36", "extensions/v1beta1", "Ingress",
			"Kubernetes 1.36 has no kind Ingress in extensions/v1beta1" + from + "use networking.k8s.io/v1",
		},
		{
			"in two other groups", "1.36", "apps/v1", "Event",
			"Kubernetes 1.36 has no kind Event in apps/v1" + from + "use events.k8s.io/v1 or v1",
		},
		{
			"misspelt", "1.36", "apps/v1", "deploymnet",
			"Kubernetes 1.36 has no kind deploymnet in apps/v1" + from + "did you mean Deployment?",
		},
		{
			"gone for good", "1.36", "policy/v1beta1", "PodSecurityPolicy",
			"Kubernetes 1.36 has no kind PodSecurityPolicy in policy/v1beta1" + from + "leave the object out",
		},
		{
			"not kept in a cluster", "1.36", "policy/v1", "Eviction",
			"Kubernetes 1.36 has no kind Eviction in policy/v1" + from + "leave the object out",
		},
		{
			"nobody's", "1.36", "monitoring.coreos.com/v1", "ServiceMonitor",
			"unknown kind ServiceMonitor of monitoring.coreos.com/v1: no CRD of the cluster defines it" + from +
				`set cluster: apis: "monitoring.coreos.com/v1": ServiceMonitor: "Namespaced", or "Cluster", in the cluster's layer, or add the release that brings its CRD`,
		},
		{
			"misspelt, of a CRD", "1.36", "example.com/v1", "Thign",
			"unknown kind Thign of example.com/v1: no CRD of the cluster defines it" + from +
				`did you mean Thing? if not, set cluster: apis: "example.com/v1": Thign: "Namespaced", or "Cluster", in the cluster's layer, or add the release that brings its CRD`,
		},
		{
			"a version that the CRD has not", "1.36", "example.com/v1alpha1", "Thing",
			"the CRD of release api serves no Thing in example.com/v1alpha1" + from + "use example.com/v1",
		},
		{
			"a version that the CRD does not serve", "1.36", "example.com/v2", "Thing",
			"the CRD of release api serves no Thing in example.com/v2" + from + "use example.com/v1",
		},
		{
			"a version that the cluster does not declare", "1.36", "example.org/v1", "Declared",
			"cluster.apis serves no Declared in example.org/v1" + from + "use example.org/v2",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objs := objects(t, web, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: a}}", tt.apiVersion, tt.kind))
			title := objs[0].ID()
			objs = append(objs, objects(t, api, crd("things", "Thing", "Namespaced"))...)
			c := cluster(tt.version)
			c.APIs = []fleet.API{{APIVersion: "example.org/v2", Kind: "Declared", Namespaced: true}}
			want := "web.cue:3:1: " + title + ": " + tt.want + "\n    in prod/eu\n"
			if got := faults(t, checked(c, objs)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// An unknown kind is one fault, even with several objects.
func TestUnknownKindOnce(t *testing.T) {
	const two = "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}\n---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: b}}"
	objs := append(objects(t, web, two), objects(t, api, two)...)
	want := `web.cue:3:1: Thing.example.com a: unknown kind Thing of example.com/v1: no CRD of the cluster defines it (release web, web/templates/all.yaml; 3 more of this kind) [FL1601]
    api.cue:7:2: and here
    hint: set cluster: apis: "example.com/v1": Thing: "Namespaced", or "Cluster", in the cluster's layer, or add the release that brings its CRD
    in prod/eu
`
	if got := faults(t, checked(cluster("1.36"), objs)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An invalid CRD adds no kinds, and its fields have the faults.
func TestCRDFaults(t *testing.T) {
	whole := crd("things", "Thing", "Namespaced")
	for _, tt := range []struct{ name, object, want string }{
		{"no group", strings.Replace(whole, "group: example.com", "group: 3", 1), "spec.group is a number (3), not a string"},
		{"no kind", strings.Replace(whole, "kind: Thing, ", "", 1), "spec.names.kind is missing"},
		{"no plural", strings.Replace(whole, "plural: things", "plural: {}", 1), "spec.names.plural is a map, not a string"},
		{"no names", strings.Replace(whole, "names: {kind: Thing, plural: things},", "", 1), "spec.names is missing"},
		{"no scope", strings.Replace(whole, "scope: Namespaced", "scope: null", 1), "spec.scope is null"},
		{"odd scope", strings.Replace(whole, "scope: Namespaced", "scope: Global", 1), `spec.scope is "Global", neither Namespaced nor Cluster`},
		{"odd versions", strings.Replace(whole, "versions: [", "versions: 3, versions2: [", 1), "spec.versions is a number (3), not a list"},
		{"odd version", strings.Replace(whole, "{name: v1beta1, served: true}", "3", 1), "spec.versions[0] is a number (3), not a map"},
		{"odd name", strings.Replace(whole, "{name: v1beta1", "{name: 1", 1), "spec.versions[0].name is a number (1), not a string"},
		{"no spec", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: x}", `spec is a string ("x"), not a map`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := faults(t, checked(cluster("1.36"), objects(t, web, tt.object)))
			if want := "CustomResourceDefinition.apiextensions.k8s.io things.example.com: " + tt.want + " ("; !strings.Contains(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// An outdated CRD is one fault; its kind is not another one.
func TestOutdatedCRD(t *testing.T) {
	objs := objects(t, web, strings.Replace(crd("things", "Thing", "Namespaced"), "k8s.io/v1", "k8s.io/v1beta1", 1)+
		"\n---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}")
	want := `web.cue:3:1: CustomResourceDefinition.apiextensions.k8s.io things.example.com: Kubernetes 1.36 has no kind CustomResourceDefinition in apiextensions.k8s.io/v1beta1 (release web, web/templates/all.yaml) [FL1601]
    hint: use apiextensions.k8s.io/v1
    in prod/eu
`
	if got := faults(t, checked(cluster("1.36"), objs)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A CRD without served versions has its own hint.
func TestNothingServed(t *testing.T) {
	objs := objects(t, web, strings.ReplaceAll(crd("things", "Thing", "Namespaced"), "served: true", "served: false")+
		"\n---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}")
	want := `web.cue:3:1: Thing.example.com a: the CRD of release web serves no Thing in example.com/v1 (release web, web/templates/all.yaml) [FL1601]
    hint: set served in one of its versions
    in prod/eu
`
	if got := faults(t, checked(cluster("1.36"), objs)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
