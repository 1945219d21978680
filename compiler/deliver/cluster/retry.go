package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// retry sends an idempotent request until it succeeds, fails for good, or the
// cluster's retry timeout ends. It returns errors of apiError.
func (c *Cluster) retry(ctx context.Context, request func(ctx context.Context) error) error {
	return c.retryIf(ctx, noCheck, request, isRetriable)
}

// write is retry for a request that changes something: each try requires the lease.
func (c *Cluster) write(ctx context.Context, request func(ctx context.Context) error) error {
	return c.retryIf(ctx, c.checkLease, request, isRetriable)
}

// checkLease returns a fault when the acquired lease was lost.
func (c *Cluster) checkLease(ctx context.Context) error {
	if c.guard == nil {
		return nil
	}
	return c.guard(ctx)
}

// noCheck is the check before requests that change nothing.
func noCheck(context.Context) error { return nil }

// retryQuery is retry for dry runs: it returns the error of a webhook that does not
// answer at once.
func (c *Cluster) retryQuery(ctx context.Context, request func(ctx context.Context) error) error {
	return c.retryIf(ctx, noCheck, request, func(err error) bool {
		var status apierrors.APIStatus
		return isRetriable(err) && !(errors.As(err, &status) && isWebhook(status.Status().Message))
	})
}

// A sender sends a request until it succeeds: [Cluster.retry], [Cluster.write] or
// [Cluster.retryQuery].
type sender func(ctx context.Context, request func(ctx context.Context) error) error

// result returns the result of a request that send sends.
func result[T any](ctx context.Context, send sender, request func(ctx context.Context) (T, error)) (T, error) {
	var out T
	err := send(ctx, func(ctx context.Context) (err error) {
		out, err = request(ctx)
		return err
	})
	return out, err
}

// retryIf sends a request until it succeeds, as long as before returns nil and
// again returns true for the error.
func (c *Cluster) retryIf(ctx context.Context, before, request func(ctx context.Context) error, again func(error) bool) error {
	var end <-chan time.Time
	var last atomic.Pointer[error]
	delayed := time.AfterFunc(delayAfter, func() { c.delays.delayed(c.delayReason(last.Load())) })
	defer delayed.Stop()
	pause := firstPause
	for {
		if err := before(ctx); err != nil {
			return err
		}
		err := withTimeout(ctx, requestTimeout, request)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			return nil
		case !again(err):
			return c.apiError(err)
		}
		last.Store(&err)
		if end == nil {
			end = time.After(c.retryTimeout)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return c.apiError(err)
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// delayReason says why a request takes long: because of the error of its last try, or
// because the first one has no response yet, with nil.
func (c *Cluster) delayReason(last *error) string {
	if last == nil {
		return c.fault(context.DeadlineExceeded).Error()
	}
	return c.apiError(*last).Error()
}

// withTimeout calls f with a timeout.
func withTimeout(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// delayAfter is how long a request may take before the delay is reported.
const delayAfter = 5 * time.Second

// delayReports reports why requests are retried, each reason once.
type delayReports struct {
	mu       sync.Mutex
	report   func(reason string) // may be nil
	reported map[string]bool
}

// OnDelay sets a function that is called with the reason when a request takes some
// seconds, with its retries: the API server is unreachable, or a webhook does not
// answer. Each reason is reported once. Calls are not concurrent.
func (c *Cluster) OnDelay(f func(reason string)) {
	c.delays.mu.Lock()
	defer c.delays.mu.Unlock()
	c.delays.report, c.delays.reported = f, map[string]bool{}
}

func (d *delayReports) delayed(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.report != nil && !d.reported[reason] {
		d.reported[reason] = true
		d.report(reason)
	}
}
