package par

import (
	"cmp"
	"context"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Limits bound one evaluation. A zero field means the default.
type Limits struct {
	Time   time.Duration
	Memory uint64 // heap bytes beyond those in use at the start

	// Grows is called when an evaluation has taken a quarter of the memory; may be nil.
	// The process may be unable to run goroutines afterwards: a copy of a large value
	// cannot be interrupted, and delays all of them during a garbage collection.
	Grows func()
}

// The default limits. The evaluation of a large cluster needs a hundredth of
// each.
const (
	DefaultTime   = time.Minute
	DefaultMemory = 1 << 30
)

const (
	garbage  = 3                      // allocations may reach this multiple of the memory in use
	maxStack = 128 << 20              // bytes of all stacks; Go ends the process at 512 MiB for one
	glance   = 20 * time.Millisecond  // how often memory is measured
	grace    = 500 * time.Millisecond // time to end for evaluations that do not grow themselves
)

// An Excess is the error of an evaluation that exceeded a limit. The
// evaluation continues in the background, see [diag.ErrRunaway], which it
// wraps.
type Excess struct {
	Of  Resource
	Msg string // a clause after the name of the evaluation: "takes longer than 1m0s"
}

// A Resource is a limited resource of an evaluation.
type Resource int

// The resources.
const (
	Time Resource = iota
	Memory
	Depth
)

// Error returns the exceeded limit.
func (e *Excess) Error() string { return "the evaluation " + e.Msg }

// Unwrap returns [diag.ErrRunaway].
func (e *Excess) Unwrap() error { return diag.ErrRunaway }

// RunLimited calls f in a new goroutine and returns its result. When ctx ends or a
// limit is exceeded, RunLimited returns at once and f continues in the background, so
// f must not modify data that its caller uses afterwards. RunLimited panics if f
// does.
func RunLimited[T any](ctx context.Context, l Limits, f func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, context.Cause(ctx)
	}
	l.Time, l.Memory = cmp.Or(l.Time, DefaultTime), cmp.Or(l.Memory, DefaultMemory)
	type result struct {
		value    T
		err      error
		panicked any
		whole    bool // whether f returned
	}
	done := make(chan result, 1)
	before := Measure()
	go func() {
		var r result
		defer func() {
			if !r.whole {
				r.panicked = recover()
			}
			done <- r
		}()
		r.value, r.err = f()
		r.whole = true
	}()
	deadline, tick := time.NewTimer(l.Time), time.NewTicker(glance)
	defer deadline.Stop()
	defer tick.Stop()
	var since time.Time // when memory use exceeded the limit
	grows := l.Grows
	for {
		select {
		case r := <-done:
			if !r.whole {
				panic(r.panicked)
			}
			return r.value, r.err
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-deadline.C:
			return none, &Excess{Time, "takes longer than " + l.Time.String()}
		case now := <-tick.C:
			u := Measure()
			if grows != nil && u.Exceeds(before, l.Memory/4) {
				grows()
				grows = nil
			}
			switch {
			case u.Stacks > before.Stacks+maxStack:
				return none, &Excess{Depth, "is nested too deeply: a value refers to itself without end"}
			case !u.Exceeds(before, l.Memory):
				since = time.Time{}
			case since.IsZero():
				since = now
			case now.Sub(since) > grace || u.Exceeds(before, 2*l.Memory):
				return none, &Excess{Memory, fmt.Sprintf("takes more than %d MiB of memory", l.Memory>>20)}
			}
		}
	}
}

// A Usage is the memory use of the process.
type Usage struct {
	Live      uint64 // bytes in use after the last garbage collection
	Allocated uint64 // bytes of objects, including garbage
	Stacks    uint64 // bytes of the stacks of all goroutines
}

// Measure measures the memory of the process. It takes a microsecond.
func Measure() Usage {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return Usage{s[0].Value.Uint64(), s[1].Value.Uint64(), s[2].Value.Uint64()}
}

// Exceeds reports whether the memory has grown by more than limit bytes. The
// memory in use is only known after a garbage collection, which is too late
// for fast growth, so allocated bytes are compared as well. A healthy process
// has up to twice as many.
func (u Usage) Exceeds(before Usage, bytes uint64) bool {
	return u.Live > before.Live+bytes || u.Allocated > before.Allocated+garbage*bytes
}

// Pause waits, unless the context ends first, and returns why it has ended.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
