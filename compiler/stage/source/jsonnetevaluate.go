package source

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/go-jsonnet"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

const (
	maxStack         = 500 // nested calls, the default of all Jsonnet tools
	maxJsonnetSteps  = 50_000_000
	maxJsonnetTime   = 2 * time.Minute
	maxJsonnetMemory = 1 << 30

	memoryInterval = 25 * time.Millisecond // between two measurements of memory
	stopTimeout    = 2 * time.Second       // for an evaluation to stop after a limit

	cancelTimeout = 500 * time.Millisecond // the same after a cancellation
	memoryTimeout = 100 * time.Millisecond // the same after twice the memory limit
)

// A machine evaluates files, one after the other. It caches syntax trees, but
// no values, since these may depend on the request.
type machine struct {
	vm    *jsonnet.VM
	meter meter
	run   *run
}

func newMachine() (*machine, error) {
	m := &machine{vm: jsonnet.MakeVM()}
	m.vm.MaxStack = maxStack
	m.vm.Importer(m)
	m.vm.SetTraceOut(io.Discard) // a cached rendering would not have its output
	for _, f := range m.natives() {
		m.vm.NativeFunction(f)
	}
	return m, m.meter.attach(m.vm)
}

// An outcome is the end of an evaluation.
type outcome struct {
	json    string
	err     error
	stopped bool // interrupted: the machine cannot be used again
}

// supervise evaluates the file and stops it at a limit. alive is false if it
// does not stop.
func (r *JsonnetRenderer) supervise(ctx context.Context, m *machine, t *run) (out outcome, alive bool) {
	m.run = t
	m.meter.reset(cmp.Or(r.MaxSteps, maxJsonnetSteps))
	stop := m.meter.stop
	done := make(chan outcome, 1)
	go func() {
		out := outcome{stopped: true} // unless the meter ends the goroutine
		defer func() { done <- out }()
		out.json, out.err = m.evaluate()
		out.stopped = false
	}()

	limit := cmp.Or(r.MaxTime, maxJsonnetTime)
	deadline, look := time.NewTimer(limit), time.NewTicker(memoryInterval)
	defer deadline.Stop()
	defer look.Stop()
	var why error
	var late <-chan time.Time
	memoryExceeded := false
	cancelled := ctx.Done()
	end := func(err error, within time.Duration) {
		if why == nil {
			why = err
			stop.Store(true)
			late = time.After(within)
		}
	}
	mem, before := cmp.Or(r.MaxMemory, maxJsonnetMemory), par.Measure()
	for {
		select {
		case out := <-done:
			if out.stopped {
				out.err = cmp.Or(m.meter.over, why)
			}
			return out, true
		case <-cancelled:
			cancelled = nil
			end(ctx.Err(), cancelTimeout)
		case <-deadline.C:
			end(&stopFault{fmt.Sprintf("the evaluation takes longer than %s", limit)}, stopTimeout)
		case <-look.C:
			switch now := par.Measure(); {
			case !now.Exceeds(before, mem):
			case why == nil:
				end(&stopFault{fmt.Sprintf("the evaluation takes more than %d MiB of memory", mem>>20)}, stopTimeout)
			case now.Exceeds(before, 2*mem) && !memoryExceeded: // the process may run out of memory soon
				late, memoryExceeded = time.After(memoryTimeout), true
			}
		case <-late:
			if ctx.Err() != nil {
				return outcome{err: ctx.Err()}, false
			}
			// The evaluation still writes to the run, so use the request only.
			d := faultOf(diag.CodeSourceLimits, t.req, "%v, and does not stop", why)
			d.Hint, d.Cause = tooMuch, diag.ErrRunaway
			return outcome{err: d}, false
		}
	}
}

// evaluate parses and evaluates the file and returns its result as JSON.
func (m *machine) evaluate() (json string, err error) {
	defer func() {
		// The file is input: a panic of the library is a fault of the file.
		if p := recover(); p != nil {
			json, err = "", fmt.Errorf("%s%v", crashed, p)
		}
	}()
	// Values may come from the charts of another request.
	m.vm.ExtReset()
	m.vm.TLAReset()
	node, err := m.parse(m.run.req.File)
	if err != nil {
		return "", err
	}
	if err := m.bind(node); err != nil {
		return "", err
	}
	return m.vm.Evaluate(node)
}

// tooMuch is the hint for an evaluation that a limit stopped.
const tooMuch = "look for an endless recursion, a large std.range, std.repeat or std.makeArray, or a value with many references to itself"

// A stopFault is the limit that stopped an evaluation.
type stopFault struct{ msg string }

func (s *stopFault) Error() string { return s.msg }

// fault returns a fault of the file as a whole.
func (t *run) fault(format string, args ...any) *diag.Diag {
	d := faultOf(diag.CodeJsonnet, t.req, format, args...)
	if t.reads[t.req.File] == nil {
		d.At = []diag.Pos{t.req.Release.SourcePos} // the file does not exist
	}
	return d
}

func faultOf(code diag.Code, req JsonnetRequest, format string, args ...any) *diag.Diag {
	return &diag.Diag{Code: code, At: []diag.Pos{{File: req.File}, req.Release.Pos}, Path: req.Release.Path(), Msg: fmt.Sprintf(format, args...)}
}
