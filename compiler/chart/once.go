package chart

import (
	"context"
	"sync"
)

// once does the work for a key one time and hands the result to everybody who
// asks for it. The zero value is ready for use.
type once[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V]
}

type call[V any] struct {
	done  chan struct{} // closed when val, err and again are set
	val   V
	err   error
	again bool // the caller that did the work went away: its error is not the answer
}

// do returns the result of work for the key, and waits for it no longer than
// ctx allows. Errors are kept as well, except those of a caller whose context
// ended: then the next one who waits does the work.
func (o *once[K, V]) do(ctx context.Context, key K, work func() (V, error)) (V, error) {
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

func (o *once[K, V]) run(ctx context.Context, key K, c *call[V], work func() (V, error)) (V, error) {
	// Deferred, so that those who wait go on when work panics.
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
