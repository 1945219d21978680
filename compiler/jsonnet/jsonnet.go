// Package jsonnet renders the Jsonnet source of a release: a file of the
// repository with a function of the release's values, whose result is
// Kubernetes objects in any nesting. It is the only package that knows the Jsonnet
// library.
//
// An evaluation is a function of the request and of the files that it reads,
// which are reported. Files come from the repository and its vendor directory;
// nothing else is read, no environment, no network and no clock. The package
// does not know charts: what renders them is a function of the request.
//
// An evaluation is bounded in steps, depth, time and memory. One that is inside of
// a built-in function cannot be stopped: Render returns, and it goes on in the
// background, see [diag.ErrRunaway].
package jsonnet

import (
	"context"
	"path"
	"sync"
	"time"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// A Renderer renders the Jsonnet files of one fleet. It reads each file once:
// all renders see the same content. It may be used by several goroutines.
type Renderer struct {
	Dir       string        // absolute path of the fleet's root
	Library   []byte        // what import "fleetc.libsonnet" finds where the fleet has no such file, nil for nothing
	MaxSteps  int           // expressions that one render may evaluate, 0 for 50 million
	MaxTime   time.Duration // that one render may take, 0 for two minutes
	MaxMemory uint64        // bytes by which the process's memory in use may grow during one render, 0 for 1 GiB

	files files
	once  sync.Once
	lib   *file     // of Library
	idle  sync.Pool // of *machine: what they have parsed is parsed once
}

// A Request says what to render.
type Request struct {
	File    string         // slash-separated and relative to the fleet's root
	Params  any            // the release's values: what encoding/json takes, a map or nil
	Cluster any            // what the file may know of the cluster: what encoding/json takes
	Release *fleet.Release // whose objects they are; faults name its line

	// HelmTemplate renders a chart for the native function helmTemplate. It is
	// called in the middle of the evaluation, and its result must depend on
	// the call alone. Charts are faults when it is nil.
	HelmTemplate func(ctx context.Context, call HelmCall) ([]fleet.Object, error)
}

// A HelmCall is one call of helmTemplate.
type HelmCall struct {
	Name      string         // of the Helm release
	Chart     string         // as the file names it: a pinned chart's package, or a path
	Namespace string         // of the objects; that of the release when the file sets none
	Values    map[string]any // as encoding/json decodes them; never nil
}

// A Result is what a file renders to.
type Result struct {
	Objects []fleet.Object // in the order of the result: keys sorted, lists as they are
	Reads   []string       // the files of the fleet that were read, sorted
	Trace   string         // what std.trace wrote, or the beginning of it
}

// Render evaluates a file and returns its objects. When there is an error, the
// result still says which files were read.
//
// The error holds what is wrong with the file: the line of Jsonnet in front,
// the release's behind it. Its cause is [diag.ErrRunaway] when the evaluation is
// in the middle of one built-in function, which nothing can interrupt.
func (r *Renderer) Render(ctx context.Context, req Request) (Result, error) {
	m, err := r.machine()
	if err != nil {
		return Result{}, err
	}
	req.File = path.Clean(req.File)
	t := newRun(ctx, r, req)
	if t.args, err = arguments(req); err != nil {
		return Result{}, err
	}
	out, alive := r.supervise(ctx, m, t)
	if !alive {
		// The machine is still in use: it must not be looked at.
		return Result{}, out.err
	}
	result := Result{Reads: t.readFiles(), Trace: t.trace.String()}
	if out.err == nil {
		result.Objects, out.err = objects(req, out.json)
	} else {
		out.err = m.fault(out.err)
	}
	if !out.stopped {
		m.run = nil
		r.idle.Put(m)
	}
	return result, out.err
}

// Check returns the faults of values that the file's function does not take,
// and of parameters that have no value: those that are known without an
// evaluation. It needs the file, the values and the release of the request. A
// file that does not parse is a fault of [Renderer.Render].
func (r *Renderer) Check(ctx context.Context, req Request) (err error) {
	m, err := r.machine()
	if err != nil {
		return err
	}
	req.File = path.Clean(req.File)
	m.run = newRun(ctx, r, req)
	defer func() {
		if recover() != nil {
			err = nil // Render reports the crash of the library
			return
		}
		m.run = nil
		r.idle.Put(m)
	}()
	node, err := m.parse(req.File)
	if err != nil {
		return nil
	}
	_, err = m.checked(node)
	return err
}

// Close lets go of the fleet's directory. No render may be under way.
func (r *Renderer) Close() error { return r.files.close() }

// machine returns a machine that nobody uses.
func (r *Renderer) machine() (*machine, error) {
	if m, ok := r.idle.Get().(*machine); ok {
		return m, nil
	}
	return newMachine()
}
