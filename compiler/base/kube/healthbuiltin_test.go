package kube

import "testing"

func TestBuiltin(t *testing.T) {
	check(t, nil, "", []sample{
		{"replica set", `
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x, generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 1}}
`, HealthInProgress, "1 of 2 pods are ready"},
		{"service", `
{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: ClusterIP, clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}
`, HealthReady, "it exists"},
		{"load balancer without an address", `
{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}
`, HealthInProgress, "its load balancer has no address yet"},
		{"load balancer", `
{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}
`, HealthReady, "its load balancer has an address"},
		{"load balancer with addresses of its own", `
{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: LoadBalancer, externalIPs: [192.0.2.7]}, status: {loadBalancer: {}}}
`, HealthReady, "it exists"},
		{"ingress without an address", `
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x, generation: 1}, status: {loadBalancer: {}}}
`, HealthReady, "it exists"},
		{"claim that waits for its first consumer", `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {storageClassName: local}, status: {phase: Pending}}
`, HealthUnknown, "it waits for a volume, or for a pod that uses it"},
		{"claim with a consumer", `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x, annotations: {volume.kubernetes.io/selected-node: n1}}, status: {phase: Pending}}
`, HealthInProgress, "its volume is being created"},
		{"claim of a volume that exists", `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {volumeName: v}, status: {phase: Pending}}
`, HealthInProgress, "its volume is being created"},
		{"claim that is bound", `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {volumeName: v}, status: {phase: Bound}}
`, HealthReady, "it is bound"},
		{"claim that is lost", `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {volumeName: v}, status: {phase: Lost}}
`, HealthFailed, "its volume is lost"},
		{"volume", `
{apiVersion: v1, kind: PersistentVolume, metadata: {name: x}, status: {phase: Available}}
`, HealthReady, "it is available"},
		{"volume that failed", `
{apiVersion: v1, kind: PersistentVolume, metadata: {name: x}, status: {phase: Failed, reason: VolumeFailedDelete, message: no such disk}}
`, HealthFailed, "it failed: VolumeFailedDelete: no such disk"},
		{"autoscaler without metrics", `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: x}
status:
  conditions:
  - {type: AbleToScale, status: "True", reason: SucceededGetScale}
  - {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: 'the HPA was unable to compute the replica count'}
`, HealthReady, "it exists"},
		{"autoscaler of nothing", `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: x}
status:
  conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale, message: deployments/scale.apps "web" not found}]
`, HealthInProgress, `condition AbleToScale is False: FailedGetScale: deployments/scale.apps "web" not found`},
		{"disruption budget that allows none", `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: x, generation: 1}
status: {observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2, expectedPods: 2, conditions: [{type: DisruptionAllowed, status: "False", reason: InsufficientPods, observedGeneration: 1}]}
`, HealthReady, "its controller has seen its last change"},
		{"CRD", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x, generation: 1}
status:
  conditions:
  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found}
  - {type: Established, status: "True", reason: InitialNamesAccepted, message: the initial names have been accepted}
`, HealthReady, "it is established"},
		{"CRD that is being installed", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x, generation: 1}
status:
  conditions:
  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found}
  - {type: Established, status: "False", reason: Installing, message: the initial names have been accepted}
`, HealthInProgress, "it is not established yet"},
		{"CRD of a name that is taken", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x, generation: 1}
status:
  conditions:
  - {type: NamesAccepted, status: "False", reason: PluralConflict, message: '"widgets" is already in use'}
  - {type: Established, status: "False", reason: NotAccepted, message: not all names are accepted}
`, HealthFailed, `condition NamesAccepted is False: PluralConflict: "widgets" is already in use`},
		{"CRD that got a short name that is taken", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x, generation: 2}
status:
  conditions:
  - {type: NamesAccepted, status: "False", reason: ShortNamesConflict, message: '"widget" is already in use'}
  - {type: Established, status: "True", reason: InitialNamesAccepted, message: the initial names have been accepted}
`, HealthReady, "it is established"},
		{"API service", `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: x}
status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: endpoints for service/metrics in "kube-system" have no addresses}]}
`, HealthInProgress, `condition Available is False: MissingEndpoints: endpoints for service/metrics in "kube-system" have no addresses`},
		{"API service that answers", `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: x}
status: {conditions: [{type: Available, status: "True", reason: Passed}]}
`, HealthReady, "it is available"},
		{"namespace", `
{apiVersion: v1, kind: Namespace, metadata: {name: x}, status: {phase: Active}}
`, HealthReady, "it exists"},
		{"namespace that goes", `
{apiVersion: v1, kind: Namespace, metadata: {name: x, deletionTimestamp: "2026-11-20T10:00:00Z"}, status: {phase: Terminating}}
`, HealthTerminating, "it is being deleted"},
		{"what has finalizers", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: x, deletionTimestamp: "2026-11-20T10:00:00Z", finalizers: [a.example.com/b, c]}}
`, HealthTerminating, "it is being deleted, which waits for a.example.com/b, c"},
		{"webhook", `
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: x, generation: 1}}
`, HealthReady, "it exists"},
		{"cron job", `
{apiVersion: batch/v1, kind: CronJob, metadata: {name: x, generation: 1}, status: {}}
`, HealthReady, "it exists"},
	})
}
