package e2e

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/testdata/clusters"
)

// immutableObjects are objects and changes of them, each as from => to. The API server
// must refuse a change if and only if [kube.Version.ImmutableChanges] finds it.
var immutableObjects = []struct {
	object  string
	changes []string
}{
	{
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 0, selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a, b: b}}, spec: {containers: [{name: a, image: a}]}}}}",
		[]string{"matchLabels: {a: a} => matchLabels: {b: b}", "replicas: 0 => replicas: 1", "image: a => image: b"},
	},
	{
		"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a}, spec: {selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a, b: b}}, spec: {containers: [{name: a, image: a}]}}}}",
		[]string{"matchLabels: {a: a} => matchLabels: {b: b}", "image: a => image: b"},
	},
	{
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {replicas: 0, serviceName: a, selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a, b: b}}, spec: {containers: [{name: a, image: a}]}}, " +
			"volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}",
		[]string{
			"matchLabels: {a: a} => matchLabels: {b: b}", "serviceName: a => serviceName: b", "storage: 1Gi => storage: 2Gi", "storage: 1Gi => storage: 1024Mi", "name: data => name: other",
			"{metadata: {name: data => {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data", "name: data} => name: data, labels: {version: v2}}",
			"replicas: 0 => replicas: 1", "replicas: 0 => podManagementPolicy: Parallel", "replicas: 0 => podManagementPolicy: OrderedReady", "replicas: 0 => minReadySeconds: 3",
			"replicas: 0 => revisionHistoryLimit: 3", "replicas: 0 => updateStrategy: {rollingUpdate: {partition: 1}}", "accessModes: => volumeMode: Filesystem, accessModes:", "accessModes: => volumeMode: Block, accessModes:", "accessModes: => storageClassName: '', accessModes:",
		},
	},
	{
		"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}",
		[]string{"image: a => image: b", "image: a => image: a, terminationMessagePolicy: File", "backoffLimit: 1 => backoffLimit: 2", "backoffLimit: 1 => completions: 2", "backoffLimit: 1 => completions: 1", "backoffLimit: 1 => parallelism: 2", "restartPolicy: Never => restartPolicy: Never, dnsPolicy: ClusterFirst"},
	},
	{
		"{apiVersion: batch/v1, kind: Job, metadata: {name: b}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a, env: [{name: a, value: ''}], resources: {limits: {cpu: 1, memory: 1Gi}}}]}}}}",
		[]string{
			"cpu: 1 => cpu: '1'", "cpu: 1 => cpu: 1000m", "cpu: 1 => cpu: 2", "memory: 1Gi => memory: 1073741824", ", value: '' => ", "value: '' => value: b",
			"image: a, => image: a, tty: false,", "image: a, => image: a, securityContext: {privileged: false},", "restartPolicy: Never => restartPolicy: Never, hostNetwork: false",
			"restartPolicy: Never => restartPolicy: Never, serviceAccountName: ''", "template: {spec => template: {metadata: {annotations: {a: ''}}, spec",
		},
	},
	{
		"{apiVersion: batch/v1, kind: Job, metadata: {name: c}, spec: {completionMode: Indexed, completions: 1, parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}",
		[]string{"completions: 1, parallelism: 1 => completions: 2, parallelism: 2", "completions: 1, => completions: 2,", "parallelism: 1 => parallelism: 2"},
	},
	{
		"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Always, activeDeadlineSeconds: 900, tolerations: [{key: a, operator: Exists}], containers: [{name: a, image: a, resources: {limits: {cpu: 1}}}]}}",
		[]string{
			"image: a => image: b", "image: a => image: a, command: [b]", "cpu: 1 => cpu: 1000m", "cpu: 1 => cpu: 2", "900 => 800", "900 => 1000", "activeDeadlineSeconds: 900, => ", "restartPolicy: Always => restartPolicy: Never", "restartPolicy: Always, => ",
			"operator: Exists} => operator: Exists}, {key: b, operator: Exists}", "key: a => key: b", "restartPolicy: Always => terminationGracePeriodSeconds: 3", "name: a} => name: a, labels: {a: b}}",
		},
	},
	{
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, selector: {a: a}, ports: [{port: 80}]}}",
		[]string{"selector: {a: a} => selector: {a: b}", "clusterIP: None => clusterIP: 10.96.0.77", "clusterIP: None, => "},
	},
	{
		"{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {type: ClusterIP, selector: {a: a}, ports: [{port: 80}]}}",
		[]string{"type: ClusterIP => clusterIP: None", "type: ClusterIP => type: NodePort"},
	},
	{
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: Opaque, data: {a: Yg==}}",
		[]string{"type: Opaque, => ", "type: Opaque => type: example.com/other", "Yg== => Yw=="},
	},
	{
		"{apiVersion: v1, kind: Secret, metadata: {name: b}, immutable: true, data: {a: Yg==}}",
		[]string{"Yg== => Yw==", "immutable: true, => ", "name: b} => name: b, labels: {a: b}}"},
	},
	{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true, data: {a: b}}",
		[]string{"data: {a: b} => data: {a: c}", "immutable: true, => ", "name: a} => name: a, labels: {a: b}}"},
	},
	{
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: a, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}",
		[]string{"storageClassName: a => storageClassName: b", "ReadWriteOnce => ReadWriteMany", "name: a} => name: a, labels: {a: b}}"},
	},
	{
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}, subjects: [{kind: ServiceAccount, name: a}]}",
		[]string{"kind: Role, name: a => kind: Role, name: b", "ServiceAccount, name: a => ServiceAccount, name: b"},
	},
	{
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a}, provisioner: example.com/a, parameters: {a: b}}",
		[]string{"provisioner: example.com/a => provisioner: example.com/b", "{a: b} => {a: c}", "parameters: => reclaimPolicy: Delete, parameters:", "parameters: => reclaimPolicy: Retain, parameters:", "parameters: => allowVolumeExpansion: true, parameters:"},
	},
	{
		"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a}, value: 7}",
		[]string{"value: 7 => value: 8", "value: 7 => value: 7, preemptionPolicy: Never", "value: 7 => value: 7, preemptionPolicy: PreemptLowerPriority", "value: 7 => value: 7, description: a"},
	},
	{
		"{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: a}, spec: {controller: example.com/a}}",
		[]string{"controller: example.com/a => controller: example.com/b", "name: a} => name: a, labels: {a: b}}"},
	},
	{
		"{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: a}, handler: a}",
		[]string{"handler: a => handler: b"},
	},
	{
		"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv4, endpoints: [{addresses: [10.1.1.1]}]}",
		[]string{"10.1.1.1 => 10.1.1.2", "addressType: IPv4 => addressType: FQDN"},
	},
}

// The table of immutable fields says what an API server refuses.
func TestImmutableFields(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"})
	v, _ := kube.Minor("1.37")
	tried := 0
	for _, o := range immutableObjects {
		p.kubectlInput("one", o.object, "apply", "--server-side", "-f", "-")
		before := map[string]any{}
		if err := yaml.Unmarshal([]byte(o.object), &before); err != nil {
			t.Fatal(err)
		}
		for _, change := range o.changes {
			from, to, ok := strings.Cut(change, " => ")
			text := strings.Replace(o.object, from, to, 1)
			if !ok || text == o.object {
				t.Fatalf("%s does not fit %s", change, o.object)
			}
			after := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &after); err != nil {
				t.Fatal(err, text)
			}
			found := v.ImmutableChanges(before, after)
			out, err := shared.KubectlInput(t.Context(), text, "--context", p.clusters["one"].Context, "apply", "--server-side", "--dry-run=server", "-f", "-")
			if (err != nil) != (len(found) > 0) {
				t.Errorf("%s of a %s: found %q, and the API server says %s %v", change, before["kind"], found, out, err)
			}
			tried++
		}
	}
	if tried < 80 {
		t.Errorf("tried %d changes", tried)
	}
}
