package health

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// DefaultGrace is how long something is waited for whose status says nothing.
const DefaultGrace = 20 * time.Second

// Waiting says how long objects are waited for.
type Waiting struct {
	Rules   *Rules
	Timeout time.Duration // of an object for which no rule says another; 0 for ever
	Grace   time.Duration // until an object of state Unknown is taken as ready; 0 for DefaultGrace
}

// Observed is a declared object, and what the cluster has of it.
type Observed struct {
	Declared fleet.Object
	Live     *unstructured.Unstructured // nil when it does not exist
}

// A Result is the verdict on an object.
type Result struct {
	Observed
	Verdict
}

// Progress is how far some objects are, each in the order in which they were
// given.
type Progress struct {
	Ready   []Result
	Pending []Result
	Failed  []Result // and those that are out of time, with the state that they were in
}

// Done reports whether all objects are ready.
func (p Progress) Done() bool { return len(p.Pending) == 0 && len(p.Failed) == 0 }

// Step judges objects that have been waited for since elapsed. It is to be
// called again, with objects as they are then, while something is pending.
func (w *Waiting) Step(elapsed time.Duration, objects []Observed) Progress {
	var p Progress
	for _, o := range objects {
		live := fleet.Object{Unstructured: o.Live, Release: o.Declared.Release}
		r := Result{o, w.verdict(elapsed, o, live)}
		timeout, found := w.Rules.Timeout(o.Declared)
		if !found {
			timeout = w.Timeout
		}
		switch {
		case r.State == Ready:
			p.Ready = append(p.Ready, r)
		case r.State == Failed:
			p.Failed = append(p.Failed, r)
		case timeout > 0 && elapsed >= timeout:
			r.Reason += fmt.Sprintf(", after %s", timeout)
			p.Failed = append(p.Failed, r)
		default:
			p.Pending = append(p.Pending, r)
		}
	}
	return p
}

func (w *Waiting) verdict(elapsed time.Duration, o Observed, live fleet.Object) Verdict {
	v := w.Rules.Judge(live)
	switch {
	case v.State == Unknown && elapsed >= cmp.Or(w.Grace, DefaultGrace):
		return Verdict{Ready, v.Reason + ", and it is not waited for any longer"}
	case v.State == Missing && o.Declared.Unstructured != nil && DeletesItself(o.Declared.Unstructured):
		return Verdict{Ready, "it is gone, as its ttlSecondsAfterFinished says"}
	}
	return v
}

// DeletesItself reports whether an object is a Job that is deleted once it has
// ended, by its ttlSecondsAfterFinished.
func DeletesItself(u *unstructured.Unstructured) bool {
	_, ttl := whole(at(u, "spec", "ttlSecondsAfterFinished"))
	return ttl && u.GroupVersionKind().GroupKind().String() == "Job.batch"
}
