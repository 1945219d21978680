package live

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// do sends a request that can be repeated without harm, until it is answered
// or the cluster's patience ends. What it returns went through answer.
func (c *Cluster) do(ctx context.Context, request func(ctx context.Context) error) error {
	return c.patiently(ctx, unguarded, request, retriable)
}

// write is do for a request that changes something: before each try, the lease
// that is held must still be.
func (c *Cluster) write(ctx context.Context, request func(ctx context.Context) error) error {
	return c.patiently(ctx, c.guarded, request, retriable)
}

// guarded returns a fault when the lease that was taken is no longer held.
func (c *Cluster) guarded(ctx context.Context) error {
	if c.guard == nil {
		return nil
	}
	return c.guard(ctx)
}

// unguarded is for requests that change nothing.
func unguarded(context.Context) error { return nil }

// ask is do for a request that only asks: a webhook that does not answer is an
// answer.
func (c *Cluster) ask(ctx context.Context, request func(ctx context.Context) error) error {
	return c.patiently(ctx, unguarded, request, func(err error) bool {
		var status apierrors.APIStatus
		return retriable(err) && !(errors.As(err, &status) && isWebhook(status.Status().Message))
	})
}

// patiently sends a request again and again, as long as before returns nil and an
// error says that another try may help.
func (c *Cluster) patiently(ctx context.Context, before, request func(ctx context.Context) error, again func(error) bool) error {
	var end <-chan time.Time
	pause := firstPause
	for try := 1; ; try++ {
		if err := before(ctx); err != nil {
			return err
		}
		err := within(ctx, requestTimeout, request)
		if err == nil || ctx.Err() != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return nil
		}
		if !again(err) {
			return c.answer(err)
		}
		if try == delayAfter {
			c.delays.note(c.answer(err).Error())
		}
		if end == nil {
			end = time.After(c.patience)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return c.answer(err)
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// within calls f with a limit on its time. The client library logs nothing: its
// errors are returned, and standard error is for people.
func within(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(quiet(ctx), limit)
	defer cancel()
	return f(ctx)
}

// quiet returns a context whose logger drops everything.
func quiet(ctx context.Context) context.Context { return logr.NewContext(ctx, logr.Discard()) }
