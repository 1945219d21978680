package source

import (
	"context"
	"path"
	"sync"
	"time"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A JsonnetRenderer renders the Jsonnet files of one fleet. It reads each file once,
// so that all renders see the same content. It is safe for concurrent use.
type JsonnetRenderer struct {
	Dir       string        // absolute path of the fleet's root
	Library   []byte        // content of "fleetc.libsonnet" if the fleet has no such file; nil for none
	MaxSteps  int           // maximum number of evaluated expressions in a render, 0 for 50 million
	MaxTime   time.Duration // maximum duration of a render, 0 for two minutes
	MaxMemory uint64        // maximum growth of the process's memory during a render in bytes, 0 for 1 GiB

	files jsonnetFiles
	once  sync.Once
	lib   *jsonnetFile // parsed Library
	idle  sync.Pool    // of *machine, to reuse their syntax trees
}

// A JsonnetRequest describes a render.
type JsonnetRequest struct {
	File    string         // slash-separated path relative to the fleet's root
	Params  any            // values of the release: a map that encoding/json accepts, or nil
	Cluster any            // data about the cluster: a value that encoding/json accepts
	Release *fleet.Release // release of the objects; faults have its position

	// HelmTemplate renders a chart for the native function helmTemplate. It
	// runs during the evaluation, and its result must depend on the call only.
	// Without it, charts are faults.
	HelmTemplate func(ctx context.Context, call HelmCall) ([]fleet.Object, error)
}

// A HelmCall is a call of helmTemplate.
type HelmCall struct {
	Name      string         // Helm release name
	Chart     string         // package of a pinned chart, or a path
	Namespace string         // namespace of the objects; by default that of the release
	Values    map[string]any // as decoded by encoding/json; never nil
}

// A JsonnetResult is the result of a render.
type JsonnetResult struct {
	Objects []fleet.Object // in the order of the result: sorted by keys, lists in their order
	Reads   []string       // files of the fleet that were read, sorted
}

// Render evaluates a file and returns its objects. After an error, the result
// still has the files that were read.
//
// The positions of a fault are that of the Jsonnet code, then that of the
// release. Its cause is [diag.ErrRunaway] when the evaluation is inside of a
// built-in function and cannot be interrupted.
func (r *JsonnetRenderer) Render(ctx context.Context, req JsonnetRequest) (JsonnetResult, error) {
	m, err := r.machine()
	if err != nil {
		return JsonnetResult{}, err
	}
	req.File = path.Clean(req.File)
	t := newRun(ctx, r, req)
	if t.args, err = arguments(req); err != nil {
		return JsonnetResult{}, err
	}
	out, alive := r.supervise(ctx, m, t)
	if !alive {
		// The machine is still running and must not be touched.
		return JsonnetResult{}, out.err
	}
	result := JsonnetResult{Reads: t.readFiles()}
	if out.err == nil {
		if result.Objects, out.err = jsonnetObjects(req, out.json); out.err == nil {
			out.err = t.rounded(result.Objects)
		}
	} else {
		out.err = m.fault(out.err)
	}
	if !out.stopped {
		m.run = nil
		r.idle.Put(m)
	}
	return result, out.err
}

// Check returns the faults of values and parameters that do not match. It does
// not evaluate the file, and needs the file, the values and the release of the
// request. Syntax errors are faults of [JsonnetRenderer.Render].
func (r *JsonnetRenderer) Check(ctx context.Context, req JsonnetRequest) (err error) {
	m, err := r.machine()
	if err != nil {
		return err
	}
	req.File = path.Clean(req.File)
	m.run = newRun(ctx, r, req)
	defer func() {
		if recover() != nil {
			err = nil // Render reports the panic
			return
		}
		m.run = nil
		r.idle.Put(m)
	}()
	node, err := m.parse(req.File)
	if err != nil {
		return nil
	}
	_, err = m.checkFunction(node)
	return err
}

// Close closes the fleet's directory. No render may be running.
func (r *JsonnetRenderer) Close() error { return r.files.close() }

// machine returns an idle machine.
func (r *JsonnetRenderer) machine() (*machine, error) {
	if m, ok := r.idle.Get().(*machine); ok {
		return m, nil
	}
	return newMachine()
}
