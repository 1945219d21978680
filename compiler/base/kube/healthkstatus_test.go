package kube

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Verdicts agree with those of kstatus, which Flux uses, for random realistic
// statuses. The samples leave out intended differences: paused Deployments, manual
// updates, Jobs, Pods, claims, load balancers, and objects without a status.
func TestAgreesWithKstatus(t *testing.T) {
	states := map[status.Status]HealthState{status.CurrentStatus: HealthReady, status.InProgressStatus: HealthInProgress, status.FailedStatus: HealthFailed, status.TerminatingStatus: HealthTerminating}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CustomResourceDefinition", "Widget"} {
		seen := map[HealthState]int{}
		for seed := range uint64(4000) {
			u := random(rand.New(rand.NewPCG(seed, 7)), kind)
			want, err := status.Compute(u)
			if err != nil {
				t.Fatal(err)
			}
			got := (*HealthRules)(nil).Judge(fleet.Object{Unstructured: u})
			if got.State == HealthUnknown {
				got.State = HealthReady // after the grace period
			}
			if got.State != states[want.Status] {
				t.Fatalf("%s, seed %d: %v, and kstatus says %s: %s\n%v", kind, seed, got, want.Status, want.Message, u.Object)
			}
			seen[got.State]++
		}
		for _, s := range []HealthState{HealthReady, HealthInProgress, HealthTerminating} {
			if seen[s] == 0 {
				t.Errorf("%s: none is %s", kind, s)
			}
		}
	}
}

// random returns an object with a consistent status.
func random(r *rand.Rand, kind string) *unstructured.Unstructured {
	few := func() int64 { return r.Int64N(4) }
	meta := map[string]any{"name": "x", "generation": 1 + r.Int64N(2)}
	if r.IntN(20) == 0 {
		meta["deletionTimestamp"] = "2026-11-20T10:00:00Z"
	}
	spec, st := map[string]any{}, map[string]any{"observedGeneration": 1 + r.Int64N(2)}
	o := map[string]any{"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec, "status": st}
	conditions := []any{}
	add := func(kind, status, reason string) {
		conditions = append(conditions, map[string]any{"type": kind, "status": status, "reason": reason, "message": "m"})
	}
	truth := func() string { return []string{"True", "False", "Unknown"}[r.IntN(3)] }
	want := few()
	spec["replicas"] = want
	// Half of the objects are complete, which random values rarely produce.
	some := func(most int64) int64 {
		if r.IntN(4) > 0 {
			return most
		}
		return r.Int64N(most + 1)
	}
	exist := some(want) + max(0, few()-2)
	updated := some(min(exist, want))
	ready := some(exist)
	available := some(ready)
	switch kind {
	case "Deployment":
		for k, v := range map[string]int64{"replicas": exist, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": available} {
			st[k] = v
		}
		spec["progressDeadlineSeconds"] = int64(600)
		done := exist == want && updated == want && available >= want
		switch {
		case done:
			add("Progressing", "True", "NewReplicaSetAvailable")
		case r.IntN(3) == 0:
			add("Progressing", "False", "ProgressDeadlineExceeded")
		default:
			add("Progressing", "True", "ReplicaSetUpdated")
		}
		add("Available", map[bool]string{true: "True", false: "False"}[available >= want], "r")
	case "StatefulSet":
		available = ready // kstatus ignores it
		for k, v := range map[string]int64{"replicas": exist, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": available} {
			st[k] = v
		}
		spec["updateStrategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": r.Int64N(3)}}
	case "DaemonSet":
		exist = min(exist, want)
		for k, v := range map[string]int64{"desiredNumberScheduled": want, "currentNumberScheduled": exist, "updatedNumberScheduled": updated, "numberReady": ready, "numberAvailable": available} {
			st[k] = v
		}
	case "ReplicaSet":
		for k, v := range map[string]int64{"replicas": exist, "fullyLabeledReplicas": exist, "readyReplicas": ready, "availableReplicas": available} {
			st[k] = v
		}
	case "CustomResourceDefinition":
		o["apiVersion"] = "apiextensions.k8s.io/v1"
		add("NamesAccepted", truth(), "r")
		add("Established", truth(), []string{"Installing", "NotAccepted"}[r.IntN(2)])
		delete(st, "observedGeneration")
	default:
		o["apiVersion"] = "example.com/v1"
		for _, c := range []string{"Ready", []string{"Stalled", "Reconciling"}[r.IntN(2)], "Synced"} {
			if r.IntN(2) == 0 {
				add(c, truth(), fmt.Sprint("r", few()))
			}
		}
	}
	if kind == "Widget" { // for custom resources, kstatus takes the first conclusive condition
		r.Shuffle(len(conditions), func(i, j int) { conditions[i], conditions[j] = conditions[j], conditions[i] })
	}
	if len(conditions) > 0 {
		st["conditions"] = conditions
	}
	return &unstructured.Unstructured{Object: o}
}
