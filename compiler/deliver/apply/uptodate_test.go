package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const declaredWeb = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web, labels: {app: web}}
spec:
  replicas: 2
  template:
    spec:
      containers: [{name: web, image: "web:1"}]
`

const liveWeb = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: web
  uid: u1
  resourceVersion: "7"
  labels: {app: web, by: kubectl}
  managedFields:
  - manager: fleetc
    operation: Apply
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}}}}}}}
  - manager: kubectl-label
    operation: Update
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1: {"f:metadata": {"f:labels": {"f:by": {}}}}
spec:
  replicas: 2
  revisionHistoryLimit: 10
  template:
    spec:
      containers: [{name: web, image: "web:1", imagePullPolicy: IfNotPresent}]
status: {replicas: 2}
`

// An object needs no dry run as long as its applied content and the live fields of
// fleetc are unchanged.
func TestUpToDate(t *testing.T) {
	set := func(value any, path ...string) func(t *testing.T, o *unstructured.Unstructured) {
		return func(t *testing.T, o *unstructured.Unstructured) {
			t.Helper()
			if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
				t.Fatal(err)
			}
		}
	}
	container := func(field, value string) func(*testing.T, *unstructured.Unstructured) {
		return func(t *testing.T, o *unstructured.Unstructured) {
			t.Helper()
			list, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			if err != nil {
				t.Fatal(err)
			}
			list[0].(map[string]any)[field] = value
			set(list, "spec", "template", "spec", "containers")(t, o)
		}
	}
	managed := func(i int, field string, value any) func(*testing.T, *unstructured.Unstructured) {
		return func(t *testing.T, o *unstructured.Unstructured) {
			t.Helper()
			list, _, err := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
			if err != nil {
				t.Fatal(err)
			}
			list[i].(map[string]any)[field] = value
			set(list, "metadata", "managedFields")(t, o)
		}
	}
	fewer := map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:app": map[string]any{}}}}
	for name, test := range map[string]struct {
		bundle, cluster func(*testing.T, *unstructured.Unstructured)
		want            bool
	}{
		"nothing changes":                      {want: true},
		"its status changes":                   {cluster: set(int64(1), "status", "replicas"), want: true},
		"its version changes":                  {cluster: set("8", "metadata", "resourceVersion"), want: true},
		"another's label changes":              {cluster: set("k9s", "metadata", "labels", "by"), want: true},
		"another's field of a container":       {cluster: container("imagePullPolicy", "Always"), want: true},
		"a default changes":                    {cluster: set(int64(3), "spec", "revisionHistoryLimit"), want: true},
		"an own field changes":                 {cluster: set(int64(5), "spec", "replicas")},
		"an own label changes":                 {cluster: set("x", "metadata", "labels", "app")},
		"an own field of an element changes":   {cluster: container("image", "web:2")},
		"an own element is renamed":            {cluster: container("name", "other")},
		"ownership of a field is lost":         {cluster: managed(0, "fieldsV1", fewer)},
		"ownership is another manager's":       {cluster: managed(0, "manager", "terraform")},
		"ownership is of updates":              {cluster: managed(0, "operation", "Update")},
		"ownership is in another version":      {cluster: managed(0, "apiVersion", "apps/v1beta1")},
		"it is another object of the name":     {cluster: set("u2", "metadata", "uid")},
		"it has no managed fields":             {cluster: set([]any{}, "metadata", "managedFields")},
		"the bundle changes a field":           {bundle: set(int64(3), "spec", "replicas")},
		"the bundle has one more field":        {bundle: set(true, "spec", "paused")},
		"the bundle changes a container":       {bundle: container("image", "web:2")},
		"the bundle has it in another version": {bundle: set("apps/v1beta1", "apiVersion")},
	} {
		t.Run(name, func(t *testing.T) {
			declared, current := object(t, declaredWeb), object(t, liveWeb)
			id := fleet.Object{Unstructured: declared}.ID()
			it := &Item{ID: id, object: declared}
			p := &planner{recorded: map[string]Entry{id: {UID: "u1", Applied: it.fingerprint(current)}}}
			if p.recorded[id].Applied == "" {
				t.Fatal("the object has no fingerprint")
			}
			now := object(t, liveWeb)
			if test.cluster != nil {
				test.cluster(t, now)
			}
			next := object(t, declaredWeb)
			if test.bundle != nil {
				test.bundle(t, next)
			}
			if got := p.isUpToDate(&Item{ID: id, ref: cluster.RefOf(next), object: next}, now); got != test.want {
				t.Errorf("up to date: %t, want %t", got, test.want)
			}
		})
	}
	t.Run("no record, an adoption, a hook", func(t *testing.T) {
		it := &Item{ID: "Deployment.apps web/web", object: object(t, declaredWeb)}
		current := object(t, liveWeb)
		if (&planner{recorded: map[string]Entry{it.ID: {UID: "u1"}}}).isUpToDate(it, current) {
			t.Error("an object without a recorded fingerprint is up to date")
		}
		p := &planner{recorded: map[string]Entry{it.ID: {UID: "u1", Applied: it.fingerprint(current)}}}
		for _, other := range []*Item{{ID: it.ID, object: it.object, Adopts: true}, {ID: it.ID, object: it.object, hook: &hook{}}} {
			if p.isUpToDate(other, current) {
				t.Errorf("%+v is up to date", other)
			}
		}
		if p.isUpToDate(it, nil) {
			t.Error("an object that does not exist is up to date")
		}
	})
}

// Fields that the release leaves to others do not count.
func TestUpToDateOwnership(t *testing.T) {
	declared := object(t, declaredWeb)
	release := &fleet.Release{Name: "web", Ownership: []fleet.Ownership{{Leave: true, Fields: []fleet.FieldPath{{Path: []fleet.Step{{Key: "spec"}, {Key: "replicas"}}}}}}}
	it := &Item{ID: "Deployment.apps web/web", object: declared, release: release}
	current := object(t, liveWeb)
	before := it.fingerprint(current)
	fields := current.GetManagedFields()
	fields[1].Manager = "autoscaler"
	fields[1].FieldsV1.SetRawBytes([]byte(`{"f:spec":{"f:replicas":{}}}`))
	current.SetManagedFields(fields)
	taken := it.fingerprint(current)
	if before == taken {
		t.Error("a field that another manager takes does not change what is sent")
	}
}

// A completed Job is not run again after its deletion.
func TestCompletedJob(t *testing.T) {
	const text = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: b, uid: u1}\nspec: {ttlSecondsAfterFinished: 0}\n"
	job := object(t, text)
	it := &Item{ID: "Job.batch b/a", object: job}
	changed := object(t, text)
	changed.SetLabels(map[string]string{"a": "b"})
	going := object(t, text+"status: {conditions: [{type: Complete, status: \"True\"}]}\n")
	going.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	another := going.DeepCopy()
	another.SetUID("u2")
	config := object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")
	for name, test := range map[string]struct {
		known  Entry
		object *unstructured.Unstructured
		before *unstructured.Unstructured
		want   bool
	}{
		"it completed and is gone":             {Entry{UID: "u1", Completed: it.contentDigest()}, job, nil, true},
		"it completed and is being deleted":    {Entry{UID: "u1", Completed: it.contentDigest()}, job, going, true},
		"it never completed":                   {Entry{UID: "u1"}, job, nil, false},
		"it changed since":                     {Entry{UID: "u1", Completed: it.contentDigest()}, changed, nil, false},
		"it is there":                          {Entry{UID: "u1", Completed: it.contentDigest()}, job, job, false},
		"another Job of the name is going":     {Entry{UID: "u1", Completed: it.contentDigest()}, job, another, false},
		"an object of another kind is missing": {Entry{UID: "u1", Completed: (&Item{object: config}).contentDigest()}, config, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &planner{recorded: map[string]Entry{it.ID: test.known}}
			if got := p.completedBefore(&Item{ID: it.ID, object: test.object}, test.before); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestAdmissionRules(t *testing.T) {
	webhook := object(t, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{rules: [{apiGroups: [""], resources: ["configmaps", "pods/*"]}]}, {rules: [{apiGroups: ["apps"], resources: ["*"]}]}]}`)
	policy := object(t, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: a}, spec: {matchConstraints: {resourceRules: [{apiGroups: ["*"], resources: ["secrets"]}]}}}`)
	a := &admissionRules{rules: append(webhookRules(webhook.Object), policyRules(policy.Object)...)}
	for resource, want := range map[[2]string]bool{
		{"", "configmaps"}: true, {"", "serviceaccounts"}: false, {"apps", "deployments"}: true, {"", "deployments"}: false,
		{"", "secrets"}: true, {"example.com", "secrets"}: true, {"", "pods"}: false,
	} {
		if got := a.match(resource[0], resource[1]); got != want {
			t.Errorf("%q: %t, want %t", resource, got, want)
		}
	}
	if (&admissionRules{unknown: true}).match("", "configmaps") == false {
		t.Error("what may not be read concerns nothing")
	}
}
