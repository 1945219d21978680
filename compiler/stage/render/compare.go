package render

import (
	"errors"
	"fmt"
	"reflect"
	"text/template"
)

// compareFuncs returns eq and ne. Those of text/template print values that they cannot
// compare into an error, and overflow the stack with a value that contains itself.
func (e *engine) compareFuncs() template.FuncMap {
	return template.FuncMap{
		"eq": e.equal,
		"ne": func(a, b reflect.Value) (bool, error) {
			equal, err := e.equal(a, b)
			return !equal, err
		},
	}
}

// equal is eq of text/template: whether a equals one of the others.
func (e *engine) equal(a reflect.Value, others ...reflect.Value) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("missing argument for comparison")
	}
	for _, b := range others {
		if equal, err := e.equalPair(elem(a), elem(b)); equal || err != nil {
			return equal, err
		}
	}
	return false, nil
}

func (e *engine) equalPair(a, b reflect.Value) (bool, error) {
	x, y := scalar(a), scalar(b)
	if x == nil && y == nil {
		return e.equalComposite(a, b)
	}
	if reflect.TypeOf(x) == reflect.TypeOf(y) {
		return x == y, nil
	}
	i, isInt := x.(int64)
	u, isUint := y.(uint64)
	if !isInt || !isUint {
		i, isInt = y.(int64)
		u, isUint = x.(uint64)
	}
	switch {
	case isInt && isUint:
		return i >= 0 && uint64(i) == u, nil
	case a.IsValid() && b.IsValid():
		return false, fmt.Errorf("incompatible types for comparison: %v and %v", a.Type(), b.Type())
	}
	return false, nil
}

// equalComposite compares values that are not scalars. Maps and lists equal only nil.
func (e *engine) equalComposite(a, b reflect.Value) (bool, error) {
	switch {
	case a.IsValid() && b.IsValid() && a.Kind() != b.Kind():
		e.weigh(a)
		e.weigh(b)
		return false, fmt.Errorf("non-comparable types %s: %v, %s: %v", a, a.Type(), b.Type(), b)
	case isNil(a) || isNil(b):
		return isNil(a) == isNil(b), nil
	case !b.Type().Comparable():
		e.weigh(b)
		return false, fmt.Errorf("non-comparable type %s: %v", b, b.Type())
	}
	return a.Interface() == b.Interface(), nil
}

// elem returns the value in an interface.
func elem(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// scalar returns a value as the largest type of its kind, or nil for a value that is not a scalar.
func scalar(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return v.Float()
	case v.CanComplex():
		return v.Complex()
	}
	return nil
}

// isNil reports whether a value is missing or nil.
func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.Slice:
		return v.IsNil()
	}
	return false
}
