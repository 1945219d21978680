package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// parseObject decodes an object in YAML with the types of a client.
func parseObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

// A sample is an object, or fields to add to one, with the expected verdict.
type sample struct {
	name, object string
	state        HealthState
	reason       string
}

// check judges samples, each appended to the same head.
func check(t *testing.T, r *HealthRules, head string, samples []sample) {
	t.Helper()
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			t.Helper()
			got := r.Judge(fleet.Object{Unstructured: parseObject(t, head+s.object)})
			if want := (HealthVerdict{s.state, s.reason}); got != want {
				t.Errorf("got  %s: %s\nwant %s: %s", got.State, got.Reason, want.State, want.Reason)
			}
		})
	}
}

func TestDeployment(t *testing.T) {
	check(t, nil, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, generation: 2}
`, []sample{
		{"created", `
spec: {replicas: 3}
status: {}
`, HealthInProgress, "its controller has not seen it yet"},
		{"changed", `
spec: {replicas: 3}
status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3}
`, HealthInProgress, "its controller has seen generation 1, and the last is 2"},
		{"pods are made", `
spec: {replicas: 3}
status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1}
`, HealthInProgress, "1 of 3 pods exist"},
		{"a quota is exceeded", `
spec: {replicas: 1}
status:
  observedGeneration: 2
  unavailableReplicas: 1
  conditions:
  - {type: Available, status: "False", reason: MinimumReplicasUnavailable, message: Deployment does not have minimum availability.}
  - {type: ReplicaFailure, status: "True", reason: FailedCreate, message: 'pods "web-7d9c" is forbidden: exceeded quota: small'}
  - {type: Progressing, status: "True", reason: NewReplicaSetCreated, message: Created new replica set "web-7d9c"}
`, HealthInProgress, `its pod is not there: FailedCreate: pods "web-7d9c" is forbidden: exceeded quota: small`},
		{"old ones are left", `
spec: {replicas: 3}
status: {observedGeneration: 2, replicas: 4, updatedReplicas: 2, readyReplicas: 3, availableReplicas: 3, unavailableReplicas: 1}
`, HealthInProgress, "2 of 3 pods are up to date"},
		{"old ones end", `
spec: {replicas: 3}
status: {observedGeneration: 2, replicas: 4, updatedReplicas: 3, readyReplicas: 4, availableReplicas: 4}
`, HealthInProgress, "1 pod too many"},
		{"some are ready", `
spec: {replicas: 3}
status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 2, availableReplicas: 2, unavailableReplicas: 1}
`, HealthInProgress, "2 of 3 pods are ready"},
		{"ready for less than minReadySeconds", `
spec: {replicas: 3, minReadySeconds: 30}
status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 1, unavailableReplicas: 2}
`, HealthInProgress, "1 of 3 pods are available"},
		{"done", `
spec: {replicas: 3}
status:
  observedGeneration: 2
  replicas: 3
  updatedReplicas: 3
  readyReplicas: 3
  availableReplicas: 3
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable}
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable}
`, HealthReady, "3 of 3 pods are ready"},
		{"one, by default", `
status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}
`, HealthReady, "its pod is ready"},
		{"none is wanted", `
spec: {replicas: 0}
status: {observedGeneration: 2}
`, HealthReady, "0 of 0 pods are ready"},
		{"stuck", `
spec: {replicas: 3, progressDeadlineSeconds: 120}
status:
  observedGeneration: 2
  replicas: 4
  updatedReplicas: 1
  readyReplicas: 3
  availableReplicas: 3
  unavailableReplicas: 1
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable}
  - {type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: ReplicaSet "web-5f" has timed out progressing.}
`, HealthFailed, "1 of 3 pods are up to date, and there was no progress for 120 s"},
		{"paused", `
spec: {replicas: 3, paused: true}
status:
  observedGeneration: 2
  replicas: 3
  readyReplicas: 3
  availableReplicas: 3
  conditions:
  - {type: Progressing, status: Unknown, reason: DeploymentPaused, message: Deployment is paused}
`, HealthReady, "it is paused"},
	})
}

func TestStatefulSet(t *testing.T) {
	check(t, nil, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, generation: 4}
`, []sample{
		{"created", `
spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}
status: {replicas: 0, availableReplicas: 0}
`, HealthInProgress, "its controller has not seen it yet"},
		{"one after another", `
spec: {replicas: 3}
status: {observedGeneration: 4, replicas: 1, currentReplicas: 1, updatedReplicas: 1, availableReplicas: 0, collisionCount: 0, currentRevision: db-1, updateRevision: db-1}
`, HealthInProgress, "1 of 3 pods exist"},
		{"an update", `
spec: {replicas: 3}
status: {observedGeneration: 4, replicas: 3, currentReplicas: 2, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 2, currentRevision: db-1, updateRevision: db-2}
`, HealthInProgress, "1 of 3 pods are up to date"},
		{"an update with a partition", `
spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}}
status: {observedGeneration: 4, replicas: 3, currentReplicas: 2, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3, currentRevision: db-1, updateRevision: db-2}
`, HealthReady, "3 of 3 pods are ready"},
		{"updates by hand", `
spec: {replicas: 3, updateStrategy: {type: OnDelete}}
status: {observedGeneration: 4, replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 3, currentRevision: db-1, updateRevision: db-2}
`, HealthReady, "3 of 3 pods are ready"},
		{"updates by hand, at first", `
spec: {replicas: 3, updateStrategy: {type: OnDelete}}
status: {observedGeneration: 4, replicas: 3, readyReplicas: 1, availableReplicas: 1, currentReplicas: 3, currentRevision: db-1, updateRevision: db-1}
`, HealthInProgress, "1 of 3 pods are ready"},
		{"before availableReplicas", `
spec: {replicas: 1}
status: {observedGeneration: 4, replicas: 1, readyReplicas: 1, currentReplicas: 1, updatedReplicas: 1}
`, HealthReady, "its pod is ready"},
	})
}

func TestDaemonSet(t *testing.T) {
	check(t, nil, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop, generation: 3}
`, []sample{
		{"created", `
status: {currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0}
`, HealthInProgress, "its controller has not seen it yet"},
		{"no nodes", `
status: {observedGeneration: 3, currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0}
`, HealthReady, "no node matches, so it has no pods"},
		{"an update", `
status: {observedGeneration: 3, currentNumberScheduled: 5, desiredNumberScheduled: 5, numberReady: 5, numberAvailable: 5, updatedNumberScheduled: 2, numberMisscheduled: 0}
`, HealthInProgress, "2 of 5 pods are up to date"},
		{"updates by hand", `
spec: {updateStrategy: {type: OnDelete}}
status: {observedGeneration: 3, currentNumberScheduled: 5, desiredNumberScheduled: 5, numberReady: 5, numberAvailable: 5, numberMisscheduled: 0}
`, HealthReady, "5 of 5 pods are ready"},
		{"a node is down", `
status: {observedGeneration: 3, currentNumberScheduled: 5, desiredNumberScheduled: 5, numberReady: 4, numberAvailable: 4, numberUnavailable: 1, updatedNumberScheduled: 5, numberMisscheduled: 0}
`, HealthInProgress, "4 of 5 pods are ready"},
		{"done, and one where it need not be", `
status: {observedGeneration: 3, currentNumberScheduled: 5, desiredNumberScheduled: 5, numberReady: 5, numberAvailable: 5, updatedNumberScheduled: 5, numberMisscheduled: 1}
`, HealthReady, "5 of 5 pods are ready"},
	})
}

func TestJob(t *testing.T) {
	check(t, nil, `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: shop, generation: 1}
`, []sample{
		{"created", `
spec: {backoffLimit: 6}
status: {}
`, HealthInProgress, "it has not started"},
		{"started", `
spec: {completions: 1, parallelism: 1}
status: {startTime: "2026-11-20T10:00:00Z", active: 1, ready: 1, terminating: 0}
`, HealthInProgress, "it runs"},
		{"again", `
spec: {completions: 1, parallelism: 1}
status: {startTime: "2026-11-20T10:00:00Z", active: 1, failed: 2}
`, HealthInProgress, "it runs, and 2 pods failed"},
		{"half of it", `
spec: {completions: 4, parallelism: 2}
status: {startTime: "2026-11-20T10:00:00Z", active: 2, succeeded: 2, failed: 1}
`, HealthInProgress, "2 of 4 pods succeeded, and 1 pod failed"},
		{"done", `
status:
  startTime: "2026-11-20T10:00:00Z"
  completionTime: "2026-11-20T10:01:00Z"
  succeeded: 1
  conditions:
  - {type: SuccessCriteriaMet, status: "True", reason: CompletionsReached, message: Reached expected number of succeeded pods}
  - {type: Complete, status: "True", reason: CompletionsReached, message: Reached expected number of succeeded pods}
`, HealthReady, "it is complete"},
		{"failed", `
status:
  startTime: "2026-11-20T10:00:00Z"
  failed: 7
  conditions:
  - {type: FailureTarget, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}
  - {type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}
`, HealthFailed, "it failed: BackoffLimitExceeded: Job has reached the specified backoff limit"},
		{"about to fail", `
status:
  startTime: "2026-11-20T10:00:00Z"
  active: 1
  conditions:
  - {type: FailureTarget, status: "True", reason: DeadlineExceeded, message: Job was active longer than specified deadline}
`, HealthFailed, "it failed: DeadlineExceeded: Job was active longer than specified deadline"},
		{"suspended", `
spec: {suspend: true}
status: {conditions: [{type: Suspended, status: "True", reason: JobSuspended, message: Job suspended}]}
`, HealthReady, "it is suspended"},
	})
}

func TestPod(t *testing.T) {
	check(t, nil, `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop, generation: 1}
`, []sample{
		{"created", `
status: {phase: Pending, qosClass: BestEffort}
`, HealthInProgress, "it has not started"},
		{"no node", `
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: '0/3 nodes are available: 3 Insufficient cpu.'}]}
`, HealthInProgress, "it is on no node: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."},
		{"pulling", `
status: {phase: Pending, containerStatuses: [{name: app, ready: false, state: {waiting: {reason: ContainerCreating}}}]}
`, HealthInProgress, "it has not started"},
		{"no image", `
status: {phase: Pending, containerStatuses: [{name: app, ready: false, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "x:1"'}}}]}
`, HealthInProgress, `container app: ImagePullBackOff: Back-off pulling image "x:1"`},
		{"an image that nobody has", `
status: {phase: Pending, containerStatuses: [{name: app, ready: false, state: {waiting: {reason: InvalidImageName, message: 'couldn''t parse image name "X:1"'}}}]}
`, HealthFailed, `container app: InvalidImageName: couldn't parse image name "X:1"`},
		{"crashing", `
status:
  phase: Running
  conditions: [{type: Ready, status: "False", reason: ContainersNotReady, message: 'containers with unready status: [app]'}]
  containerStatuses:
  - name: app
    ready: false
    restartCount: 4
    state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s restarting failed container=app}}
    lastState: {terminated: {exitCode: 137, reason: OOMKilled}}
`, HealthInProgress, "container app: CrashLoopBackOff, and ended with status 137: OOMKilled"},
		{"an init container", `
status:
  phase: Pending
  initContainerStatuses: [{name: wait, ready: false, restartCount: 1, state: {terminated: {exitCode: 2, reason: Error, message: no database}}}]
  containerStatuses: [{name: app, ready: false, state: {waiting: {reason: PodInitializing}}}]
`, HealthInProgress, "container wait: it ended with status 2: Error: no database"},
		{"not ready", `
status:
  phase: Running
  conditions: [{type: Ready, status: "False", reason: ContainersNotReady, message: 'containers with unready status: [app]'}]
  containerStatuses: [{name: app, ready: false, started: true, state: {running: {startedAt: "2026-11-20T10:00:00Z"}}}]
`, HealthInProgress, "container app runs, but is not ready"},
		{"ready", `
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`, HealthReady, "it is ready"},
		{"done", `
status: {phase: Succeeded}
`, HealthReady, "it has completed"},
		{"failed", `
status: {phase: Failed, containerStatuses: [{name: app, ready: false, state: {terminated: {exitCode: 1, reason: Error}}}]}
`, HealthFailed, "it failed: container app: it ended with status 1: Error"},
		{"evicted", `
status: {phase: Failed, reason: Evicted, message: 'The node was low on resource: memory.'}
`, HealthFailed, "it failed: Evicted: The node was low on resource: memory."},
	})
}
