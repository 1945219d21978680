// Package ordered does the same to many things at a time, and yields what comes out
// in their order.
package ordered

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/fleetc/fleetc/compiler/diag"
)

// Map calls f for 0 to n-1 and yields the results in that order. At most
// limit of them are running or wait to be yielded, so that memory is bounded
// by limit and not by n. An error is yielded like any result; it does not end
// the iteration, unless it is [diag.ErrRunaway]. When the loop over the results ends, or ctx does, no call of
// f is left running; the context that f gets is then cancelled.
func Map[T any](ctx context.Context, limit, n int, f func(ctx context.Context, i int) (T, error)) iter.Seq2[T, error] {
	type result struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		results := make([]chan result, n)
		start := func(i int) {
			results[i] = make(chan result, 1)
			running.Go(func() {
				if err := ctx.Err(); err != nil {
					results[i] <- result{err: err}
					return
				}
				v, err := Sound(func() (T, error) { return f(ctx, i) })
				results[i] <- result{v, err}
			})
		}
		for i := range min(limit, n) {
			start(i)
		}
		for i := range n {
			r := <-results[i]
			results[i] = nil
			if !yield(r.value, r.err) || errors.Is(r.err, diag.ErrRunaway) {
				return
			}
			if next := i + limit; next < n {
				start(next)
			}
		}
	}
}

// Sound calls f, and makes a panic in it a fault: whatever the input is, the
// others are still worked on, and the user sees no stack.
func Sound[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &diag.Diag{Msg: fmt.Sprintf("fleetc has a bug: %v", p), Hint: "report it, with the files that show it"}
		}
	}()
	return f()
}
