// Package par runs functions: in parallel with results in the order of their inputs,
// once for each key, and within limits of time and memory, for evaluations that cannot
// be stopped from outside, such as CUE's. It also keeps libraries from printing to
// standard error.
package par

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Map calls f for 0 to n-1 in parallel and yields the results in order. At most
// limit results are running or waiting to be yielded, so that memory is bounded
// by limit and not by n. An error is yielded like any result and does not end
// the iteration, except for [diag.ErrRunaway]. When the loop over the results or
// ctx ends, Map cancels the context of f and waits for running calls.
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
				v, err := Recover(func() (T, error) { return f(ctx, i) })
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

// ForEach calls f for 0 to n-1, at most limit calls at a time. The first error cancels the
// context of the other calls. ForEach waits for them and returns that error, or the cause of
// ctx if ctx has ended.
func ForEach(ctx context.Context, limit, n int, f func(ctx context.Context, i int) error) error {
	calls, inner := errgroup.WithContext(ctx)
	calls.SetLimit(limit)
	for i := range n {
		calls.Go(func() error {
			_, err := Recover(func() (struct{}, error) { return struct{}{}, f(inner, i) })
			return err
		})
	}
	err := calls.Wait()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Recover calls f and turns a panic into a fault, so that one input does not end
// the work on the others, and users see no stack trace.
func Recover[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &diag.Diag{Code: diag.CodeBug, Msg: fmt.Sprintf("fleetc has a bug: %v", p), Hint: "report it, with the files that show it"}
		}
	}()
	return f()
}
