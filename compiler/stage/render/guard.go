package render

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// limits bound one rendering of a chart. A step is roughly 50 nanoseconds of
// work on a common machine.
type limits struct {
	steps  int
	made   int // bytes of all function results
	output int // bytes of all files together
}

// The default limits. The largest public charts need less than a twentieth of
// each. maxWall only catches wrong step costs.
const (
	maxSteps  = 100_000_000
	maxMade   = 1 << 30
	maxOutput = 64 << 20
	maxValue  = 64 << 20 // bytes of one value as text
	maxDepth  = 40_000   // of nested templates, in units of [cost.depth]
	maxNested = 1_000    // of nested maps and lists
	maxWall   = 2 * time.Minute
)

// Costs of calls that are more expensive than an action, in steps.
const (
	passSteps = 8  // of a range, before its first action
	callSteps = 40 // of include and tpl
)

// stopError is the error of a rendering that its guard stopped. Templates do
// not add their names to it.
type stopError struct{ reason error }

func (s *stopError) Error() string { return s.reason.Error() }
func (s *stopError) Unwrap() error { return s.reason }

// errTooLong is the cause of a context that ended because a chart took too
// long.
var errTooLong = errors.New("templates take too long")

// A guard limits one rendering. It counts the work of templates and stops them
// when a limit is exceeded or the context ends. The counts depend only on the
// chart and its values. A guard is used by one goroutine.
type guard struct {
	ctx              context.Context
	limit            limits
	left             limits
	nextCheck        int // check the context when this many steps are left
	depth            int
	nondeterministic bool       // whether a called function is nondeterministic
	stopErr          *stopError // set when the rendering must stop
	stoppedAt        string     // the template position of the stop
}

func newGuard(ctx context.Context, limit limits) *guard {
	return &guard{ctx: ctx, limit: limit, left: limit, nextCheck: limit.steps}
}

// stop ends the rendering. It panics, and text/template converts the panic to
// an error with the position of the call.
func (g *guard) stop(format string, args ...any) {
	panic(g.halt(fmt.Errorf(format, args...)))
}

func (g *guard) halt(reason error) error {
	if g.stopErr == nil {
		g.stopErr = &stopError{reason}
	}
	return g.stopErr
}

// spend counts steps.
func (g *guard) spend(n int) {
	if err := g.trySpend(n); err != nil {
		panic(err)
	}
}

func (g *guard) trySpend(n int) error {
	const lookEvery = 4096
	if g.stopErr != nil {
		return g.stopErr
	}
	if n < 0 || n > g.left.steps {
		return g.halt(errors.New("templates need too many steps; a loop may be endless"))
	}
	g.left.steps -= n
	if g.left.steps <= g.nextCheck {
		g.nextCheck = g.left.steps - lookEvery
		if g.ctx.Err() != nil {
			return g.halt(context.Cause(g.ctx))
		}
	}
	return nil
}

// take counts the cost of a cached page.
func (g *guard) take(l limits) error {
	if g.left.made -= l.made; g.left.made < 0 {
		return errCacheUnusable
	}
	if g.left.output -= l.output; g.left.output < 0 {
		return errCacheUnusable
	}
	return g.trySpend(l.steps)
}

// errCacheUnusable ends a rendering that uses the cache. The rendering is
// repeated without the cache, which reports the error at its position.
var errCacheUnusable = errors.New("too much")

// allocate counts the bytes of a function's result.
func (g *guard) allocate(n int) {
	if n < 0 || n > g.left.made {
		g.stop("templates produce more than %d MiB of text and lists", g.limit.made>>20)
	}
	g.left.made -= n
	g.spend(1 + n/64)
}

// text counts a string that a function returns.
func (g *guard) text(s string) string {
	g.allocate(len(s))
	return s
}

// checkSize ends the rendering when a value of count times size bytes is too
// large.
func (g *guard) checkSize(count, size int) {
	if count > 0 && size > 0 && count > maxValue/size {
		g.stop("templates produce a value of more than %d MiB", maxValue>>20)
	}
}

// tryEnter counts the start of a template, and leave its end.
func (g *guard) tryEnter(c cost) error {
	if g.depth += c.depth; g.depth > maxDepth {
		return g.halt(errors.New("templates include each other endlessly"))
	}
	return g.trySpend(c.steps)
}

func (g *guard) enter(c cost) {
	if err := g.tryEnter(c); err != nil {
		panic(err)
	}
}

func (g *guard) leave(c cost) { g.depth -= c.depth }

// weigh returns the size of a value in bytes. It counts a step per element,
// and ends the rendering when the value is too large to be written as text or
// contains itself.
func (g *guard) weigh(v any) int {
	n := g.size(v, 0)
	if n > maxValue {
		g.checkSize(1, n)
	}
	g.spend(n / 64)
	return n
}

func (g *guard) size(v any, depth int) int {
	const element = 8
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return element
	case string:
		return element + len(v)
	case map[string]any:
		n := g.nest(len(v), depth)
		for k, e := range v {
			n += len(k) + g.size(e, depth+1)
			g.checkSize(1, n)
		}
		return n
	case []any:
		n := g.nest(len(v), depth)
		for _, e := range v {
			n += g.size(e, depth+1)
			g.checkSize(1, n)
		}
		return n
	case reflect.Value:
		return g.sizeOf(v, depth)
	case time.Time:
		return 64
	}
	return g.sizeOf(reflect.ValueOf(v), depth)
}

// nest counts a map or a list. Its elements are indented when they are
// written.
func (g *guard) nest(elements, depth int) int {
	if depth > maxNested {
		g.stop("templates write a value that contains itself")
	}
	g.spend(1 + elements)
	return (1 + elements) * (8 + 2*depth)
}

// sizeOf is size for all other types.
func (g *guard) sizeOf(v reflect.Value, depth int) int {
	switch v.Kind() {
	case reflect.String:
		return 8 + v.Len()
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return 8
		}
		if v.Kind() == reflect.Pointer && depth > 0 {
			g.nondeterministic = true // it may be printed as an address
		}
		n := g.nest(1, depth)
		return n + g.sizeOf(v.Elem(), depth+1)
	case reflect.Map:
		n := g.nest(v.Len(), depth)
		for it := v.MapRange(); it.Next(); {
			n += g.sizeOf(it.Key(), depth+1) + g.sizeOf(it.Value(), depth+1)
			g.checkSize(1, n)
		}
		return n
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k <= reflect.Complex128 {
			return 8 + 8*v.Len()
		}
		n := g.nest(v.Len(), depth)
		for i := range v.Len() {
			n += g.sizeOf(v.Index(i), depth+1)
			g.checkSize(1, n)
		}
		return n
	case reflect.Struct:
		n := g.nest(v.NumField(), depth)
		for i := range v.NumField() {
			n += g.sizeOf(v.Field(i), depth+1)
		}
		return n
	}
	return 8
}

// count returns how many numbers untilStep returns, and ends the rendering
// when there are too many. It limits the arguments so that sums cannot
// overflow.
func (g *guard) count(start, stop, step int) int {
	const far = math.MaxInt / 4
	for _, n := range []int{start, stop, step} {
		if n > far || n < -far {
			g.stop("templates count to %d", n)
		}
	}
	if step == 0 || (stop > start) != (step > 0) {
		return 0
	}
	n := (stop-start)/step + 1
	g.checkSize(n, 8)
	return n
}

// A counter appends the output of a template to the engine's buffer.
type counter struct {
	*engine
	start int  // where the template's output starts in the buffer
	top   bool // whether the template is a file and not called by a function
}

// Write appends p unless that exceeds a limit.
func (w counter) Write(p []byte) (int, error) {
	if err := w.trySpend(1 + len(p)/64); err != nil {
		return 0, err
	}
	if w.top {
		if w.left.output -= len(p); w.left.output < 0 {
			return 0, w.halt(fmt.Errorf("templates render more than %d MiB", w.limit.output>>20))
		}
	} else if len(w.out)-w.start+len(p) > maxValue {
		return 0, w.halt(fmt.Errorf("templates produce a value of more than %d MiB", maxValue>>20))
	}
	w.out = append(w.out, p...)
	return len(p), nil
}
