package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

const (
	leaseDuration = 15 * time.Second
	leaseRenewal  = 4 * time.Second
	leasePoll     = time.Second
	leaseRelease  = 3 * time.Second // how long an API server that does not answer delays the end
)

// A Lease keeps two applies to the same cluster apart. It is renewed until it is
// released, and expires when its holder dies.
type Lease struct {
	cluster   *Cluster
	namespace string
	name      string
	holder    string
	stop      context.CancelFunc
	stopped   chan struct{}

	mu        sync.Mutex
	lease     *coordination.Lease // last written state
	until     time.Time           // expiry, by the monotonic clock
	wallUntil time.Time           // expiry by the wall clock, which also runs while the machine sleeps
	lost      error
	changed   chan struct{} // closed and replaced at each renewal or loss
}

// AcquireLease takes the lease with the name for a holder, which no other process
// has: it takes a lease of the same holder for one that it wrote itself. It waits
// until the timeout for a holder that renews the lease, and then returns a fault
// that names the holder. It takes an expired lease. It calls waiting with each
// holder and the time of its acquisition. Until the lease is released, every try of
// a write to the cluster requires it.
func (c *Cluster) AcquireLease(ctx context.Context, namespace, name, holder string, timeout time.Duration, waiting func(holder string, since time.Time)) (*Lease, error) {
	l := &Lease{cluster: c, namespace: namespace, name: name, holder: holder, stopped: make(chan struct{}), changed: make(chan struct{})}
	w := leaseWait{timeout: timeout, start: time.Now()}
	for {
		current, err := l.read(ctx)
		if err != nil {
			return nil, err
		}
		if w.observe(current, time.Now()) && holderOf(current) != holder {
			waiting(holderOf(current), acquireTime(current))
		}
		switch {
		case w.isFree(time.Now()), holderOf(current) == holder: // the response to the write was lost
			err := l.write(ctx, current)
			if err == nil {
				background, stop := context.WithCancel(context.WithoutCancel(ctx))
				l.stop, c.guard = stop, l.Check
				go l.renew(background)
				return l, nil
			}
			switch reason := ReasonOf(err); {
			case reason != "" && reason != Moved:
				return nil, fmt.Errorf("write Lease %s/%s: %w", namespace, name, err)
			case reason == "" && !l.mayRetry(err, time.Since(w.start)):
				return nil, err
			}
		case w.hasTimedOut(time.Now()):
			return nil, w.fault()
		}
		if err := par.Pause(ctx, leasePoll); err != nil {
			return nil, err
		}
	}
}

// mayRetry reports whether the lease may be written again after an error, which is
// reported when the writes have failed for some seconds.
func (l *Lease) mayRetry(err error, elapsed time.Duration) bool {
	d, ok := errors.AsType[*diag.Diag](err)
	if !ok || !isRetriable(d.Cause) || elapsed >= l.cluster.retryTimeout {
		return false
	}
	if elapsed >= delayAfter {
		l.cluster.delays.delayed(err.Error())
	}
	return true
}

func holderOf(l *coordination.Lease) string {
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// durationOf returns the duration of a lease, limited to a reasonable value.
func durationOf(l *coordination.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		return min(time.Duration(*s)*time.Second, 4*leaseDuration)
	}
	return leaseDuration
}

// Holder returns the holder of the lease; empty when it is free or has expired.
func (c *Cluster) Holder(ctx context.Context, namespace, name string) (string, error) {
	current, err := (&Lease{cluster: c, namespace: namespace, name: name}).read(ctx)
	if err != nil || holderOf(current) == "" || current.Spec.RenewTime == nil {
		return "", err
	}
	if time.Now().After(current.Spec.RenewTime.Add(durationOf(current))) {
		return "", nil
	}
	return visible(holderOf(current)), nil
}

// read returns the lease, nil when there is none.
func (l *Lease) read(ctx context.Context) (*coordination.Lease, error) {
	current, err := result(ctx, l.cluster.retry, func(ctx context.Context) (*coordination.Lease, error) {
		return l.cluster.leases.Leases(l.namespace).Get(ctx, l.name, metav1.GetOptions{})
	})
	if ReasonOf(err) == NotFound {
		return nil, nil
	}
	return current, err
}

// write takes or renews the lease; current is the stored state.
func (l *Lease) write(ctx context.Context, current *coordination.Lease) error {
	start := time.Now()
	now, seconds := metav1.NewMicroTime(start), int32(leaseDuration/time.Second)
	next := &coordination.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name, Namespace: l.namespace}}
	if current != nil {
		next = current.DeepCopy()
	}
	if holderOf(next) != l.holder {
		next.Spec.AcquireTime = &now
	}
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds, next.Spec.RenewTime = &l.holder, &seconds, &now
	stored, err := l.put(ctx, next)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease, l.until, l.wallUntil = stored, start.Add(leaseDuration), start.Round(0).Add(leaseDuration)
	l.wake()
	return nil
}

// wake wakes goroutines that wait for the lease; the caller holds l.mu.
func (l *Lease) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Lease) put(ctx context.Context, next *coordination.Lease) (*coordination.Lease, error) {
	var stored *coordination.Lease
	err := withTimeout(ctx, leaseDuration/2, func(ctx context.Context) (err error) {
		leases := l.cluster.leases.Leases(l.namespace)
		if next.ResourceVersion == "" {
			stored, err = leases.Create(ctx, next, metav1.CreateOptions{FieldManager: Manager})
		} else {
			stored, err = leases.Update(ctx, next, metav1.UpdateOptions{FieldManager: Manager})
		}
		return err
	})
	return stored, l.cluster.apiError(err)
}

// renew renews the lease until ctx ends. While the API server is unreachable, no
// other process can take the lease, so it stays valid if it is unchanged
// afterwards.
func (l *Lease) renew(ctx context.Context) {
	defer close(l.stopped)
	for par.Pause(ctx, leaseRenewal) == nil {
		l.mu.Lock()
		current := l.lease
		l.mu.Unlock()
		err := l.write(ctx, current)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if reason := ReasonOf(err); reason == Moved || reason == NotFound {
			// The response may have been lost after a successful write.
			now, rerr := l.read(ctx)
			switch {
			case rerr != nil:
				continue
			case holderOf(now) == l.holder:
				l.mu.Lock()
				l.lease = now
				l.mu.Unlock()
				continue
			}
			l.mu.Lock()
			l.lost = &diag.Diag{
				Code: diag.CodeLease,
				Msg:  cmp.Or(visible(holderOf(now)), "another process") + " took the lease of this cluster",
				Hint: "apply again to resume",
			}
			l.wake()
			l.mu.Unlock()
			return
		}
	}
}

// Check waits until the lease is known to be held, which takes time only while the
// API server is unreachable. It returns a fault when the lease was lost.
func (l *Lease) Check(ctx context.Context) error {
	patience := time.After(l.cluster.retryTimeout)
	for {
		l.mu.Lock()
		now := time.Now()
		lost, valid, held := l.lost, now.Before(l.until) && now.Round(0).Before(l.wallUntil), l.changed // each clock alone may mislead
		l.mu.Unlock()
		if lost != nil {
			return lost
		}
		if valid {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-patience:
			return l.cluster.fault(context.DeadlineExceeded)
		case <-held:
		}
	}
}

// Release releases the lease, unless it was lost, and stops renewing it, even if
// ctx has ended. If the API server does not accept that, the lease expires.
func (l *Lease) Release(ctx context.Context) {
	l.cluster.guard = nil
	l.stop()
	<-l.stopped
	if l.lost != nil {
		return
	}
	next := l.lease.DeepCopy()
	holder := ""
	next.Spec.HolderIdentity = &holder
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseRelease)
	defer cancel()
	const tries = 2
	for range tries {
		_, err := l.put(ctx, next)
		if err == nil || ReasonOf(err) != "" { // taken by another process, or deleted
			return
		}
	}
}

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
