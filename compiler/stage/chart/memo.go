package chart

import (
	"context"
	"sync"
)

// A memo runs the work for a key once and returns the result to all callers. The
// zero value is ready to use.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V]
}

type call[V any] struct {
	done  chan struct{} // closed when val, err and again are set
	val   V
	err   error
	again bool // the context of the caller that ran the work ended, so another caller must run it
}

// do returns the result of work for the key. It stops waiting when ctx ends. It
// caches errors too, unless the context of the caller that ran the work ended. Then
// the next waiting caller runs the work.
func (o *memo[K, V]) do(ctx context.Context, key K, work func() (V, error)) (V, error) {
	for {
		o.mu.Lock()
		c, found := o.calls[key]
		if !found {
			c = &call[V]{done: make(chan struct{}), again: true}
			if o.calls == nil {
				o.calls = map[K]*call[V]{}
			}
			o.calls[key] = c
			o.mu.Unlock()
			return o.run(ctx, key, c, work)
		}
		o.mu.Unlock()
		select {
		case <-c.done:
			if !c.again {
				return c.val, c.err
			}
		case <-ctx.Done():
			var zero V
			return zero, ctx.Err()
		}
	}
}

func (o *memo[K, V]) run(ctx context.Context, key K, c *call[V], work func() (V, error)) (V, error) {
	// Deferred, so that waiting callers continue when work panics.
	defer func() {
		if c.again {
			o.mu.Lock()
			delete(o.calls, key)
			o.mu.Unlock()
		}
		close(c.done)
	}()
	c.val, c.err = work()
	c.again = c.err != nil && ctx.Err() != nil
	return c.val, c.err
}
