package cluster

import (
	"fmt"
	"time"

	coordination "k8s.io/api/coordination/v1"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A leaseWait waits for a lease of another holder. It uses only the local clock: a
// lease has expired when it stays unchanged for its duration.
type leaseWait struct {
	timeout time.Duration // how long to wait for a holder that renews the lease
	start   time.Time

	current   *coordination.Lease // last state that was read
	firstSeen time.Time           // when that state was first read
	renewed   bool                // written since the wait started
}

// observe updates the state, and reports whether the lease has a new holder.
func (w *leaseWait) observe(current *coordination.Lease, now time.Time) bool {
	holder := holderOf(current)
	if w.current != nil && current != nil && w.current.UID == current.UID && w.current.ResourceVersion == current.ResourceVersion {
		return false
	}
	isOther := holder != "" && holder != holderOf(w.current)
	w.renewed = w.current != nil
	w.current, w.firstSeen = current, now
	return isOther
}

// isFree reports whether the lease has no holder or has expired.
func (w *leaseWait) isFree(now time.Time) bool {
	return holderOf(w.current) == "" || now.Sub(w.firstSeen) >= durationOf(w.current)
}

// hasTimedOut reports whether the holder renews the lease and the timeout is over.
func (w *leaseWait) hasTimedOut(now time.Time) bool {
	return w.renewed && now.Sub(w.start) >= w.timeout
}

// fault returns the fault of a lease that another process holds.
func (w *leaseWait) fault() error {
	msg := visible(holderOf(w.current)) + " is applying to this cluster"
	if since := acquireTime(w.current); !since.IsZero() {
		msg += ", since " + since.Format(time.RFC3339)
	}
	if w.timeout > 0 {
		return &diag.Diag{Code: diag.CodeLease, Msg: fmt.Sprintf("%s; fleetc has waited for %s", msg, w.timeout), Hint: "wait until it has ended, or pass a longer --lock-timeout"}
	}
	return &diag.Diag{Code: diag.CodeLease, Msg: msg, Hint: "wait until it has ended, or pass --lock-timeout to make fleetc wait"}
}

// acquireTime returns when the holder took the lease, in UTC; zero when unknown.
func acquireTime(l *coordination.Lease) time.Time {
	if l == nil || l.Spec.AcquireTime == nil {
		return time.Time{}
	}
	return l.Spec.AcquireTime.UTC()
}
