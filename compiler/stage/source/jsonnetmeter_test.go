package source

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// TestMeterSeesAll tests that the hooks run for every expression.
func TestMeterSeesAll(t *testing.T) {
	var m meter
	m.reset(1 << 30)
	vm := jsonnet.MakeVM()
	if err := m.attach(vm); err != nil {
		t.Fatal(err)
	}
	steps := func(src string) int {
		m.reset(1 << 30)
		if _, err := vm.EvaluateAnonymousSnippet("", src); err != nil {
			t.Fatal(err)
		}
		if m.depth != 0 {
			t.Errorf("%s: the depth is %d at the end", src, m.depth)
		}
		return m.steps
	}
	base := steps("1")
	if got := steps("1 + 1"); got != base+2 {
		t.Errorf("1 + 1 takes %d steps more than 1", got-base)
	}
	m.reset(1 << 30)
	if _, err := vm.EvaluateAnonymousSnippet("", "1 + (error 'x')"); err == nil || m.depth != 0 {
		t.Errorf("the depth is %d after an error, %v", m.depth, err)
	}
}

func TestSameWords(t *testing.T) {
	type other interface{ other() }
	pre := reflect.TypeFor[func(*int, ast.Node)]()
	for _, test := range []struct {
		with reflect.Type
		want bool
	}{
		{reflect.TypeFor[func(unsafe.Pointer, ast.Node)](), true},
		{reflect.TypeFor[func(unsafe.Pointer, other)](), true},
		{reflect.TypeFor[func(unsafe.Pointer, any)](), false},
		{reflect.TypeFor[func(unsafe.Pointer)](), false},
		{reflect.TypeFor[func(int, ast.Node)](), false},
		{reflect.TypeFor[func(unsafe.Pointer, ast.Node) bool](), false},
	} {
		if got := sameWords(pre, test.with); got != test.want {
			t.Errorf("%v and %v: %v", pre, test.with, got)
		}
	}
	if sameWords(reflect.TypeFor[int](), pre) {
		t.Error("a number is called like a function")
	}
}
