package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// exitDelay is how long a command may run after a signal. CUE evaluations and
// reads from the terminal cannot be stopped and may take longer.
const exitDelay = 1500 * time.Millisecond

// errInterrupted is the error of a command that a signal ended.
var errInterrupted error = &diag.Diag{Code: diag.CodeInterrupted, Msg: "interrupted", Hint: "run the command again; an apply continues where it stopped"}

// An exit ends the process if a command does not end after a signal.
type exit struct {
	undoes  atomic.Bool    // whether the command is undoing its work, which takes time
	cancel  func()         // disables the exit
	signals chan os.Signal // receives the signals that end a command
}

type exitKey struct{}

// withExit returns a context that the first signal cancels, with an exit, which
// calls end when the delay after that is over. A second signal ends the process.
func withExit(ctx context.Context, end func(status int)) (context.Context, *exit) {
	e := &exit{signals: make(chan os.Signal, 1)}
	ctx, cancel := context.WithCancel(ctx)
	e.notify()
	go func() {
		<-e.signals
		signal.Stop(e.signals)
		cancel()
	}()
	done := make(chan struct{})
	stderr := os.Stderr // os.Stderr is replaced at times
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(exitDelay):
			if !e.undoes.Load() {
				r := diag.Report{Err: errInterrupted, Version: toolVersion()}
				_ = r.Write(stderr, formatOf(os.Args[1:]))
				end(exitFailed)
			}
		}
	})
	e.cancel = func() {
		stop()
		close(done)
		signal.Stop(e.signals)
		cancel()
	}
	return context.WithValue(ctx, exitKey{}, e), e
}

// notify sends the signals that end a command to e.
func (e *exit) notify() { signal.Notify(e.signals, endSignals()...) }

// endSignals returns the signals that end a command. SIGHUP, which a terminal sends when it
// closes, is not one of them if nohup ignores it.
func endSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// endAtOnce lets the next signal end the process at once, and not by its own code: an
// evaluation that takes much memory can delay that code.
func (e *exit) endAtOnce() {
	if !e.undoes.Load() {
		signal.Stop(e.signals)
	}
}

// mayUndo returns the context for commands that write to clusters, and for servers. After
// a signal they undo and record their work, or remove their files, within their own time
// limits.
func mayUndo(ctx context.Context) context.Context {
	if e, ok := ctx.Value(exitKey{}).(*exit); ok {
		e.undoes.Store(true)
		if ctx.Err() == nil {
			e.notify() // see endAtOnce
		}
	}
	return ctx
}
