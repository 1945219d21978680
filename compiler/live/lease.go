package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetc/fleetc/compiler/diag"
)

const (
	leaseDuration = 15 * time.Second
	leaseRenewal  = 4 * time.Second
	leasePoll     = time.Second
)

// A Lease keeps others from working on the same cluster. It is renewed until
// it is released. When its holder dies, it expires.
type Lease struct {
	cluster   *Cluster
	namespace string
	name      string
	holder    string
	stop      context.CancelFunc
	stopped   chan struct{}

	mu    sync.Mutex
	lease *coordination.Lease // as it was written last
	until time.Time           // when others may take it
	wall  time.Time           // the same by the clock on the wall, which goes on while a machine sleeps
	lost  error
	held  chan struct{} // closed, and made anew, at each renewal or loss
}

func alreadyExists(err error) bool { return err != nil && apierrors.IsAlreadyExists(err) }

// Hold takes the lease of the name for a holder, such as user@host (pid 1). One
// whose holder renews it is waited for until the timeout ends, and is then a fault
// that names the holder; the lease of a holder that died is taken when it was not
// renewed for as long as it says. waiting is told who holds the lease, and since
// when. Until it is released, nothing is written to the cluster, however often a
// write is tried, without it.
func (c *Cluster) Hold(ctx context.Context, namespace, name, holder string, timeout time.Duration, waiting func(holder string, since time.Time)) (*Lease, error) {
	l := &Lease{cluster: c, namespace: namespace, name: name, holder: holder, stopped: make(chan struct{}), held: make(chan struct{})}
	w := leaseWait{timeout: timeout, began: time.Now()}
	for {
		current, err := l.read(ctx)
		if err != nil {
			return nil, err
		}
		if w.see(current, time.Now()) {
			waiting(holderOf(current), acquired(current))
		}
		switch {
		case w.isFree(time.Now()):
			err := l.write(ctx, current)
			if err == nil {
				background, stop := context.WithCancel(context.WithoutCancel(ctx))
				l.stop, c.guard = stop, l.Check
				go l.renew(background)
				return l, nil
			}
			if ReasonOf(err) != Moved {
				return nil, err
			}
		case w.isOver(time.Now()):
			return nil, w.fault()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(leasePoll):
		}
	}
}

func holderOf(l *coordination.Lease) string {
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// durationOf is how long a lease that is not renewed lasts, of which no more
// is believed than is reasonable.
func durationOf(l *coordination.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		return min(time.Duration(*s)*time.Second, 4*leaseDuration)
	}
	return leaseDuration
}

func sameLease(a, b *coordination.Lease) bool {
	return a != nil && b != nil && a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
}

// Holder returns who holds the lease of the name now; empty when nobody does,
// or whoever did has not renewed it in time.
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
	var current *coordination.Lease
	err := l.cluster.do(ctx, func(ctx context.Context) error {
		var err error
		current, err = l.cluster.leases.Leases(l.namespace).Get(ctx, l.name, metav1.GetOptions{})
		return err
	})
	if ReasonOf(err) == NotFound {
		return nil, nil
	}
	return current, err
}

// write takes or renews the lease, of which current is what is stored.
func (l *Lease) write(ctx context.Context, current *coordination.Lease) error {
	began := time.Now()
	now, seconds := metav1.NewMicroTime(began), int32(leaseDuration/time.Second)
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
	l.lease, l.until, l.wall = stored, began.Add(leaseDuration), began.Round(0).Add(leaseDuration)
	l.tell()
	return nil
}

// tell wakes those who wait for the lease; l.mu is held.
func (l *Lease) tell() {
	close(l.held)
	l.held = make(chan struct{})
}

func (l *Lease) put(ctx context.Context, next *coordination.Lease) (*coordination.Lease, error) {
	var stored *coordination.Lease
	err := within(ctx, leaseDuration/2, func(ctx context.Context) error {
		var err error
		leases := l.cluster.leases.Leases(l.namespace)
		if next.ResourceVersion == "" {
			stored, err = leases.Create(ctx, next, metav1.CreateOptions{FieldManager: Manager})
		} else {
			stored, err = leases.Update(ctx, next, metav1.UpdateOptions{FieldManager: Manager})
		}
		return err
	})
	if alreadyExists(err) {
		return nil, &Error{Reason: Moved, Message: "another was faster"}
	}
	return stored, l.cluster.answer(err)
}

// renew renews the lease until ctx ends. While the API server is away nobody
// else can take it either: what counts is that it is still ours afterwards.
func (l *Lease) renew(ctx context.Context) {
	defer close(l.stopped)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(leaseRenewal):
		}
		l.mu.Lock()
		current := l.lease
		l.mu.Unlock()
		err := l.write(ctx, current)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if reason := ReasonOf(err); reason == Moved || reason == NotFound {
			// An answer may have been lost on its way: then it is ours.
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
				Msg:  fmt.Sprintf("the lease of this cluster went to %s", cmp.Or(visible(holderOf(now)), "nobody")),
				Hint: "apply again: it goes on where this one stopped",
			}
			l.tell()
			l.mu.Unlock()
			return
		}
	}
}

// Check returns nil as soon as the lease is known to be held, which is at once
// unless the API server is away. It returns a fault when it was lost.
func (l *Lease) Check(ctx context.Context) error {
	patience := time.After(l.cluster.patience)
	for {
		l.mu.Lock()
		now := time.Now()
		lost, valid, held := l.lost, now.Before(l.until) && now.Round(0).Before(l.wall), l.held // neither clock is to be trusted alone
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

// Release gives the lease back, unless it was lost, and stops renewing it. It
// does so although ctx may have ended.
func (l *Lease) Release(ctx context.Context) error {
	l.cluster.guard = nil
	l.stop()
	<-l.stopped
	if l.lost != nil {
		return nil
	}
	next := l.lease.DeepCopy()
	nobody := ""
	next.Spec.HolderIdentity = &nobody
	_, err := l.put(context.WithoutCancel(ctx), next)
	var e *Error
	if errors.As(err, &e) {
		return nil // it is another's, or gone
	}
	return err
}
