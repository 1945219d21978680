package render

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"
)

// This file binds the functions of templates to one rendering: each counts
// what it takes in and what it makes, and the few whose result can be far
// larger than their arguments, or whose effort can, look at that beforehand.
// What they return is left as it is.

// bind returns the functions for templates to call.
func (e *engine) bind() template.FuncMap {
	out := make(template.FuncMap, len(e.source.funcs))
	for name, f := range e.source.funcs {
		switch {
		case isFree(name):
			out[name] = f
		case isShallow(name):
			out[name] = e.shallow(f)
		default:
			out[name] = e.counted(f)
		}
	}
	for name := range builtin() {
		delete(out, name) // text/template has them
	}
	for _, some := range []template.FuncMap{e.tracing(), e.included(e.set), e.texts(), e.codecs(), e.numbers(), e.lists(), e.maps(), e.expressions(), e.chances()} {
		maps.Copy(out, some)
	}
	if e.source.reads != nil {
		e.source.reads.observe(out)
	}
	if e.source.trace != nil {
		e.source.trace.observe(out)
	}
	return out
}

// isFree reports whether a function neither makes anything nor looks at more
// of its arguments than their first level.
func isFree(name string) bool {
	switch name {
	case "hello", "trim", "trimAll", "trimall", "trimPrefix", "trimSuffix", "trunc", "substr", "base", "ext", "isAbs",
		"osBase", "osExt", "osIsAbs", "contains", "hasPrefix", "hasSuffix", "plural", "atoi",
		"typeOf", "typeIs", "typeIsLike", "kindOf", "kindIs",
		"default", "empty", "coalesce", "all", "any", "ternary", "required", "fail", "lookup", "getHostByName",
		"get", "hasKey", "dig", "first", "mustFirst", "last", "mustLast", "slice", "mustSlice":
		return true
	}
	return false
}

// isShallow reports whether a function makes a list or a map of the elements
// of its arguments, which it does not look into.
func isShallow(name string) bool {
	switch name {
	case "list", "tuple", "append", "mustAppend", "push", "mustPush", "prepend", "mustPrepend",
		"rest", "mustRest", "initial", "mustInitial", "reverse", "mustReverse", "compact", "mustCompact",
		"chunk", "mustChunk", "concat", "pick", "omit", "pluck":
		return true
	}
	return false
}

// counted returns a function that counts its arguments, with all that they
// contain, and its result. Those that charts call most are not called by
// reflection once more.
func (e *engine) counted(fn any) any {
	switch f := fn.(type) {
	case func(string) string:
		return func(a string) string { return e.text(f(a)) }
	case func(string, string) string:
		return func(a, b string) string { return e.text(f(a, b)) }
	case func(int, string) string:
		return func(n int, a string) string { return e.text(f(n, a)) }
	case func(any) string:
		return func(a any) string { e.weigh(a); return e.text(f(a)) }
	case func(...any) string:
		return func(a ...any) string { e.weigh(a); return e.text(f(a...)) }
	case func(any) int:
		return func(a any) int { e.weigh(a); return f(a) }
	case func(any) int64:
		return func(a any) int64 { e.weigh(a); return f(a) }
	}
	return e.generic(fn, e.weighAll)
}

func (e *engine) weighAll(args []reflect.Value) {
	for _, a := range args {
		e.weigh(a.Interface())
	}
}

// shallow returns a function that counts the elements of its arguments.
func (e *engine) shallow(fn any) any {
	switch f := fn.(type) {
	case func(...any) []any:
		return func(a ...any) []any { e.make(16 * len(a)); return f(a...) }
	case func(any) []any:
		return func(a any) []any { e.make(16 * length(a)); return f(a) }
	case func(any, any) []any:
		return func(a, b any) []any { e.make(16 * (1 + length(a))); return f(a, b) }
	}
	return e.generic(fn, func(args []reflect.Value) {
		for _, a := range args {
			n := length(a.Interface())
			if several, ok := a.Interface().([]any); ok {
				for _, v := range several { // of the lists that are given one by one
					n += length(v)
				}
			}
			e.make(48 * n)
		}
	})
}

// generic returns a function that gives its arguments to another one before,
// and counts its result.
func (e *engine) generic(fn any, before func([]reflect.Value)) any {
	f := reflect.ValueOf(fn)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		before(args)
		out := invoke(f, args)
		switch r := out[0]; r.Kind() {
		case reflect.String:
			e.make(r.Len())
		case reflect.Slice, reflect.Map:
			e.make(48 * r.Len())
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

// numbers are the functions that count, and those with decimals of any length.
func (e *engine) numbers() template.FuncMap {
	until, untilStep := original[func(int) []int](e, "until"), original[func(_, _, _ int) []int](e, "untilStep")
	seq := original[func(...int) string](e, "seq")
	out := template.FuncMap{
		"until": func(n int) []int { e.make(8 * e.count(0, n, cmp.Or(cmp.Compare(n, 0), 1))); return until(n) },
		"untilStep": func(start, stop, step int) []int {
			e.make(8 * e.count(start, stop, step))
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
			e.make(32 * e.count(from, to, cmp.Or(cmp.Compare(to, from), 1)))
			return e.text(seq(n...))
		},
	}
	for _, name := range []string{"add1f", "addf", "subf", "divf", "mulf"} {
		out[name] = e.generic(e.source.funcs[name], func(args []reflect.Value) {
			e.weighAll(args)
			n := length(args[len(args)-1].Interface())
			e.spend(n * n) // the digits of a product add up
		})
	}
	return out
}

// lists are the functions that compare each element of a list with others, and
// those that make lists of texts.
func (e *engine) lists() template.FuncMap {
	pairs := func(name string) any {
		return e.generic(e.source.funcs[name], func(args []reflect.Value) {
			e.weighAll(args)
			n, m := length(args[0].Interface()), length(args[len(args)-1].Interface())
			e.spend(n * m / 4)
		})
	}
	has, mustHas := original[func(_, _ any) bool](e, "has"), original[func(_, _ any) (bool, error)](e, "mustHas")
	look := func(needle, list any) {
		switch needle.(type) {
		case nil, bool, int, int64, float64, string:
			e.spend(1 + length(list))
		default:
			e.weigh(needle)
			e.weigh(list)
		}
	}
	splitList := original[func(_, _ string) []string](e, "splitList")
	return template.FuncMap{
		"uniq": pairs("uniq"), "mustUniq": pairs("mustUniq"),
		"without": pairs("without"), "mustWithout": pairs("mustWithout"),
		"has":     func(needle, list any) bool { look(needle, list); return has(needle, list) },
		"mustHas": func(needle, list any) (bool, error) { look(needle, list); return mustHas(needle, list) },
		"splitList": func(sep, s string) []string {
			e.make(16 * (1 + strings.Count(s, sep)))
			return splitList(sep, s)
		},
	}
}

// maps are the functions for maps: they give the keys an order, which Helm
// leaves to chance, and count what is merged.
func (e *engine) maps() template.FuncMap {
	type dict = map[string]any
	newDict, set := original[func(...any) dict](e, "dict"), original[func(dict, string, any) dict](e, "set")
	unset, sorted := original[func(dict, string) dict](e, "unset"), original[func(any) []string](e, "sortAlpha")
	out := template.FuncMap{
		"dict": func(v ...any) dict {
			for i := 0; i < len(v); i += 2 {
				e.weigh(v[i])
			}
			e.make(48 + 32*len(v))
			return newDict(v...)
		},
		"sortAlpha": func(list any) []string {
			e.weigh(list)
			e.sorts(list)
			out := sorted(list)
			e.make(48 * len(out))
			return out
		},
		"set":   func(d dict, key string, v any) dict { e.make(64); e.modifies(d); return set(d, key, v) },
		"unset": func(d dict, key string) dict { e.modifies(d); return unset(d, key) },
		"keys": func(dicts ...dict) []string {
			all := []string{}
			for _, d := range dicts {
				e.make(16 * len(d))
				all = append(all, slices.Sorted(maps.Keys(d))...)
			}
			return all
		},
		"values": func(d dict) []any {
			e.make(16 * len(d))
			all := []any{}
			for _, k := range slices.Sorted(maps.Keys(d)) {
				all = append(all, d[k])
			}
			return all
		},
	}
	for _, name := range []string{"merge", "mergeOverwrite"} {
		f, must := original[func(dict, ...dict) any](e, name), original[func(dict, ...dict) (any, error)](e, "must"+strings.ToUpper(name[:1])+name[1:])
		out[name] = func(to dict, from ...dict) any { e.overlaps(to, from); return f(to, from...) }
		out["must"+strings.ToUpper(name[:1])+name[1:]] = func(to dict, from ...dict) (any, error) { e.overlaps(to, from); return must(to, from...) }
	}
	return out
}

// overlaps counts what is merged: maps that are in both. The rest is not
// looked into.
func (e *engine) overlaps(to map[string]any, from []map[string]any) {
	var overlap func(to, from any, depth int)
	overlap = func(to, from any, depth int) {
		t, ok := to.(map[string]any)
		f, too := from.(map[string]any)
		if !ok || !too {
			return
		}
		if depth > maxNested {
			e.stop("templates that merge a value that contains itself")
		}
		e.make(48 * len(f))
		for k, v := range f {
			overlap(t[k], v, depth+1)
		}
	}
	for _, f := range from {
		overlap(to, f, 0)
	}
	e.merges(to, from)
}
