package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestTwice(t *testing.T) {
	objs := objects(t, web, `
{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, namespace: x}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: Secret, metadata: {name: a}}
`)
	objs = append(objs, objects(t, api, `
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a, namespace: front}, spec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`)...)
	const both = ": the cluster has it twice: release web, web/templates/all.yaml; release api [FL1508]\n" +
		"    api.cue:7:2: and here\n    hint: leave it out or rename it in all but one\n    in prod/eu\n"
	want := "web.cue:3:1: ClusterRole.rbac.authorization.k8s.io a" + both +
		"web.cue:3:1: HorizontalPodAutoscaler.autoscaling front/a" + both
	if got := faults(t, checked(cluster("1.36"), objs)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Many copies are counted and not listed, and positions are shown once.
func TestManyTimes(t *testing.T) {
	var objs []fleet.Object
	for i := range 40 {
		r := &fleet.Release{Name: fmt.Sprintf("r%d", i), Namespace: "x", Pos: diag.Pos{File: "f.cue", Line: i/2 + 1}}
		objs = append(objs, objects(t, r, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")...)
	}
	list := diag.All(checked(cluster("1.36"), objs))
	if len(list) != 1 {
		t.Fatalf("%d faults", len(list))
	}
	if want := "the cluster has it 40 times: release r0; release r1; release r2; release r3; release r4; 35 more"; list[0].Msg != want {
		t.Errorf("got %q, want %q", list[0].Msg, want)
	}
	if len(list[0].At) != maxPlaces || list[0].At[1].Line != 2 {
		t.Errorf("places: %v", list[0].At)
	}
}

// Faults without a position are distinct, and their order is deterministic.
func TestOrder(t *testing.T) {
	r := &fleet.Release{Name: "web", Namespace: "front"}
	run := func() string {
		var docs []string
		for i := range 20 {
			docs = append(docs, fmt.Sprintf("{apiVersion: example.com/v1, kind: Thing%d, metadata: {name: a}}", i),
				fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}", i/2))
		}
		return faults(t, checked(cluster("1.36"), objects(t, r, strings.Join(docs, "\n---\n"))))
	}
	first := run()
	if n := strings.Count(first, "hint: "); n != 30 {
		t.Errorf("%d faults, want 30:\n%s", n, first)
	}
	again := []string{run(), run(), run()}
	if slices.ContainsFunc(again, func(s string) bool { return s != first }) {
		t.Errorf("the order differs between runs")
	}
}
