package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Immutable fields that change are found, and defaults and other spellings of a value are
// no change. The end-to-end test TestImmutableFields compares the table with an API server.
func TestImmutableChanges(t *testing.T) {
	v, _ := Minor("1.36")
	const set = "{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: a, replicas: 1, volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 1Gi}}}}]}}"
	jobWith := func(fields string) string {
		return "{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: [{name: a, " + fields + "}]}}}}"
	}
	job := func(fields string) string { return "{apiVersion: batch/v1, kind: Job, spec: {" + fields + "}}" }
	pod := func(fields string) string { return "{apiVersion: v1, kind: Pod, spec: {" + fields + "}}" }
	for _, c := range []struct{ name, before, after, want string }{
		{"selector", "{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {a: b}}}}", "{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {a: c}}}}", "spec.selector"},
		{"replicas", "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1}}", "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}}", ""},
		{"replicas of a StatefulSet", set, strings.Replace(set, "replicas: 1", "replicas: 2", 1), ""},
		{"name of the service", set, strings.Replace(set, "serviceName: a", "serviceName: b", 1), "spec.serviceName"},
		{"size of a claim template", set, strings.Replace(set, "1Gi", "2Gi", 1), "spec.volumeClaimTemplates"},
		{"another spelling of a size", set, strings.Replace(set, "1Gi", "1024Mi", 1), ""},
		{"defaults of a claim template", set, strings.Replace(set, "{metadata: {name: data", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data", 1), ""},
		{"default policy", set, strings.Replace(set, "replicas: 1", "replicas: 1, podManagementPolicy: OrderedReady", 1), ""},
		{"policy", set, strings.Replace(set, "replicas: 1", "replicas: 1, podManagementPolicy: Parallel", 1), "spec.podManagementPolicy"},
		{"template of a Job", "{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}", "{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: [{name: a, image: c}]}}}}", "spec.template"},
		{"defaults in the template of a Job", "{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: [{name: a}]}}}}", "{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {dnsPolicy: ClusterFirst, nodeSelector: {}, containers: [{name: a, resources: {}}]}}}}", ""},
		{"number for a quantity", jobWith("resources: {limits: {cpu: 1}}"), jobWith(`resources: {limits: {cpu: "1"}}`), ""},
		{"thousandths for a number", jobWith("resources: {limits: {cpu: 0.5, memory: 1Gi}}"), jobWith("resources: {limits: {cpu: 500m, memory: 1073741824}}"), ""},
		{"another number", jobWith("resources: {limits: {cpu: 1}}"), jobWith("resources: {limits: {cpu: 2}}"), "spec.template"},
		{"empty text of a variable", jobWith(`env: [{name: a, value: ""}]`), jobWith("env: [{name: a}]"), ""},
		{"text of a variable", jobWith("env: [{name: a, value: b}]"), jobWith("env: [{name: a}]"), "spec.template"},
		{"false of a mount", jobWith("tty: false, volumeMounts: [{name: a, mountPath: /a, readOnly: false}]"), jobWith("volumeMounts: [{name: a, mountPath: /a}]"), ""},
		{"false that is not the same as none", jobWith("securityContext: {privileged: false}"), jobWith(""), "spec.template"},
		{"empty annotation", strings.Replace(jobWith(""), "template: {", `template: {metadata: {annotations: {a: ""}}, `, 1), jobWith(""), "spec.template"},
		{"claims without a class", set, strings.Replace(set, "resources:", `storageClassName: "", resources:`, 1), "spec.volumeClaimTemplates"},
		{"completions", job("completions: 1"), job("completions: 2"), "spec.completions"},
		{"default completions", job("backoffLimit: 1"), job("completions: 1, parallelism: 1"), ""},
		{"completions of a work queue", job("parallelism: 2"), job("parallelism: 2, completions: 1"), "spec.completions"},
		{"completions and parallelism of an indexed Job", job("completionMode: Indexed, completions: 1, parallelism: 1"), job("completionMode: Indexed, completions: 2, parallelism: 2"), ""},
		{"completions of an indexed Job", job("completionMode: Indexed, completions: 1, parallelism: 1"), job("completionMode: Indexed, completions: 2, parallelism: 1"), "spec.completions"},
		{"image of a Pod", pod("containers: [{name: a, image: a}]"), pod("containers: [{name: a, image: b}]"), ""},
		{"command of a Pod", pod("containers: [{name: a, image: a}]"), pod("containers: [{name: a, image: a, command: [b]}]"), "spec.containers"},
		{"another container of a Pod", pod("initContainers: [{name: a, image: a}]"), pod("initContainers: []"), "spec.initContainers"},
		{"deadline of a Pod", pod("activeDeadlineSeconds: 9"), pod("activeDeadlineSeconds: 8"), ""},
		{"later deadline of a Pod", pod("activeDeadlineSeconds: 9"), pod("activeDeadlineSeconds: 10"), "spec.activeDeadlineSeconds"},
		{"one more toleration", pod("tolerations: [{key: a}]"), pod("tolerations: [{key: a}, {key: b}]"), ""},
		{"another toleration", pod("tolerations: [{key: a}]"), pod("tolerations: [{key: b}]"), "spec.tolerations"},
		{"another gate", pod("schedulingGates: [{name: a}]"), pod("schedulingGates: [{name: b}]"), "spec.schedulingGates"},
		{"one gate less", pod("schedulingGates: [{name: a}]"), pod("a: b, schedulingGates: []"), "spec.a"},
		{"grace period of a Pod", pod("nodeName: a"), pod("nodeName: a, terminationGracePeriodSeconds: 3"), "spec.terminationGracePeriodSeconds"},
		{"headless service", "{apiVersion: v1, kind: Service, spec: {}}", "{apiVersion: v1, kind: Service, spec: {clusterIP: None}}", "spec.clusterIP"},
		{"address that the server keeps", "{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0.1}}", "{apiVersion: v1, kind: Service, spec: {}}", ""},
		{"type of a Secret", "{apiVersion: v1, kind: Secret}", "{apiVersion: v1, kind: Secret, type: kubernetes.io/tls}", "type"},
		{"default type of a Secret", "{apiVersion: v1, kind: Secret}", "{apiVersion: v1, kind: Secret, type: Opaque}", ""},
		{"immutable Secret", "{apiVersion: v1, kind: Secret, immutable: true, data: {a: Yg==}}", "{apiVersion: v1, kind: Secret, immutable: true, stringData: {a: c}}", "data"},
		{"immutable Secret in other words", "{apiVersion: v1, kind: Secret, immutable: true, data: {a: Yg==}}", "{apiVersion: v1, kind: Secret, immutable: true, stringData: {a: b}}", ""},
		{"ConfigMap", "{apiVersion: v1, kind: ConfigMap, data: {a: b}}", "{apiVersion: v1, kind: ConfigMap, data: {a: c}}", ""},
		{"immutable ConfigMap", "{apiVersion: v1, kind: ConfigMap, immutable: true, data: {a: b}}", "{apiVersion: v1, kind: ConfigMap, data: {a: c}}", "data immutable"},
		{"role", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: a}}", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: b}}", "roleRef"},
		{"group of a role", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: a}}", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}}", ""},
		{"storage class", "{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: a, parameters: {type: x}}", "{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: a, parameters: {type: y}, reclaimPolicy: Delete}", "parameters"},
		{"claim that grows", "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1Gi}}}}", "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 2Gi}}}}", ""},
		{"claim that shrinks", "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 2Gi}}}}", "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1Gi}}}}", "spec.resources.requests.storage"},
		{"class of a claim", "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: a}}", "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: b}}", "spec.storageClassName"},
		{"scope of a CRD", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {scope: Cluster, names: {kind: A}}}", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {scope: Namespaced, names: {kind: A}}}", "spec.scope"},
		{"a custom resource", "{apiVersion: example.com/v1, kind: Deployment, spec: {selector: a}}", "{apiVersion: example.com/v1, kind: Deployment, spec: {selector: b}}", ""},
	} {
		var before, after map[string]any
		for text, into := range map[string]*map[string]any{c.before: &before, c.after: &after} {
			data, err := yaml.YAMLToJSON([]byte(text))
			if err != nil || json.Unmarshal(data, into) != nil {
				t.Fatal(err, text)
			}
		}
		if got := strings.Join(v.ImmutableChanges(before, after), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The history limit of a StatefulSet can change since Kubernetes 1.33.
func TestImmutableHistoryLimit(t *testing.T) {
	set := func(limit int64) map[string]any {
		return map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": map[string]any{"serviceName": "a", "revisionHistoryLimit": limit}}
	}
	unset := map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": map[string]any{"serviceName": "a"}}
	for minor, want := range map[string]string{"1.32": "spec.revisionHistoryLimit", "1.33": ""} {
		v, _ := Minor(minor)
		if got := strings.Join(v.ImmutableChanges(unset, set(3)), " "); got != want {
			t.Errorf("%s: %q, want %q", minor, got, want)
		}
		if got := v.ImmutableChanges(unset, set(10)); len(got) > 0 {
			t.Errorf("%s: the default is a change of %q", minor, got)
		}
	}
}
