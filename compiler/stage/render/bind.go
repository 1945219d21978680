package render

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// This file binds the template functions to one rendering. Each function
// counts the size of its arguments and of its result. Functions whose result
// or running time can be far larger than their arguments check that before
// they run. Results are not changed.

// bind returns the functions that templates can call.
func (e *engine) bind() template.FuncMap {
	out := make(template.FuncMap, len(e.source.funcs))
	for name, f := range e.source.funcs {
		switch {
		case isCheap(name):
			out[name] = f
		case isShallow(name):
			out[name] = e.withShallowCost(f)
		default:
			out[name] = e.withCost(f, e.weighAll)
		}
	}
	for name := range builtin() {
		delete(out, name) // text/template defines them
	}
	for _, some := range []template.FuncMap{e.meterFuncs(), e.templateFuncs(e.set), e.textFuncs(), e.codecFuncs(), e.numberFuncs(), e.listFuncs(), e.mapFuncs(), e.regexFuncs(), e.nondeterministicFuncs()} {
		maps.Copy(out, some)
	}
	if e.source.reads != nil {
		e.source.reads.observe(out)
	}
	maps.Copy(out, e.compareFuncs()) // these read only scalars
	if e.source.trace != nil {
		e.source.trace.observe(out)
	}
	return out
}

// isCheap reports whether a function allocates nothing and reads only the
// first level of its arguments.
func isCheap(name string) bool {
	switch name {
	case "hello", "trim", "trimAll", "trimall", "trimPrefix", "trimSuffix", "trunc", "substr", "base", "ext", "isAbs",
		"osBase", "osExt", "osIsAbs", "contains", "hasPrefix", "hasSuffix", "plural", "atoi",
		"typeOf", "typeIs", "typeIsLike", "kindOf", "kindIs",
		"default", "empty", "coalesce", "all", "any", "ternary", "required", "fail", "lookup", "getHostByName",
		"get", "hasKey", "dig", "first", "mustFirst", "last", "mustLast":
		return true
	}
	return false
}

// isShallow reports whether a function builds a list or map from the elements
// of its arguments without reading inside these elements.
func isShallow(name string) bool {
	switch name {
	case "list", "tuple", "append", "mustAppend", "push", "mustPush", "prepend", "mustPrepend",
		"rest", "mustRest", "initial", "mustInitial", "reverse", "mustReverse", "compact", "mustCompact",
		"chunk", "mustChunk", "concat", "pick", "omit", "pluck":
		return true
	}
	return false
}

// weighAll counts arguments, nested values included.
func (e *engine) weighAll(args []reflect.Value) {
	for _, a := range args {
		e.weigh(a.Interface())
	}
}

// withShallowCost returns a function that counts the elements of its
// arguments.
func (e *engine) withShallowCost(fn any) any {
	switch f := fn.(type) {
	case func(...any) []any:
		return func(a ...any) []any { e.allocate(16 * len(a)); return f(a...) }
	case func(any) []any:
		return func(a any) []any { e.allocate(16 * length(a)); return f(a) }
	case func(any, any) []any:
		return func(a, b any) []any { e.allocate(16 * (1 + length(a))); return f(a, b) }
	}
	return e.withCost(fn, func(args []reflect.Value) {
		for _, a := range args {
			n := length(a.Interface())
			if several, ok := a.Interface().([]any); ok {
				for _, v := range several { // the lists themselves are arguments
					n += length(v)
				}
			}
			e.allocate(48 * n)
		}
	})
}

// withCost returns a function that passes its arguments to before, calls fn
// and counts the result.
func (e *engine) withCost(fn any, before func([]reflect.Value)) any {
	f := reflect.ValueOf(fn)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		before(args)
		out := invoke(f, args)
		switch r := out[0]; r.Kind() {
		case reflect.String:
			e.allocate(r.Len())
		case reflect.Slice, reflect.Map:
			e.allocate(48 * r.Len())
		default:
			e.spend(1)
		}
		return out
	}).Interface()
}

func invoke(f reflect.Value, args []reflect.Value) []reflect.Value {
	if f.Type().IsVariadic() {
		return f.CallSlice(args)
	}
	return f.Call(args)
}

// length returns the number of elements of a list or map, 0 for other values.
func length(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return r.Len()
	}
	return 0
}

// original returns a function before it was bound.
func original[F any](e *engine, name string) F { return e.source.funcs[name].(F) }

// numberFuncs returns the functions that count, and those for decimals of any
// length.
func (e *engine) numberFuncs() template.FuncMap {
	until, untilStep := original[func(int) []int](e, "until"), original[func(_, _, _ int) []int](e, "untilStep")
	seq := original[func(...int) string](e, "seq")
	out := template.FuncMap{
		"until": func(n int) []int { e.allocate(8 * e.count(0, n, cmp.Or(cmp.Compare(n, 0), 1))); return until(n) },
		"untilStep": func(start, stop, step int) []int {
			e.allocate(8 * e.count(start, stop, step))
			return untilStep(start, stop, step)
		},
		"seq": func(n ...int) string {
			from, to := 1, 1
			switch len(n) {
			case 1:
				to = n[0]
			case 2, 3:
				from, to = n[0], n[len(n)-1]
			}
			e.allocate(32 * e.count(from, to, cmp.Or(cmp.Compare(to, from), 1)))
			return e.text(seq(n...))
		},
	}
	for _, name := range []string{"add1f", "addf", "subf", "divf", "mulf"} {
		out[name] = e.withCost(e.source.funcs[name], func(args []reflect.Value) {
			e.weighAll(args)
			n := length(args[len(args)-1].Interface())
			e.spend(n * n) // the number of digits of a product is the sum
		})
	}
	return out
}

// listFuncs returns the functions that compare list elements with each other,
// and those that return lists of strings.
func (e *engine) listFuncs() template.FuncMap {
	pairs := func(name string) any {
		return e.withCost(e.source.funcs[name], func(args []reflect.Value) {
			e.weighAll(args)
			n, m := length(args[0].Interface()), length(args[len(args)-1].Interface())
			e.spend(n * m / 4)
		})
	}
	containsValue, mustHas := original[func(_, _ any) bool](e, "has"), original[func(_, _ any) (bool, error)](e, "mustHas")
	look := func(needle, list any) {
		switch needle.(type) {
		case nil, bool, int, int64, float64, string:
			e.spend(1 + length(list))
		default:
			e.weigh(needle)
			e.weigh(list)
		}
	}
	slice := func(name string) any { // prints indices that are not numbers in its error
		return e.withCost(e.source.funcs[name], func(args []reflect.Value) { e.weigh(args[1].Interface()) })
	}
	splitList := original[func(_, _ string) []string](e, "splitList")
	return template.FuncMap{
		"uniq": pairs("uniq"), "mustUniq": pairs("mustUniq"),
		"without": pairs("without"), "mustWithout": pairs("mustWithout"),
		"has":     func(needle, list any) bool { look(needle, list); return containsValue(needle, list) },
		"mustHas": func(needle, list any) (bool, error) { look(needle, list); return mustHas(needle, list) },
		"slice":   slice("slice"), "mustSlice": slice("mustSlice"),
		"splitList": func(sep, s string) []string {
			e.allocate(16 * (1 + strings.Count(s, sep)))
			return splitList(sep, s)
		},
	}
}

// mapFuncs returns the functions for maps. They sort the keys, whose order is
// random in Helm, and count merges.
func (e *engine) mapFuncs() template.FuncMap {
	type dict = map[string]any
	newDict, set := original[func(...any) dict](e, "dict"), original[func(dict, string, any) dict](e, "set")
	unset, sorted := original[func(dict, string) dict](e, "unset"), original[func(any) []string](e, "sortAlpha")
	out := template.FuncMap{
		"dict": func(v ...any) dict {
			for i := 0; i < len(v); i += 2 {
				e.weigh(v[i])
			}
			e.allocate(48 + 32*len(v))
			return newDict(v...)
		},
		"sortAlpha": func(list any) []string {
			e.weigh(list)
			e.willSort(list)
			out := sorted(list)
			e.allocate(48 * len(out))
			return out
		},
		"set":   func(d dict, key string, v any) dict { e.allocate(64); e.willModify(d); return set(d, key, v) },
		"unset": func(d dict, key string) dict { e.willModify(d); return unset(d, key) },
		"keys": func(dicts ...dict) []string {
			all := []string{}
			for _, d := range dicts {
				e.allocate(16 * len(d))
				all = append(all, slices.Sorted(maps.Keys(d))...)
			}
			return all
		},
		"values": func(d dict) []any {
			e.allocate(16 * len(d))
			return diag.Each(slices.Sorted(maps.Keys(d)), func(k string) any { return d[k] })
		},
	}
	for _, name := range []string{"merge", "mergeOverwrite"} {
		f, must := original[func(dict, ...dict) any](e, name), original[func(dict, ...dict) (any, error)](e, "must"+strings.ToUpper(name[:1])+name[1:])
		out[name] = func(to dict, from ...dict) any { e.overlaps(to, from); return f(to, from...) }
		out["must"+strings.ToUpper(name[:1])+name[1:]] = func(to dict, from ...dict) (any, error) { e.overlaps(to, from); return must(to, from...) }
	}
	return out
}

// overlaps counts the maps that exist on both sides of a merge. Other values
// are not visited.
func (e *engine) overlaps(to map[string]any, from []map[string]any) {
	var overlap func(to, from any, depth int)
	overlap = func(to, from any, depth int) {
		t, ok := to.(map[string]any)
		f, too := from.(map[string]any)
		if !ok || !too {
			return
		}
		if depth > maxNested {
			e.stop("templates merge a value that contains itself")
		}
		e.allocate(48 * len(f))
		for k, v := range f {
			overlap(t[k], v, depth+1)
		}
	}
	for _, f := range from {
		overlap(to, f, 0)
	}
	e.willMerge(to, from)
}
