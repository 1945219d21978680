package kube

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestStep(t *testing.T) {
	r := mustCompile(t, &fleet.Cluster{Health: []fleet.HealthRule{{Name: "slow", Match: fleet.Selector{Names: []string{"slow"}}, Timeout: 10 * time.Minute}}})
	observed := func(declared, live string) ObservedObject {
		o := ObservedObject{Declared: fleet.Object{Unstructured: parseObject(t, declared)}}
		if live != "" {
			o.Live = parseObject(t, live)
		}
		return o
	}
	same := func(text string) ObservedObject { return observed(text, text) }
	objects := []ObservedObject{
		same("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"),
		same("{apiVersion: apps/v1, kind: Deployment, metadata: {name: slow}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 1}}"),
		same("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 1}}"),
		same("{apiVersion: example.com/v1, kind: Widget, metadata: {name: quiet}}"),
		same("{apiVersion: batch/v1, kind: Job, metadata: {name: bad}, status: {conditions: [{type: Failed, status: 'True', reason: DeadlineExceeded}]}}"),
		observed("{apiVersion: batch/v1, kind: Job, metadata: {name: gone}, spec: {ttlSecondsAfterFinished: 0}}", ""),
		observed("{apiVersion: v1, kind: Secret, metadata: {name: lost}}", ""),
		{Declared: fleet.Object{Unstructured: parseObject(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: unseen}, spec: {ttlSecondsAfterFinished: 0}}")}, Existed: true},
	}
	for _, test := range []struct {
		elapsed, timeout, grace time.Duration
		want                    string
	}{
		{0, 5 * time.Minute, 0, `ready ConfigMap settings: it exists
ready Job.batch gone: it was deleted by its ttlSecondsAfterFinished
pending Deployment.apps slow: 1 of 2 pods exist
pending Deployment.apps web: 1 of 2 pods exist
pending Widget.example.com quiet: it has no status yet
pending Secret lost: it does not exist
failed Job.batch bad: it failed: DeadlineExceeded
failed Job.batch unseen: it was deleted, and whether it succeeded is unknown; another apply runs it again
`},
		{defaultHealthGrace, 5 * time.Minute, 0, `ready ConfigMap settings: it exists
ready Widget.example.com quiet: it has no status yet, and the grace period is over
ready Job.batch gone: it was deleted by its ttlSecondsAfterFinished
pending Deployment.apps slow: 1 of 2 pods exist
pending Deployment.apps web: 1 of 2 pods exist
pending Secret lost: it does not exist
failed Job.batch bad: it failed: DeadlineExceeded
failed Job.batch unseen: it was deleted, and whether it succeeded is unknown; another apply runs it again
`},
		{5 * time.Minute, 5 * time.Minute, time.Hour, `ready ConfigMap settings: it exists
ready Widget.example.com quiet: it has no status yet, and the grace period is over
ready Job.batch gone: it was deleted by its ttlSecondsAfterFinished
pending Deployment.apps slow: 1 of 2 pods exist
failed Deployment.apps web: 1 of 2 pods exist, after 5m0s
failed Job.batch bad: it failed: DeadlineExceeded
failed Secret lost: it does not exist, after 5m0s
failed Job.batch unseen: it was deleted, and whether it succeeded is unknown; another apply runs it again
`},
		{time.Hour, 0, 0, `ready ConfigMap settings: it exists
ready Widget.example.com quiet: it has no status yet, and the grace period is over
ready Job.batch gone: it was deleted by its ttlSecondsAfterFinished
pending Deployment.apps web: 1 of 2 pods exist
pending Secret lost: it does not exist
failed Deployment.apps slow: 1 of 2 pods exist, after 10m0s
failed Job.batch bad: it failed: DeadlineExceeded
failed Job.batch unseen: it was deleted, and whether it succeeded is unknown; another apply runs it again
`},
	} {
		w := HealthWaiting{Rules: r, Timeout: test.timeout, Grace: test.grace}
		p := w.Step(test.elapsed, objects)
		got := ""
		for i, results := range [][]JudgedObject{p.Ready, p.Pending, p.Failed} {
			for _, r := range results {
				got += fmt.Sprintf("%s %s: %s\n", []string{"ready", "pending", "failed"}[i], r.Declared.Title(), r.Reason)
			}
		}
		if got != test.want {
			t.Errorf("after %s:\n%swant\n%s", test.elapsed, got, test.want)
		}
	}
	if p := (&HealthWaiting{}).Step(0, slices.Clone(objects[:1])); len(p.Pending)+len(p.Failed) > 0 {
		t.Errorf("an object that is ready at once is %+v", p)
	}
}
