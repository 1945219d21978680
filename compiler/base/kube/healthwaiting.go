package kube

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// defaultHealthGrace is how long to wait for an object with an inconclusive status.
const defaultHealthGrace = 20 * time.Second

// HealthWaiting has the settings of a wait for objects.
type HealthWaiting struct {
	Rules   *HealthRules
	Timeout time.Duration // of objects whose timeout no rule sets; 0 for none
	Grace   time.Duration // until an Unknown object counts as ready, at most its timeout; 0 for 20 s
}

// ObservedObject is a declared object with its live state.
type ObservedObject struct {
	Declared fleet.Object
	Live     *unstructured.Unstructured // nil when it does not exist
	Existed  bool                       // whether it existed, and nothing has seen it end since
}

// A JudgedObject is an object with its verdict.
type JudgedObject struct {
	ObservedObject
	HealthVerdict
}

// HealthProgress is the state of some objects, in the order of the input.
type HealthProgress struct {
	Ready   []JudgedObject
	Pending []JudgedObject
	Failed  []JudgedObject // also objects whose timeout is over, with their last state
}

// Step judges objects after waiting for the elapsed time. Call it again with the
// new live states while objects are pending.
func (w *HealthWaiting) Step(elapsed time.Duration, objects []ObservedObject) HealthProgress {
	var p HealthProgress
	for _, o := range objects {
		live := fleet.Object{Unstructured: o.Live, Release: o.Declared.Release}
		r := JudgedObject{o, w.verdict(o, live)}
		timeout, found := w.Rules.Timeout(o.Declared)
		if !found {
			timeout = w.Timeout
		}
		isOver := timeout > 0 && elapsed >= timeout
		switch {
		case r.State == HealthUnknown && (isOver || elapsed >= cmp.Or(w.Grace, defaultHealthGrace)):
			r.HealthVerdict = HealthVerdict{HealthReady, r.Reason + ", and the grace period is over"}
			p.Ready = append(p.Ready, r)
		case r.State == HealthReady:
			p.Ready = append(p.Ready, r)
		case r.State == HealthFailed:
			p.Failed = append(p.Failed, r)
		case isOver:
			r.Reason += fmt.Sprintf(", after %s", timeout)
			p.Failed = append(p.Failed, r)
		default:
			p.Pending = append(p.Pending, r)
		}
	}
	return p
}

func (w *HealthWaiting) verdict(o ObservedObject, live fleet.Object) HealthVerdict {
	v := w.Rules.Judge(live)
	if v.State == HealthMissing && o.Declared.Unstructured != nil && DeletesItself(o.Declared.Unstructured) {
		if o.Existed {
			return HealthVerdict{HealthFailed, "it was deleted, and whether it succeeded is unknown; another apply runs it again"}
		}
		return HealthVerdict{HealthReady, "it was deleted by its ttlSecondsAfterFinished"}
	}
	return v
}

// DeletesItself reports whether an object is a Job that is deleted after its end by
// its ttlSecondsAfterFinished.
func DeletesItself(u *unstructured.Unstructured) bool {
	_, ttl := asInt(fieldValue(u, "spec", "ttlSecondsAfterFinished"))
	return ttl && u.GroupVersionKind().GroupKind().String() == "Job.batch"
}
