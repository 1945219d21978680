package objects

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// BenchmarkRelease applies 5 patches with targets to the 200 objects of a large
// release.
func BenchmarkRelease(b *testing.B) {
	var objs []fleet.Object
	for i := range 40 {
		for _, o := range objects(b, shop) {
			o.SetName(fmt.Sprintf("%s-%d", o.GetName(), i))
			objs = append(objs, o)
		}
	}
	r := release(b,
		`{strategic: {metadata: {labels: {team: shop, tier: front}}}}`,
		`{target: {kinds: [Deployment]}, strategic: {spec: {template: {metadata: {labels: {team: shop}}, spec: {imagePullSecrets: [{name: pull}], containers: [{name: web, env: [{name: C, value: d}]}]}}}}}`,
		`{images: {"docker.io/": "r.example/hub/", "quay.io/": "r.example/quay/"}}`,
		`{target: {kinds: [Deployment]}, json: [{op: add, path: /metadata/annotations, value: {a: b}}, {op: replace, path: /spec/replicas, value: 3}]}`,
		`{target: {kinds: [ConfigMap, Widget]}, merge: {metadata: {annotations: {c: d}}}}`)
	if _, err := PatchRelease(eu, r, objs); err != nil {
		b.Fatal(faultText(b, err))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := PatchRelease(eu, r, objs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(objs)), "objects")
}

// BenchmarkClone measures the copies alone.
func BenchmarkClone(b *testing.B) {
	var objs []*unstructured.Unstructured
	for range 40 {
		for _, o := range objects(b, shop) {
			objs = append(objs, o.Unstructured)
		}
	}
	for b.Loop() {
		for _, o := range objs {
			cloneMap(o.Object)
		}
	}
}
