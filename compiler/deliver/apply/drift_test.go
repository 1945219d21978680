package apply

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const authored = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app.kubernetes.io/name: web}
  managedFields:
  - {manager: fleetc, operation: Apply, apiVersion: apps/v1, time: "2026-11-20T10:00:00Z", fieldsV1: {"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}}, "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:name": {}}}}}}}}
  - {manager: kubectl-edit, operation: Update, apiVersion: apps/v1, time: "2026-11-20T12:00:00Z", fieldsV1: {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}, "f:args": {}}}}}}}}
  - {manager: kubectl, operation: Update, subresource: scale, apiVersion: apps/v1, time: "2026-11-20T11:00:00Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: kubectl, operation: Update, apiVersion: apps/v1, fieldsV1: {"f:spec": {"f:paused": {}}}}
spec:
  replicas: 5
  paused: true
  template: {spec: {containers: [{name: web, image: "a:2", args: ["-v"]}, {name: side}]}}
`

// Each field has the managers that own it in its entry of the managed fields.
func TestAuthors(t *testing.T) {
	var content map[string]any
	if err := yaml.Unmarshal([]byte(authored), &content); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: content}
	for path, want := range map[string]string{
		"spec.replicas": "kubectl Update scale 11:00",
		"spec.paused":   "kubectl Update  00:00",
		"spec.template.spec.containers[name=web].image":      "kubectl-edit Update  12:00",
		"spec.template.spec.containers[name=web].args[0]":    "kubectl-edit Update  12:00",
		"spec.template.spec.containers[name=web]":            "kubectl-edit Update  12:00, fleetc Apply  10:00",
		"spec.template.spec.containers[name=web].name":       "fleetc Apply  10:00",
		"spec.template.spec.containers[name=side]":           "",
		"spec.template.spec.containers[name=gone].image":     "",
		`metadata.labels."app.kubernetes.io/name"`:           "fleetc Apply  10:00",
		"spec.minReadySeconds":                               "",
		"spec.template.spec.containers[name=web].env[name=]": "",
	} {
		var got []string
		for _, a := range Authors(o, FieldSteps(path)) {
			got = append(got, fmt.Sprint(a.Manager, " ", a.Operation, " ", a.Subresource, " ", a.Time.Format("15:04")))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: %q, want %q", path, text, want)
		}
	}
}
