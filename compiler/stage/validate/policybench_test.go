package validate_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// deployment is a typical Deployment of a chart.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web, helm.sh/chart: web-1.0}
spec:
  replicas: 3
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web}
    spec:
      serviceAccountName: web
      securityContext: {runAsNonRoot: true, fsGroup: 1000, seccompProfile: {type: RuntimeDefault}}
      initContainers:
      - name: init
        image: registry.example.com/init:1.0
        command: [sh, -c, "echo hi"]
        resources: {limits: {memory: 1Gi}, requests: {cpu: 100m}}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
      containers:
      - name: web
        image: registry.example.com/web:1.0
        ports: [{name: http, containerPort: 8080, protocol: TCP}, {name: metrics, containerPort: 9090}]
        env:
        - {name: A, value: "1"}
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        resources: {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: 100m, memory: 256Mi}}
        livenessProbe: {httpGet: {path: /healthz, port: http}, initialDelaySeconds: 10, periodSeconds: 5}
        readinessProbe: {httpGet: {path: /ready, port: http}}
        volumeMounts: [{name: data, mountPath: /data}, {name: cfg, mountPath: /cfg, readOnly: true}]
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
      volumes:
      - {name: data, emptyDir: {}}
      - {name: cfg, configMap: {name: web}}
`

// benchFleet has twenty policies.
const benchFleet = `package fleet

import "github.com/fleetc/fleetc/lib/policy"

policies: policy.#Restricted
policies: "image-tags": policy.#ImageTags
`

// benchObjects are 100 objects, 40 of which are workloads.
func benchObjects(b *testing.B) []fleet.Object {
	web := policyObjects(b, deployment)[0]
	var objs []fleet.Object
	for i := range 100 {
		u := web.DeepCopy()
		if i%5 > 1 {
			u = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "b"}}}
		}
		u.SetName(fmt.Sprintf("web-%d", i))
		objs = append(objs, fleet.Object{Unstructured: u, Release: web.Release})
	}
	return objs
}

func BenchmarkObjectsCold(b *testing.B) {
	c, objs := cluster(b, benchFleet), benchObjects(b)
	for b.Loop() {
		var k validate.PolicyChecker
		if err := k.Objects(b.Context(), c, objs, ""); err != nil {
			b.Fatal(text(err))
		}
	}
}

func BenchmarkObjectsWarm(b *testing.B) {
	c, objs := cluster(b, benchFleet), benchObjects(b)
	var k validate.PolicyChecker
	if err := k.Objects(b.Context(), c, objs, ""); err != nil {
		b.Fatal(text(err))
	}
	for b.Loop() {
		if err := k.Objects(b.Context(), c, objs, ""); err != nil {
			b.Fatal(text(err))
		}
	}
}
