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
