package source

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// The library cannot stop an evaluation, and its limit on nested calls does not
// count tail calls, which use Go's stack until the process dies. It has a hook
// before and after the evaluation of every expression, for its own debugger, in
// unexported fields. This file sets them with unsafe, the only use of it in the
// project, and returns an error if the library's types have changed.

// maxJsonnetDepth is the maximum number of nested expressions. An expression takes up
// to 3 KiB of Go's stack, which is limited to 512 MiB on 64-bit machines.
const maxJsonnetDepth = 100_000

// slack is the number of expressions after a limit to search for one in a file
// of the user: a loop is often inside of the standard library.
const slack = 10_000

// A meter counts evaluated expressions, and ends the goroutine at a limit or on
// request.
type meter struct {
	stop     *atomic.Bool // set by other goroutines
	maxSteps int
	steps    int
	depth    int
	late     int                // steps since the limit
	over     error              // exceeded limit, or nil
	at       *ast.LocationRange // position in a file of the user, or nil
	code     bool               // whether the next import is code
	binary   bool               // whether the next import is bytes, unless it is code
}

// reset resets the counters.
func (m *meter) reset(maxSteps int) { *m = meter{stop: new(atomic.Bool), maxSteps: maxSteps} }

// A value stands for the library's interface with this name: two words, whose
// methods are not called.
type value interface{ aValue() }

// attach sets the hook of the VM.
func (m *meter) attach(vm *jsonnet.VM) error {
	pre, post := m.before, m.after
	hook := reflect.ValueOf(&vm.EvalHook).Elem()
	for name, f := range map[string]reflect.Value{"pre": reflect.ValueOf(&pre), "post": reflect.ValueOf(&post)} {
		field := hook.FieldByName(name)
		if !field.IsValid() || !sameWords(field.Type(), f.Elem().Type()) {
			return errors.New("this version of go-jsonnet has another hook: see EvalHook")
		}
		*(*unsafe.Pointer)(unsafe.Pointer(field.UnsafeAddr())) = *(*unsafe.Pointer)(f.UnsafePointer())
	}
	return nil
}

// sameWords reports whether functions of the types have the same calling
// convention: no results, and parameters that are equal, both pointers, or both
// interfaces with methods.
func sameWords(a, b reflect.Type) bool {
	if a.Kind() != reflect.Func || a.NumIn() != b.NumIn() || a.NumOut()+b.NumOut() > 0 {
		return false
	}
	for i := range a.NumIn() {
		x, y := a.In(i), b.In(i)
		pointers := x.Kind() == reflect.Pointer && y.Kind() == reflect.UnsafePointer
		interfaces := x.Kind() == reflect.Interface && y.Kind() == reflect.Interface && x.NumMethod() > 0 && y.NumMethod() > 0
		if x != y && !pointers && !interfaces {
			return false
		}
	}
	return true
}

// before runs before the evaluation of an expression.
func (m *meter) before(_ unsafe.Pointer, n ast.Node) {
	m.steps++
	m.depth++
	switch n.(type) {
	case *ast.Import:
		m.code = true
	case *ast.ImportStr:
		m.code, m.binary = false, false
	case *ast.ImportBin:
		m.code, m.binary = false, true
	}
	if m.steps > m.maxSteps || m.depth > maxJsonnetDepth || m.over != nil || m.stop.Load() {
		m.exceed(n)
	}
}

// after runs after the evaluation of an expression.
func (m *meter) after(unsafe.Pointer, ast.Node, value, error) { m.depth-- }

// exceed ends the goroutine, preferably at an expression of the user.
func (m *meter) exceed(n ast.Node) {
	if m.over == nil {
		switch {
		case m.steps > m.maxSteps:
			m.over = &stopFault{fmt.Sprintf("the evaluation takes more than %d steps", m.maxSteps)}
		case m.depth > maxJsonnetDepth:
			m.over = &stopFault{fmt.Sprintf("expressions nest more than %d deep", maxJsonnetDepth)}
		}
	}
	m.late++
	if at := n.Loc(); at.File != nil && isUsers(at.FileName) {
		m.at = at
	} else if m.late < slack {
		return
	}
	runtime.Goexit()
}
