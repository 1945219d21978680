package live

import (
	"fmt"
	"time"

	coordination "k8s.io/api/coordination/v1"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A leaseWait follows a lease that another holder may have. It trusts no clock but
// its own: a lease has expired when it was seen unchanged for as long as it lasts.
type leaseWait struct {
	timeout time.Duration // how long a holder that renews the lease is waited for
	began   time.Time

	seen    *coordination.Lease // as it was read last
	first   time.Time           // when it was first read in this state
	renewed bool                // whether it was written since the wait began
}

// see notes the lease as it was read, and reports whether it has another holder than
// before.
func (w *leaseWait) see(current *coordination.Lease, now time.Time) bool {
	holder := holderOf(current)
	if w.seen != nil && sameLease(w.seen, current) {
		return false
	}
	isOther := holder != "" && holder != holderOf(w.seen)
	w.renewed = w.seen != nil
	w.seen, w.first = current, now
	return isOther
}

// isFree reports whether the lease can be taken: it has no holder, or has expired.
func (w *leaseWait) isFree(now time.Time) bool {
	return holderOf(w.seen) == "" || now.Sub(w.first) >= durationOf(w.seen)
}

// isOver reports whether the holder is alive and was waited for long enough.
func (w *leaseWait) isOver(now time.Time) bool {
	return w.renewed && now.Sub(w.began) >= w.timeout
}

// fault says who holds the lease, and how to wait.
func (w *leaseWait) fault() error {
	msg := visible(holderOf(w.seen)) + " applies to this cluster"
	if since := acquired(w.seen); !since.IsZero() {
		msg += ", since " + since.Format(time.RFC3339)
	}
	if w.timeout > 0 {
		return &diag.Diag{Msg: fmt.Sprintf("%s; fleetc has waited for %s", msg, w.timeout), Hint: "wait until that has ended, or pass a longer --lock-timeout"}
	}
	return &diag.Diag{Msg: msg, Hint: "wait until that has ended, or pass --lock-timeout to have fleetc wait"}
}

// acquired returns when the holder of a lease took it, in UTC; zero when the lease
// does not say so.
func acquired(l *coordination.Lease) time.Time {
	if l == nil || l.Spec.AcquireTime == nil {
		return time.Time{}
	}
	return l.Spec.AcquireTime.UTC()
}
