package render

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// limits are what one rendering of a chart may use. A step is about as much
// work as a twentieth of a microsecond of a common machine.
type limits struct {
	steps  int
	made   int // bytes of all that functions return
	output int // bytes of all files together
}

// The limits that hold for everybody. The largest public charts need less than
// a twentieth of each. The clock is looked at only in case steps are misjudged.
const (
	maxSteps  = 100_000_000
	maxMade   = 1 << 30
	maxOutput = 64 << 20
	maxValue  = 64 << 20 // bytes of one value as text
	maxDepth  = 40_000   // of templates in templates, counted as [cost] does
	maxNested = 1_000    // of maps and lists in each other
	maxWall   = 2 * time.Minute
)

// What calls cost that are more work than an action, in steps.
const (
	passSteps = 8  // of a range, before its first action
	callSteps = 40 // of include and tpl
)

// stopped is the error of a rendering that its guard ends. It says why once;
// the templates that the error passes on its way out add nothing to it.
type stopped struct{ reason error }

func (s *stopped) Error() string { return s.reason.Error() }
func (s *stopped) Unwrap() error { return s.reason }

// errTooLong is the cause of a context that ended since a chart took too long.
var errTooLong = errors.New("templates that take too long")

// A guard bounds one rendering: it counts what templates do, and ends them
// when it is too much or nobody waits for the result any more. What it counts
// depends on the chart and its values alone. It is used by one goroutine.
type guard struct {
	ctx    context.Context
	most   limits
	left   limits
	look   int // the steps that are left when the context is looked at next
	depth  int
	chance bool     // something was called whose result is another every time
	why    *stopped // set once the rendering is to end
	at     string   // the place in a template where that was noticed
}

func newGuard(ctx context.Context, most limits) *guard {
	return &guard{ctx: ctx, most: most, left: most, look: most.steps}
}

// stop ends the rendering. It panics, which text/template turns into an error
// when a function does it; at is the place of the call.
func (g *guard) stop(format string, args ...any) {
	panic(g.halt(fmt.Errorf(format, args...)))
}

func (g *guard) halt(reason error) error {
	if g.why == nil {
		g.why = &stopped{reason}
	}
	return g.why
}

// spend counts steps.
func (g *guard) spend(n int) {
	if err := g.trySpend(n); err != nil {
		panic(err)
	}
}

func (g *guard) trySpend(n int) error {
	const lookEvery = 4096
	if g.why != nil {
		return g.why
	}
	if n < 0 || n > g.left.steps {
		return g.halt(errors.New("templates that never end, or nearly"))
	}
	g.left.steps -= n
	if g.left.steps <= g.look {
		g.look = g.left.steps - lookEvery
		if g.ctx.Err() != nil {
			return g.halt(context.Cause(g.ctx))
		}
	}
	return nil
}

// take counts what executing a template takes.
func (g *guard) take(l limits) error {
	if g.left.made -= l.made; g.left.made < 0 {
		return errRecall
	}
	if g.left.output -= l.output; g.left.output < 0 {
		return errRecall
	}
	return g.trySpend(l.steps)
}

// errRecall ends a rendering that recalls. Without, the error is at its place.
var errRecall = errors.New("too much")

// make counts the bytes of something that a function is about to return.
func (g *guard) make(n int) {
	if n < 0 || n > g.left.made {
		g.stop("templates that make more than %d MiB of text and lists", g.most.made>>20)
	}
	g.left.made -= n
	g.spend(1 + n/64)
}

// text counts a string that a function returns.
func (g *guard) text(s string) string {
	g.make(len(s))
	return s
}

// room ends the rendering unless a value of count times size bytes is allowed.
func (g *guard) room(count, size int) {
	if count > 0 && size > 0 && count > maxValue/size {
		g.stop("templates that make a value of more than %d MiB", maxValue>>20)
	}
}

// tryEnter counts a template that begins, and leave that it ended.
func (g *guard) tryEnter(c cost) error {
	if g.depth += c.depth; g.depth > maxDepth {
		return g.halt(errors.New("templates that include each other without end"))
	}
	return g.trySpend(c.steps)
}

func (g *guard) enter(c cost) {
	if err := g.tryEnter(c); err != nil {
		panic(err)
	}
}

func (g *guard) leave(c cost) { g.depth -= c.depth }

// weigh ends the rendering when a value is too large to be written as text, or
// contains itself. It counts as many steps as the value has elements, and
// returns its size in bytes.
func (g *guard) weigh(v any) int {
	n := g.size(v, 0)
	if n > maxValue {
		g.room(1, n)
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
			g.room(1, n)
		}
		return n
	case []any:
		n := g.nest(len(v), depth)
		for _, e := range v {
			n += g.size(e, depth+1)
			g.room(1, n)
		}
		return n
	case reflect.Value:
		return g.sizeOf(v, depth)
	case time.Time:
		return 64
	}
	return g.sizeOf(reflect.ValueOf(v), depth)
}

// nest counts a map or a list. Its elements are indented when they are written.
func (g *guard) nest(elements, depth int) int {
	if depth > maxNested {
		g.stop("templates that write a value that contains itself")
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
			g.chance = true // it may be written as an address
		}
		n := g.nest(1, depth)
		return n + g.sizeOf(v.Elem(), depth+1)
	case reflect.Map:
		n := g.nest(v.Len(), depth)
		for it := v.MapRange(); it.Next(); {
			n += g.sizeOf(it.Key(), depth+1) + g.sizeOf(it.Value(), depth+1)
			g.room(1, n)
		}
		return n
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k <= reflect.Complex128 {
			return 8 + 8*v.Len()
		}
		n := g.nest(v.Len(), depth)
		for i := range v.Len() {
			n += g.sizeOf(v.Index(i), depth+1)
			g.room(1, n)
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

// count returns how many numbers untilStep makes, and ends the rendering when
// there are too many. The numbers are small enough for their sums not to wrap.
func (g *guard) count(start, stop, step int) int {
	const far = math.MaxInt / 4
	for _, n := range []int{start, stop, step} {
		if n > far || n < -far {
			g.stop("templates that count to %d", n)
		}
	}
	if step == 0 || (stop > start) != (step > 0) {
		return 0
	}
	n := (stop-start)/step + 1
	g.room(n, 8)
	return n
}

// A counter is what a template writes to: the end of what its engine has.
type counter struct {
	*engine
	start int  // where the template begins there
	top   bool // the file itself, not the result of a function
}

// Write adds what is printed unless it is too much.
func (w counter) Write(p []byte) (int, error) {
	if err := w.trySpend(1 + len(p)/64); err != nil {
		return 0, err
	}
	if w.top {
		if w.left.output -= len(p); w.left.output < 0 {
			return 0, w.halt(fmt.Errorf("templates that render more than %d MiB", w.most.output>>20))
		}
	} else if len(w.out)-w.start+len(p) > maxValue {
		return 0, w.halt(fmt.Errorf("templates that make a value of more than %d MiB", maxValue>>20))
	}
	w.out = append(w.out, p...)
	return len(p), nil
}
