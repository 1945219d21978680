package validate_test

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// TestContainerPolicies checks the policies for images and resources: each case
// has a policy, the spec of a pod, and the fault, which is empty for an allowed
// pod.
func TestContainerPolicies(t *testing.T) {
	const some = "policy.#AllowedRegistries & {#registries: [\"registry.example.com\", \"ghcr.io/example/\", \"localhost:5000\"]}"
	const hub = "policy.#AllowedRegistries & {#registries: [\"docker.io\"]}"
	const library = "policy.#AllowedRegistries & {#registries: [\"docker.io/library\", \"docker.io/example\"]}"
	const sum = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const all = "policy.#Resources"
	const few = "policy.#Resources & {#requests: [\"memory\"], #limits: []}"
	for _, test := range []struct{ policy, pod, want string }{
		{"policy.#ImageTags", "containers: [{name: a, image: 'x:1'}, {name: b, image: 'r.example.com:5000/x/y:v1.2-3'}]", ""},
		{"policy.#ImageTags", "containers: [{name: a, image: 'x" + sum + "'}, {name: b, image: 'x:latest" + sum + "'}]", ""},
		{"policy.#ImageTags", "containers: [{name: a, image: x}]", `spec.containers[0].image is "x": must end with a tag other than latest, or with a digest (containers[0] is a)`},
		{"policy.#ImageTags", "initContainers: [{name: a, image: 'x:latest'}]", "spec.initContainers[0].image is"},
		{"policy.#ImageTags", "ephemeralContainers: [{name: a, image: 'r.example.com:5000/x'}]", "spec.ephemeralContainers[0].image is"},
		{"policy.#ImageTags", "volumes: [{name: a, image: {reference: 'x:latest'}}]", "spec.volumes[0].image.reference is"},
		{"policy.#ImageTags", "volumes: [{name: a, image: {reference: 'x:1'}}]", ""},

		{some, "containers: [{name: a, image: registry.example.com/x}, {name: b, image: 'ghcr.io/example/x/y:1'}, {name: c, image: 'localhost:5000/x'}]", ""},
		{some, "containers: [{name: a, image: registry.example.com.evil.org/x}]", `spec.containers[0].image is "registry.example.com.evil.org/x": comes from elsewhere (containers[0] is a)`},
		{some, "containers: [{name: a, image: ghcr.io/examples/x}]", "comes from elsewhere"},
		{some, "containers: [{name: a, image: nginx}]", "comes from elsewhere"},
		{some, "initContainers: [{name: a, image: registry-example.com/x}]", "comes from elsewhere"},
		{some, "volumes: [{name: a, image: {reference: 'quay.io/x'}}]", "spec.volumes[0].image.reference is"},
		{hub, "containers: [{name: a, image: nginx}, {name: b, image: 'team/x:1'}, {name: c, image: docker.io/team/x}, {name: d, image: 'nginx:1" + sum + "'}]", ""},
		{hub, "containers: [{name: a, image: quay.io/x}]", "comes from elsewhere"},
		{hub, "containers: [{name: a, image: 'registry:5000/x'}]", "comes from elsewhere"},
		{hub, "containers: [{name: a, image: 'localhost/x'}]", "comes from elsewhere"},
		{library, "containers: [{name: a, image: 'nginx:1'}, {name: b, image: docker.io/library/nginx}, {name: c, image: example/x}, {name: d, image: library/nginx}]", ""},
		{library, "containers: [{name: a, image: other/x}]", "comes from elsewhere"},

		{all, "containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}]", ""},
		{all, "containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]", ""},
		{all, "resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}\ncontainers: [{name: a}]", ""},
		{all, "ephemeralContainers: [{name: a}]", ""},
		{all, "containers: [{name: a}]", "spec.containers[0].resources is missing (containers[0] is a)"},
		{all, "containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}}}]", "spec.containers[0].resources.limits is missing (containers[0] is a)"},
		{all, "containers: [{name: a, resources: {requests: {memory: 1Gi}, limits: {memory: 1Gi}}}]", "spec.containers[0].resources.requests.cpu is missing (containers[0] is a)"},
		{all, "initContainers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1}}}]", "spec.initContainers[0].resources.limits.memory is missing (initContainers[0] is a)"},
		{few, "containers: [{name: a, resources: {requests: {memory: 1Gi}}}]", ""},
		{few, "containers: [{name: a, resources: {requests: {cpu: 1}}}]", "spec.containers[0].resources.requests.memory is missing (containers[0] is a)"},
	} {
		var k validate.PolicyChecker
		c := cluster(t, "package fleet\n\nimport \"github.com/fleetc/fleetc/lib/policy\"\n\npolicies: p: "+test.policy+"\n")
		got := text(k.Objects(t.Context(), c, []fleet.Object{workload(t, "v1 Pod", test.pod)}, ""))
		if first, _, _ := strings.Cut(got, "\n"); test.want == "" && got != "" || !strings.Contains(first, test.want) {
			t.Errorf("%s, %s:\n%s\nwant %s", test.policy, test.pod, got, test.want)
		}
	}
}

// TestClusterPolicies checks the policies for Secrets and for several objects:
// each case has objects that break the policy, and the faults.
func TestClusterPolicies(t *testing.T) {
	const (
		namespaces = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"
		network    = "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x, namespace: shop}\n"
		cilium     = "---\napiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: x, namespace: web}\n"
		replicated = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: shop}\nspec: {replicas: 3, template: {metadata: {labels: {app: db, tier: back}}}}\n"
		single     = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {metadata: {labels: {app: web}}}}\n"
		one        = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 1, template: {metadata: {labels: {app: web}}}}\n"
		scaler     = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: x, namespace: shop}\nspec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {kind: Deployment, name: web}}\n"
		budget     = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x, namespace: shop}\nspec: {selector: SELECTOR}\n"
	)
	pdb := func(selector string) string { return strings.Replace(budget, "SELECTOR", selector, 1) }
	const unprotected = "StatefulSet.apps shop/db: a workload with several replicas has a PodDisruptionBudget: none selects its pods"
	for _, test := range []struct{ policy, objects, want string }{
		{"policy.#NoPlaintextSecrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n", ""},
		{"policy.#NoPlaintextSecrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {a: ''}\nstringData: {}\n", ""},
		{"policy.#NoPlaintextSecrets", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}\n", ""},
		{"policy.#NoPlaintextSecrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {a: eA==}\n", "Secret x: a Secret has no plaintext data: let an operator in the cluster make it: data.a must be left out (release"},
		{"policy.#NoPlaintextSecrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: x}\n", "stringData.a must be left out (release"},

		{"policy.#NetworkPolicies", namespaces, "Namespace shop: a namespace has a NetworkPolicy: none is in it (release|Namespace web: "},
		{"policy.#NetworkPolicies", namespaces + network, "Namespace web: "},
		{"policy.#NetworkPolicies", namespaces + network + strings.Replace(network, "shop", "web", 1), ""},
		{"policy.#NetworkPolicies", namespaces + network + cilium, "Namespace web: "},
		{"policy.#NetworkPolicies & {#kinds: [\"NetworkPolicy\", \"CiliumNetworkPolicy\"]}", namespaces + network + cilium, ""},
		{"policy.#NetworkPolicies", network[4:], ""},

		{"policy.#DisruptionBudgets", replicated, unprotected},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchLabels: {app: db}}"), ""},
		{"policy.#DisruptionBudgets", replicated + pdb("{}"), ""},
		{"policy.#DisruptionBudgets", replicated + pdb("null"), unprotected},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchLabels: {app: db, tier: front}}"), unprotected},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchLabels: {none: db}}"), unprotected},
		{"policy.#DisruptionBudgets", replicated + strings.Replace(pdb("{}"), "shop", "web", 1), unprotected},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchExpressions: [{key: app, operator: In, values: [x, db]}, {key: tier, operator: Exists}]}"), ""},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchExpressions: [{key: app, operator: NotIn, values: [x]}, {key: none, operator: DoesNotExist}, {key: none, operator: NotIn, values: [x]}]}"), ""},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchExpressions: [{key: app, operator: In, values: [x]}]}"), unprotected},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchExpressions: [{key: app, operator: NotIn, values: [db]}]}"), unprotected},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchExpressions: [{key: none, operator: Exists}]}"), unprotected},
		{"policy.#DisruptionBudgets", replicated + pdb("{matchExpressions: [{key: app, operator: DoesNotExist}]}"), unprotected},
		{"policy.#DisruptionBudgets", single, ""},
		{"policy.#DisruptionBudgets", one, ""},
		{"policy.#DisruptionBudgets", single + scaler, "Deployment.apps shop/web: a workload with several"},
		{"policy.#DisruptionBudgets", single + scaler + pdb("{matchLabels: {app: web}}"), ""},
		{"policy.#DisruptionBudgets", single + strings.Replace(scaler, "minReplicas: 2", "minReplicas: 1", 1), ""},
		{"policy.#DisruptionBudgets & {#replicas: 4}", replicated, ""},
		{"policy.#DisruptionBudgets & {#replicas: 1}", one, "Deployment.apps shop/web: a workload with several"},
	} {
		got := check(t, "package fleet\n\nimport \"github.com/fleetc/fleetc/lib/policy\"\n\npolicies: p: "+test.policy+"\n", test.objects, "")
		faults := strings.Count(got, "hint: ")
		wants := strings.Split(test.want, "|")
		if test.want == "" {
			wants = nil
		}
		for _, w := range wants {
			if !strings.Contains(got, w) {
				t.Errorf("%s, %s:\n%s\nwant %s", test.policy, test.objects, got, w)
			}
		}
		if faults != len(wants) {
			t.Errorf("%s, %s: %d faults, want %d:\n%s", test.policy, test.objects, faults, len(wants), got)
		}
	}
}

// TestPodRule checks a user's rule that uses the library.
func TestPodRule(t *testing.T) {
	c := cluster(t, `package fleet

import "github.com/fleetc/fleetc/lib/policy"

policies: "service-account": policy.#PodRule & {
	message: "name a service account"
	#pod: {spec!: {serviceAccountName!: string, ...}, ...}
}
policies: "pull-always": policy.#ContainerRule & {
	message: "pull it"
	match: namespaces: ["*"]
	#container: {imagePullPolicy!: "Always", ...}
}
`)
	var k validate.PolicyChecker
	if err := k.Objects(t.Context(), c, []fleet.Object{workload(t, "apps/v1 Deployment", "serviceAccountName: x\ncontainers: [{name: a, imagePullPolicy: Always}]")}, ""); err != nil {
		t.Error(text(err))
	}
	got := text(k.Objects(t.Context(), c, []fleet.Object{workload(t, "apps/v1 Deployment", "initContainers: [{name: a, imagePullPolicy: Never}]")}, ""))
	for _, want := range []string{"spec.template.spec.serviceAccountName is missing", `spec.template.spec.initContainers[0].imagePullPolicy is "Never": it must be "Always"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
