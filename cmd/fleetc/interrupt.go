package main

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag/faults"
)

// patience is how long after a signal a command may take to end by itself. What
// evaluates and cannot be stopped, such as CUE or a read of the terminal, takes longer.
const patience = 1500 * time.Millisecond

// errInterrupted is the error of a command that a signal ended.
var errInterrupted = errors.New("interrupted")

// An exit ends the process when a command does not end after a signal.
type exit struct {
	undoes atomic.Bool // whether the command undoes what it began, which takes its time
	cancel func()      // there is nothing to end any more
}

type exitKey struct{}

// withExit returns a context with an exit, whose patience begins when ctx ends, and
// which calls end when it is over.
func withExit(ctx context.Context, end func(status int)) (context.Context, *exit) {
	e := &exit{}
	done := make(chan struct{})
	stderr := os.Stderr // which is silenced at times
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(patience):
			if !e.undoes.Load() {
				r := faults.Report{Err: errInterrupted, Version: toolVersion()}
				_ = r.Write(stderr, formatOf(os.Args[1:]))
				end(exitFailed)
			}
		}
	})
	e.cancel = func() {
		stop()
		close(done)
	}
	return context.WithValue(ctx, exitKey{}, e), e
}

// mayUndo returns the context for what writes to clusters. After a signal it undoes
// and records what it began, and ends within limits of its own.
func mayUndo(ctx context.Context) context.Context {
	if e, ok := ctx.Value(exitKey{}).(*exit); ok {
		e.undoes.Store(true)
	}
	return ctx
}
