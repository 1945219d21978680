package jsonnet

import (
	"cmp"
	"context"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/google/go-jsonnet"

	"github.com/fleetc/fleetc/compiler/diag"
)

const (
	maxStack  = 500 // calls inside each other, which is the default of all Jsonnet tools
	maxSteps  = 50_000_000
	maxTime   = 2 * time.Minute
	maxMemory = 1 << 30

	// What is in use is known after a garbage collection, too late when memory
	// goes quickly. So what is allocated is looked at as well: it is up to twice
	// as much in a healthy process.
	inUse     = "/gc/heap/live:bytes"
	allocated = "/memory/classes/heap/objects:bytes"
	garbage   = 3 // times what may be in use may be allocated

	glance = 25 * time.Millisecond // how often memory is looked at
	grace  = 2 * time.Second       // in which an evaluation that is told to stop has to
)

// A machine evaluates files, one after the other. What it has parsed it keeps;
// values it does not, since they may depend on the request.
type machine struct {
	vm    *jsonnet.VM
	meter meter
	run   *run
}

func newMachine() (*machine, error) {
	m := &machine{vm: jsonnet.MakeVM()}
	m.vm.MaxStack = maxStack
	m.vm.Importer(m)
	m.vm.SetTraceOut(m)
	for _, f := range m.natives() {
		m.vm.NativeFunction(f)
	}
	return m, m.meter.attach(m.vm)
}

// An outcome is how an evaluation ended.
type outcome struct {
	json    string
	err     error
	stopped bool // in the middle: the machine is of no more use
}

// supervise evaluates the file and stops it when it takes too much. alive is
// false when it does not stop.
func (r *Renderer) supervise(ctx context.Context, m *machine, t *run) (out outcome, alive bool) {
	m.run = t
	m.meter.reset(cmp.Or(r.MaxSteps, maxSteps))
	stop := m.meter.stop
	done := make(chan outcome, 1)
	go func() {
		out := outcome{stopped: true} // unless the end is reached: the meter ends the goroutine
		defer func() { done <- out }()
		out.json, out.err = m.evaluate()
		out.stopped = false
	}()

	limit := cmp.Or(r.MaxTime, maxTime)
	deadline, look := time.NewTimer(limit), time.NewTicker(glance)
	defer deadline.Stop()
	defer look.Stop()
	var why error
	var lost <-chan time.Time
	cancelled := ctx.Done()
	end := func(err error) {
		if why == nil {
			why, lost = err, time.After(grace)
			stop.Store(true)
		}
	}
	mem, before := cmp.Or(r.MaxMemory, maxMemory), memory()
	for {
		select {
		case out := <-done:
			if out.stopped {
				out.err = cmp.Or(m.meter.over, why)
			}
			return out, true
		case <-cancelled:
			cancelled = nil
			end(ctx.Err())
		case <-deadline.C:
			end(&stopFault{fmt.Sprintf("the evaluation takes longer than %s", limit)})
		case <-look.C:
			if now := memory(); now[0] > before[0]+mem || now[1] > before[1]+garbage*mem {
				end(&stopFault{fmt.Sprintf("the evaluation takes more than %d MiB of memory", mem>>20)})
			}
		case <-lost:
			if ctx.Err() != nil {
				return outcome{err: ctx.Err()}, false
			}
			// What else the run knows is still being written.
			d := faultOf(t.req, "%v, and does not stop when it is told to", why)
			d.Hint, d.Cause = "look for a large std.range, std.repeat or std.makeArray, or for a value that holds itself many times", ErrRunaway
			return outcome{err: d}, false
		}
	}
}

// memory returns how many bytes are in use, and how many are allocated.
func memory() [2]uint64 {
	s := []metrics.Sample{{Name: inUse}, {Name: allocated}}
	metrics.Read(s)
	return [2]uint64{s[0].Value.Uint64(), s[1].Value.Uint64()}
}

// evaluate parses and evaluates the file and returns its result as JSON.
func (m *machine) evaluate() (json string, err error) {
	defer func() {
		// A file is input: what it makes the library do is its fault.
		if p := recover(); p != nil {
			json, err = "", fmt.Errorf("%s%v", crashed, p)
		}
	}()
	// What has been evaluated may come from another request's charts.
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

// Write takes what std.trace writes.
func (m *machine) Write(p []byte) (int, error) {
	const maxTrace = 64 << 10
	if room := maxTrace - m.run.trace.Len(); room > 0 {
		m.run.trace.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// A stopFault says why an evaluation was stopped.
type stopFault struct{ msg string }

func (s *stopFault) Error() string { return s.msg }

// fault returns a fault of the file as a whole.
func (t *run) fault(format string, args ...any) *diag.Diag {
	d := faultOf(t.req, format, args...)
	if t.reads[t.req.File] == nil {
		d.At = d.At[1:] // there is no such file to look at
	}
	return d
}

func faultOf(req Request, format string, args ...any) *diag.Diag {
	return &diag.Diag{At: []diag.Pos{{File: req.File}, req.Release.Pos}, Path: req.Release.Path(), Msg: fmt.Sprintf(format, args...)}
}
