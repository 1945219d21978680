package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/testdata/clusters"
)

// healthCRDs define kinds like those of operators: Widget has a status without a
// controller; Setting has none.
const healthCRDs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: settings.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Setting, plural: settings, singular: setting, listKind: SettingList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}
`

// healthObjects are objects of each relevant kind, with their final state in an
// annotation. PODS stands for the pod template of a controller.
const healthObjects = `
{apiVersion: v1, kind: Namespace, metadata: {name: health, annotations: {becomes: ready}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {becomes: ready}}, spec: {replicas: 3, PODS}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: paused, annotations: {becomes: ready}}, spec: {paused: true, PODS}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: none, annotations: {becomes: ready}}, spec: {replicas: 0, PODS}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: stuck, annotations: {becomes: failed}}, spec: {replicas: 2, progressDeadlineSeconds: 3, STUCK}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: over-quota, annotations: {becomes: in progress}}, spec: {replicas: 1, HUGE}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, annotations: {becomes: ready}}, spec: {replicas: 2, serviceName: db, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], PODS}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: by-hand, annotations: {becomes: ready}}, spec: {replicas: 1, serviceName: x, updateStrategy: {type: OnDelete}, PODS}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, annotations: {becomes: ready}}, spec: {PODS}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: nowhere, annotations: {becomes: ready}}, spec: {NOWHERE}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, annotations: {becomes: ready}}, spec: {ONCE}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: fails, annotations: {becomes: failed}}, spec: {backoffLimit: 0, FAILS}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: waits, annotations: {becomes: ready}}, spec: {suspend: true, ONCE}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, annotations: {becomes: ready}}, spec: {schedule: "0 3 * * *", jobTemplate: {spec: {ONCE}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {becomes: ready}}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: lb, annotations: {becomes: ready}}, spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, annotations: {becomes: ready}}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, annotations: {becomes: ready}}, spec: {podSelector: {}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, annotations: {becomes: ready}}, spec: {maxReplicas: 3, minReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, annotations: {becomes: ready}}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: unused, annotations: {becomes: unknown}}, spec: {storageClassName: first-consumer, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: first-consumer, annotations: {becomes: ready}}, provisioner: example.com/none, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, annotations: {becomes: ready}}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: settings, annotations: {becomes: ready}}, stringData: {password: hunter22hunter22}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: health, annotations: {becomes: ready}}, webhooks: []}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.nobody.example.com, annotations: {becomes: in progress}}, spec: {group: nobody.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {name: nobody, namespace: default}}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: health, annotations: {becomes: ready}}, value: 7}
---
{apiVersion: v1, kind: Pod, metadata: {name: nowhere, annotations: {becomes: in progress}}, spec: {nodeSelector: {no: such}, containers: [{name: app, image: registry.example.com/app:1, resources: {requests: {memory: 1Mi}}}]}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: quiet, annotations: {becomes: unknown}}, spec: {size: 1}}
---
{apiVersion: example.com/v1, kind: Setting, metadata: {name: x, annotations: {becomes: ready}}, spec: {}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: not-waited, annotations: {becomes: ready}}, spec: {size: 1}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: ruled, annotations: {becomes: in progress}}, spec: {size: 1}}
`

// healthQuota is created before the pods that it prevents.
const healthQuota = `{apiVersion: v1, kind: ResourceQuota, metadata: {name: memory, annotations: {becomes: ready}}, spec: {hard: {requests.memory: 32Gi}}}`

// documents returns objects in kubectl's format.
func documents(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var all strings.Builder
	for _, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
		all.WriteString("\n---\n")
	}
	return all.String()
}

// pods returns a selector and a pod template with annotations.
func pods(name, annotations, more string) string {
	return fmt.Sprintf("selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %[1]s}, annotations: {%s}}, spec: {%scontainers: [{name: app, image: 'registry.example.com/app:1', resources: {requests: {memory: 1Mi}}}]}}", name, annotations, more)
}

// healthPlace is a cluster that implements kube.ObjectReader.
type healthPlace struct {
	*testing.T
	cluster *clusters.Cluster
}

func (p *healthPlace) List(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]unstructured.Unstructured, error) {
	prefix := "/api/v1"
	if kind.Group != "" {
		prefix = "/apis/" + kind.GroupVersion().String()
	}
	path := fmt.Sprintf("%s/namespaces/%s/%ss?labelSelector=%s", prefix, namespace, strings.ToLower(kind.Kind), url.QueryEscape(selector))
	status, answer, err := p.cluster.Do(ctx, http.MethodGet, path, "", nil)
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("list %s: %d %s %w", path, status, answer, err)
	}
	var list unstructured.UnstructuredList
	if err := list.UnmarshalJSON(answer); err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (p *healthPlace) Logs(ctx context.Context, namespace, pod, container string, previous bool, lines int) ([]byte, error) {
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/log?container=%s&previous=%t&tailLines=%d", namespace, pod, container, previous, lines)
	status, answer, err := p.cluster.Do(ctx, http.MethodGet, path, "", nil)
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("%d %s %w", status, answer, err)
	}
	return answer, nil
}

func (p *healthPlace) kubectl(input string, args ...string) string {
	p.Helper()
	out, err := shared.KubectlInput(p.Context(), input, append([]string{"--context", p.cluster.Context}, args...)...)
	if err != nil {
		p.Fatal(err)
	}
	return out
}

// observe reads the live state of objects.
func (p *healthPlace) observe(declared []*unstructured.Unstructured) []kube.ObservedObject {
	p.Helper()
	var list struct{ Items []map[string]any }
	if answer := p.kubectl(documents(p.T, declared), "get", "-n", "health", "-o", "json", "--ignore-not-found", "-f", "-"); answer != "" {
		var one unstructured.Unstructured
		if err := one.UnmarshalJSON([]byte(answer)); err != nil {
			p.Fatal(err)
		}
		list.Items = append(list.Items, one.Object)
		if items, ok := one.Object["items"].([]any); ok {
			list.Items = nil
			for _, i := range items {
				list.Items = append(list.Items, i.(map[string]any))
			}
		}
	}
	var out []kube.ObservedObject
	for _, d := range declared {
		o := kube.ObservedObject{Declared: fleet.Object{Unstructured: d}}
		for _, item := range list.Items {
			if live := (&unstructured.Unstructured{Object: item}); live.GetKind() == d.GetKind() && live.GetName() == d.GetName() {
				o.Live = live
			}
		}
		out = append(out, o)
	}
	return out
}

// healthDeclared returns the declared objects.
func healthDeclared(t *testing.T) (crds, declared []*unstructured.Unstructured) {
	t.Helper()
	text := healthObjects
	for mark, object := range map[string]string{
		"PODS": pods("NAME", "", ""), "STUCK": pods("NAME", "fleetc.test/stuck: ImagePullBackOff", ""),
		"HUGE":    strings.ReplaceAll(pods("NAME", "", ""), "1Mi", "64Gi"),
		"NOWHERE": pods("NAME", "", "nodeSelector: {no: such}, "),
		"ONCE":    strings.SplitN(pods("x", "", "restartPolicy: Never, "), "}}, ", 2)[1],
		"FAILS":   strings.SplitN(pods("x", "fleetc.test/fail: 'true'", "restartPolicy: Never, "), "}}, ", 2)[1],
	} {
		text = regexp.MustCompile(`\b`+mark+`\b`).ReplaceAllLiteralString(text, object)
	}
	for into, text := range map[*[]*unstructured.Unstructured]string{&crds: healthCRDs, &declared: text + "\n---\n" + healthQuota} {
		for _, doc := range strings.Split(text, "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
				t.Fatalf("%v in %s", err, doc)
			}
			data, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			name := o.GetName()
			if err := o.UnmarshalJSON([]byte(strings.ReplaceAll(string(data), "NAME", name))); err != nil {
				t.Fatal(err)
			}
			*into = append(*into, o)
		}
	}
	return crds, declared
}

// Objects of common kinds on a real control plane get the right verdicts, from
// their creation until their final state.
func TestHealth(t *testing.T) {
	crds, declared := healthDeclared(t)
	booted := &place{T: t, clusters: map[string]*clusters.Cluster{}}
	booted.boot(clusters.Spec{Name: "health"})
	p := &healthPlace{T: t, cluster: booted.clusters["health"]}
	no := false
	widgets := fleet.Selector{Kinds: []string{"Widget.example.com"}}
	rules, err := kube.CompileHealthRules(&fleet.Cluster{Health: []fleet.HealthRule{
		{Name: "not-waited", Match: fleet.Selector{Names: []string{"not-waited"}}, Wait: &no},
		{
			Name: "ruled", Match: fleet.Selector{Kinds: widgets.Kinds, Names: []string{"ruled"}},
			Ready:  []fleet.HealthTest{{Type: "Synced", Status: "True"}, {Expression: "status.size == spec.size"}},
			Failed: []fleet.HealthTest{{Type: "Synced", Status: "False", Reasons: []string{"Refused"}}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}

	// New CRDs are served after a delay.
	p.kubectl(healthCRDs, "apply", "--server-side", "-f", "-")
	p.await(rules, crds, func(o kube.JudgedObject) bool { return o.State == kube.HealthReady })
	for _, o := range p.observe(crds) {
		rules.AddCRDs(fleet.Object{Unstructured: o.Live})
	}

	p.kubectl("", "create", "namespace", "health")
	p.kubectl("", "wait", "--for=create", "serviceaccount/default", "-n", "health")
	p.kubectl(healthQuota, "apply", "--server-side", "-n", "health", "-f", "-")
	p.kubectl("", "wait", "--for=jsonpath={.status.hard}", "resourcequota/memory", "-n", "health")
	p.kubectl(documents(t, declared), "apply", "--server-side", "-n", "health", "-f", "-")
	results := p.await(rules, declared, func(r kube.JudgedObject) bool { return string(r.State) == r.Declared.GetAnnotations()["becomes"] })

	for name, want := range map[string]string{
		"Deployment stuck":                 `^0 of 2 pods are ready, and there was no progress for 3 s$`,
		"Deployment over-quota":            `^its pod is not there: FailedCreate: pods "over-quota-.*" is forbidden: exceeded quota: memory`,
		"Deployment web":                   `^3 of 3 pods are ready$`,
		"Deployment paused":                `^it is paused`,
		"Job fails":                        `^it failed: BackoffLimitExceeded: Job has reached the specified backoff limit$`,
		"DaemonSet nowhere":                `^no node matches, so it has no pods$`,
		"Pod nowhere":                      `^it is on no node: Unschedulable: 0/2 nodes are available`,
		"APIService v1.nobody.example.com": `^condition Available is False: ServiceNotFound: `,
		"Widget quiet":                     `^it has no status yet$`,
		"Widget ruled":                     `^it has no status yet$`,
		"PersistentVolumeClaim unused":     `^it waits for a volume`,
	} {
		if r := results[name]; !regexp.MustCompile(want).MatchString(r.Reason) {
			t.Errorf("%s: %s, want %s", name, r.Reason, want)
		}
	}

	// Explanations. There are no logs, because no containers run here.
	x := &kube.Explainer{Reader: p}
	for name, want := range map[string]string{
		"Deployment stuck":             `^Deployment\.apps health/stuck: pod stuck-\S+ \(and 1 more\): container app: ImagePullBackOff`,
		"Deployment over-quota":        `^Deployment\.apps health/over-quota: its pod is not there: .*\nReplicaSet over-quota-\S+: FailedCreate: Error creating: pods .* exceeded quota`,
		"Job fails":                    `^Job\.batch health/fails: pod fails-\S+: it failed: container app: it ended with status 1`,
		"Pod nowhere":                  `^Pod health/nowhere: it is on no node: Unschedulable: .*\nPod nowhere: FailedScheduling: 0/2 nodes are available`,
		"PersistentVolumeClaim unused": `^PersistentVolumeClaim health/unused: it waits for a volume`,
	} {
		r := results[name]
		e := x.Explain(t.Context(), fleet.Object{Unstructured: r.Live}, r.HealthVerdict)
		if got := strings.Join(append([]string{e.String()}, e.Events...), "\n"); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: %s\nunread: %q\nwant %s", name, got, e.Unread, want)
		}
	}

	p.checkRecovery(rules, declared)
}

// checkRecovery fixes the objects that did not become ready.
func (p *healthPlace) checkRecovery(rules *kube.HealthRules, declared []*unstructured.Unstructured) {
	only := func(kind, name string) []*unstructured.Unstructured {
		for _, o := range declared {
			if o.GetKind() == kind && o.GetName() == name {
				return []*unstructured.Unstructured{o}
			}
		}
		p.Fatalf("there is no %s %s", kind, name)
		return nil
	}
	hasState := func(want kube.HealthState) func(kube.JudgedObject) bool {
		return func(r kube.JudgedObject) bool { return r.State == want }
	}
	// A failed rollout becomes ready when its images exist.
	p.kubectl("", "-n", "health", "annotate", "pods", "-l", "app=stuck", "fleetc.test/stuck-")
	p.await(rules, only("Deployment", "stuck"), hasState(kube.HealthReady))
	// A changed object is not ready because its previous version was.
	p.kubectl("", "-n", "health", "patch", "deployment", "web", "-p", `{"spec": {"template": {"metadata": {"annotations": {"fleetc.test/stuck": "ErrImagePull"}}}}}`)
	web := p.await(rules, only("Deployment", "web"), func(r kube.JudgedObject) bool { return r.Reason == "1 of 3 pods are up to date" })
	if got := web["Deployment web"]; got.State != kube.HealthInProgress {
		p.Errorf("web: %s: %s", got.State, got.Reason)
	}
	p.kubectl("", "-n", "health", "rollout", "undo", "deployment", "web")
	p.await(rules, only("Deployment", "web"), hasState(kube.HealthReady))

	// A controller writes a status after all.
	status := func(name, text string) {
		p.kubectl("", "-n", "health", "patch", "widget", name, "--subresource=status", "--type=merge", "-p", `{"status": `+text+`}`)
	}
	status("ruled", `{"conditions": [{"type": "Synced", "status": "False", "reason": "Busy", "message": "m"}], "size": 0}`)
	p.await(rules, only("Widget", "ruled"), func(r kube.JudgedObject) bool {
		return r.State == kube.HealthInProgress && r.Reason == "condition Synced is False: Busy: m"
	})
	status("ruled", `{"conditions": [{"type": "Synced", "status": "False", "reason": "Refused"}]}`)
	p.await(rules, only("Widget", "ruled"), hasState(kube.HealthFailed))
	status("ruled", `{"conditions": [{"type": "Synced", "status": "True"}], "size": 1}`)
	p.await(rules, only("Widget", "ruled"), hasState(kube.HealthReady))
	p.kubectl("", "-n", "health", "patch", "widget", "ruled", "--type=merge", "-p", `{"spec": {"size": 2}}`)
	p.await(rules, only("Widget", "ruled"), hasState(kube.HealthInProgress))
	status("quiet", `{"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "False", "reason": "Thinking"}]}`)
	p.await(rules, only("Widget", "quiet"), hasState(kube.HealthInProgress))

	// An object that is being deleted is neither ready nor missing.
	p.kubectl("", "-n", "health", "patch", "configmap", "settings", "--type=merge", "-p", `{"metadata": {"finalizers": ["example.com/hold"]}}`)
	p.kubectl("", "-n", "health", "delete", "configmap", "settings", "--wait=false")
	held := p.await(rules, only("ConfigMap", "settings"), hasState(kube.HealthTerminating))
	if got := held["ConfigMap settings"].Reason; got != "it is being deleted, which waits for example.com/hold" {
		p.Error(got)
	}
	p.kubectl("", "-n", "health", "patch", "configmap", "settings", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
	p.await(rules, only("ConfigMap", "settings"), hasState(kube.HealthMissing))
}

// await steps until all objects have the expected state, and returns the last
// results by kind and name.
func (p *healthPlace) await(rules *kube.HealthRules, declared []*unstructured.Unstructured, good func(kube.JudgedObject) bool) map[string]kube.JudgedObject {
	p.Helper()
	waiting := kube.HealthWaiting{Rules: rules, Grace: time.Hour}
	begun := time.Now()
	for {
		progress := waiting.Step(time.Since(begun), p.observe(declared))
		results := map[string]kube.JudgedObject{}
		var bad []string
		for _, list := range [][]kube.JudgedObject{progress.Ready, progress.Pending, progress.Failed} {
			for _, r := range list {
				results[r.Declared.GetKind()+" "+r.Declared.GetName()] = r
				if !good(r) {
					bad = append(bad, fmt.Sprintf("%s: %s: %s", r.Declared.Title(), r.State, r.Reason))
				}
			}
		}
		if len(bad) == 0 {
			return results
		}
		if time.Since(begun) > 3*time.Minute {
			p.Fatalf("still:\n%s", strings.Join(bad, "\n"))
		}
		select {
		case <-p.Context().Done():
			p.Fatal(p.Context().Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
