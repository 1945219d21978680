package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A dump is a cluster in a txtar archive: a file for each object, and files
// logs/POD/CONTAINER, with the suffix -previous for the previous container.
type dump struct {
	objects   []*unstructured.Unstructured
	logs      map[string]string
	forbidden string // a kind that the user is not allowed to list
}

func readDump(t *testing.T, archive string) *dump {
	t.Helper()
	d := &dump{logs: map[string]string{}}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if name, ok := strings.CutPrefix(f.Name, "logs/"); ok {
			d.logs[name] = string(f.Data)
			continue
		}
		d.objects = append(d.objects, parseObject(t, string(f.Data)))
	}
	return d
}

func (d *dump) List(_ context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]unstructured.Unstructured, error) {
	if kind.Kind == d.forbidden {
		return nil, errors.New("forbidden:\n you may not list")
	}
	s, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	var out []unstructured.Unstructured
	for _, o := range d.objects {
		if o.GroupVersionKind() == kind && o.GetNamespace() == namespace && s.Matches(labels.Set(o.GetLabels())) {
			out = append(out, *o)
		}
	}
	return out, nil
}

func (d *dump) Logs(_ context.Context, _, pod, container string, previous bool, _ int) ([]byte, error) {
	name := pod + "/" + container
	if previous {
		name += "-previous"
	}
	text, ok := d.logs[name]
	if !ok {
		return nil, fmt.Errorf("no logs of %s", name)
	}
	return []byte(text), nil
}

// explainDump explains the first object of a dump, as lines.
func explainDump(t *testing.T, d *dump, hide ...string) string {
	t.Helper()
	x := &Explainer{Reader: d, Hide: SecretHider(hide)}
	o := fleet.Object{Unstructured: d.objects[0]}
	e := x.Explain(t.Context(), o, (*HealthRules)(nil).Judge(o))
	var b strings.Builder
	b.WriteString(e.String() + "\n")
	for i, lines := range [][]string{e.Events, e.Logs, e.Unread} {
		for _, l := range lines {
			fmt.Fprintf(&b, "%s %s\n", []string{"event", "log", "unread"}[i], l)
		}
	}
	return b.String()
}

const webDump = `
-- deployment --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: d1, generation: 2}
spec: {replicas: 2, selector: {matchLabels: {app: web}}}
status: {observedGeneration: 2, replicas: 3, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 2}
-- old --
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-old, namespace: shop, uid: r1, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "9"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]}
spec: {replicas: 2, selector: {matchLabels: {app: web, hash: old}}}
-- new --
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-new, namespace: shop, uid: r2, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "10"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]}
spec: {replicas: 1, selector: {matchLabels: {app: web, hash: new}}}
-- foreign --
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: zeb, namespace: shop, uid: r3, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "99"}}
spec: {replicas: 1, selector: {matchLabels: {app: web}}}
-- old-pod --
apiVersion: v1
kind: Pod
metadata: {name: web-old-a, namespace: shop, uid: p1, labels: {app: web, hash: old}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-old, uid: r1, controller: true}]}
status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff}}}]}
`

const crashingPod = `
-- new-pod --
apiVersion: v1
kind: Pod
metadata: {name: web-new-a, namespace: shop, uid: p2, labels: {app: web, hash: new}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-new, uid: r2, controller: true}]}
status:
  phase: Running
  containerStatuses:
  - {name: sidecar, ready: true, state: {running: {}}}
  - {name: app, ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s restarting failed container}}, lastState: {terminated: {exitCode: 1, reason: Error, message: "password hunter22 refused"}}}
-- another-new-pod --
apiVersion: v1
kind: Pod
metadata: {name: web-new-b, namespace: shop, uid: p3, labels: {app: web, hash: new}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-new, uid: r2, controller: true}]}
status: {phase: Pending}
-- logs/web-new-a/app-previous --
starting
connecting with hunter22 to` + " \x1b[31m" + `db

fatal: refused
`

func event1(name, uid, kind, reason, message, more string) string {
	return fmt.Sprintf(`
-- %s --
{apiVersion: v1, kind: Event, metadata: {name: %[1]s, namespace: shop}, involvedObject: {uid: %s}, type: %s, reason: %s, message: %q%s}
`, name, uid, kind, reason, message, more)
}

func TestExplain(t *testing.T) {
	for _, test := range []struct{ name, dump, want string }{
		{"a crash", webDump + crashingPod +
			event1("e1", "p2", "Warning", "BackOff", "Back-off restarting failed container", ", count: 7, lastTimestamp: '2026-11-20T10:00:03Z'") +
			event1("e2", "p2", "Warning", "Unhealthy", "probe with hunter22 failed", ", eventTime: '2026-11-20T10:00:02.123456Z'") +
			event1("e3", "p1", "Warning", "BackOff", "of another pod", "") +
			event1("e4", "p2", "Normal", "Pulled", "it is there", ", lastTimestamp: '2026-11-20T10:00:09Z'"), `
Deployment.apps shop/web: pod web-new-a (and 1 more): container app: CrashLoopBackOff, and ended with status 1: Error: password (hidden) refused
event Pod web-new-a: Unhealthy: probe with (hidden) failed
event Pod web-new-a: BackOff: Back-off restarting failed container (7 times)
log starting
log connecting with (hidden) to ` + "\uFFFD" + `[31mdb
log fatal: refused
`},
		{"no pods", webDump + event1("e1", "r2", "Warning", "FailedCreate", `pods "web-new-a" is forbidden: exceeded quota`, ", series: {count: 5, lastObservedTime: '2026-11-20T10:00:02.123456Z'}"), `
Deployment.apps shop/web: 1 of 2 pods are up to date
event ReplicaSet web-new: FailedCreate: pods "web-new-a" is forbidden: exceeded quota (5 times)
`},
		{"no logs", webDump + strings.Split(crashingPod, "-- logs")[0], `
Deployment.apps shop/web: pod web-new-a (and 1 more): container app: CrashLoopBackOff, and ended with status 1: Error: password (hidden) refused
unread the logs of container app: no logs of web-new-a/app-previous
`},
		{"between two crashes", strings.Replace(webDump+crashingPod, "state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s restarting failed container}}", "state: {running: {}}", 1), `
Deployment.apps shop/web: pod web-new-a (and 1 more): container app runs, but is not ready; before, it ended with status 1: Error: password (hidden) refused
log starting
log connecting with (hidden) to ` + "\uFFFD" + `[31mdb
log fatal: refused
`},
		{"a removed log", strings.Replace(webDump+crashingPod, "-- logs/web-new-a/app-previous --", `-- logs/web-new-a/app-previous --
unable to retrieve container logs for containerd://26daa52fecdf
-- logs/web-new-a/app --`, 1), `
Deployment.apps shop/web: pod web-new-a (and 1 more): container app: CrashLoopBackOff, and ended with status 1: Error: password (hidden) refused
log starting
log connecting with (hidden) to ` + "\uFFFD" + `[31mdb
log fatal: refused
`},
		{"no log is left", webDump + strings.Split(crashingPod, "\nstarting")[0] + "\nunable to retrieve container logs for containerd://26daa52fecdf\n", `
Deployment.apps shop/web: pod web-new-a (and 1 more): container app: CrashLoopBackOff, and ended with status 1: Error: password (hidden) refused
unread the logs of container app: the node has removed them
`},
		{"many events", webDump + event1("e1", "d1", "Warning", "A", "1", "") + event1("e2", "d1", "Warning", "A", "1", "") + event1("e3", "d1", "Warning", "A", "2", "") +
			event1("e4", "d1", "Warning", "A", "3", "") + event1("e5", "d1", "Warning", "A", "4", "") + event1("e6", "d1", "Warning", "A", "5", "") + event1("e7", "d1", "Warning", "A", "6", ""), `
Deployment.apps shop/web: 1 of 2 pods are up to date
event Deployment web: A: 2
event Deployment web: A: 3
event Deployment web: A: 4
event Deployment web: A: 5
event Deployment web: A: 6
`},
		{"a job", `
-- job --
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: shop, uid: j1}
spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: j1}}}
status: {startTime: "2026-11-20T10:00:00Z", failed: 2, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}
-- first --
apiVersion: v1
kind: Pod
metadata: {name: migrate-z, namespace: shop, uid: p1, creationTimestamp: "2026-11-20T10:00:00Z", labels: {batch.kubernetes.io/controller-uid: j1}, ownerReferences: [{kind: Job, name: migrate, uid: j1, controller: true}]}
status: {phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 3, reason: Error}}}]}
-- second --
apiVersion: v1
kind: Pod
metadata: {name: migrate-a, namespace: shop, uid: p2, creationTimestamp: "2026-11-20T10:01:00Z", labels: {batch.kubernetes.io/controller-uid: j1}, ownerReferences: [{kind: Job, name: migrate, uid: j1, controller: true}]}
status: {phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 4, reason: Error}}}]}
-- logs/migrate-a/app --
no such table
`, `
Job.batch shop/migrate: pod migrate-a (and 1 more): it failed: container app: it ended with status 4: Error
log no such table
`},
		{"a job whose pod is gone", `
-- job --
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: shop, uid: j1}
spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: j1}}, template: {spec: {restartPolicy: OnFailure}}}
status: {startTime: "2026-11-20T10:00:00Z", failed: 1, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}
`, `
Job.batch shop/migrate: Kubernetes has deleted its pod with the log: restartPolicy Never keeps it
`},
		{"a claim", `
-- claim --
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop, uid: c1}
status: {phase: Pending}
` + event1("e1", "c1", "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding", ""), `
PersistentVolumeClaim shop/data: it waits for a volume, or for a pod that uses it
event PersistentVolumeClaim data: WaitForFirstConsumer: waiting for first consumer to be created before binding
`},
		{"a pod on no node", `
-- pod --
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop, uid: p1}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: 0/3 nodes are available}]}
`, `
Pod shop/p: it is on no node: Unschedulable: 0/3 nodes are available
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := readDump(t, test.dump)
			got := explainDump(t, d, "hunter22", "app", "x\nBEGIN SECRET KEY\n")
			if "\n"+got != test.want {
				t.Errorf("got\n%s\nwant%s", got, test.want)
			}
			// The order of responses does not matter.
			first, rest := d.objects[0], d.objects[1:]
			for i, j := 0, len(rest)-1; i < j; i, j = i+1, j-1 {
				rest[i], rest[j] = rest[j], rest[i]
			}
			d.objects = append([]*unstructured.Unstructured{first}, rest...)
			if again := explainDump(t, d, "hunter22"); again != got {
				t.Errorf("in another order\n%s\nand before\n%s", again, got)
			}
		})
	}
}

// An explanation goes as far as the user's rights.
func TestExplainForbidden(t *testing.T) {
	for refused, want := range map[string]string{
		"Pod":        "Deployment.apps shop/web: 1 of 2 pods are up to date\nunread pods: forbidden: you may not list\n",
		"ReplicaSet": "Deployment.apps shop/web: 1 of 2 pods are up to date\nunread replicasets: forbidden: you may not list\n",
	} {
		d := readDump(t, webDump+crashingPod)
		d.forbidden = refused
		if got := explainDump(t, d); got != want {
			t.Errorf("without %ss: %s", refused, got)
		}
	}
	x := &Explainer{Reader: &dump{}}
	if got := x.Explain(t.Context(), fleet.Object{}, HealthVerdict{HealthMissing, "it does not exist"}).String(); got != "object: it does not exist" {
		t.Error(got)
	}
}
