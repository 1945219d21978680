package jsonnet

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

// The library has no way to stop an evaluation, and its limit on calls does
// not count those in tail position, each of which takes Go's stack until the
// process dies of it. It has a hook that sees every expression before and
// after it is evaluated, made for its own debugger, with fields that other
// packages cannot set. This file sets them all the same: it is the only one
// that goes around the language, and it refuses to work when the library's
// types are not what it expects.

// maxDepth is how many expressions may be evaluated inside each other. One
// takes up to 3 KiB of Go's stack, which has 512 MiB on 64-bit machines.
const maxDepth = 100_000

// slack is how many more expressions are evaluated beyond a limit in search
// of one that the user wrote: a loop is often inside the standard library.
const slack = 10_000

// A meter counts what a machine evaluates, and ends the goroutine that does it
// when it is too much or when it is told to.
type meter struct {
	stop     *atomic.Bool // set by others
	maxSteps int
	steps    int
	depth    int
	late     int                // steps since the limit
	over     error              // which limit it is; nil below all of them
	at       *ast.LocationRange // where it was, in a file of the user's; nil when it is not known
	code     bool               // whether what is imported next is evaluated
}

// reset starts to count anew.
func (m *meter) reset(maxSteps int) { *m = meter{stop: new(atomic.Bool), maxSteps: maxSteps} }

// A value stands for the library's interface of that name: two words whose
// methods are not called.
type value interface{ aValue() }

// attach makes the meter see all that the VM evaluates.
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

// sameWords reports whether functions of the types are called alike: all
// parameters are of the same type, pointers both, or interfaces with methods
// both, and nothing is returned.
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

// before is called when an expression is about to be evaluated.
func (m *meter) before(_ unsafe.Pointer, n ast.Node) {
	m.steps++
	m.depth++
	switch n.(type) {
	case *ast.Import:
		m.code = true
	case *ast.ImportStr, *ast.ImportBin:
		m.code = false
	}
	if m.steps > m.maxSteps || m.depth > maxDepth || m.over != nil || m.stop.Load() {
		m.exceed(n)
	}
}

// after is called when an expression is evaluated.
func (m *meter) after(unsafe.Pointer, ast.Node, value, error) { m.depth-- }

// exceed ends the goroutine, once it is at an expression of the user's.
func (m *meter) exceed(n ast.Node) {
	if m.over == nil {
		switch {
		case m.steps > m.maxSteps:
			m.over = &stopFault{fmt.Sprintf("the evaluation takes more than %d steps", m.maxSteps)}
		case m.depth > maxDepth:
			m.over = &stopFault{fmt.Sprintf("expressions nest more than %d deep: something calls itself without end", maxDepth)}
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
