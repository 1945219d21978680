package render

import (
	"io"
	"maps"
	"reflect"
	"strings"
	"text/template"
)

// reads is what templates read of the values of a rendering. A value that is read in
// a way that is not followed counts as read with all that is in it: it may name too
// much, and never too little.
//
// Values are followed by the addresses of their maps. Whatever a template does with a
// map, by whatever names, it has it from the values, and takes a field of it or gives
// it to a function.
type reads struct {
	paths  map[uintptr][][]string // where the maps of the values are
	passed map[string][]string    // maps that fields were taken of, by [pathKey]
	keys   map[string][]string    // maps of which it was read which keys they have
	whole  map[string][]string    // values that were read with all that is in them
	absent map[string][]string    // what was looked for and is not there
	lost   bool                   // whether anything may have been read
	unfit  bool                   // whether the values cannot be followed
	seen   int                    // how many values were looked into
}

func newReads() *reads {
	r := &reads{}
	r.reset()
	return r
}

// reset forgets everything.
func (t *reads) reset() {
	t.paths, t.unfit = map[uintptr][][]string{}, false
	t.forget()
}

// forget forgets what was read, and not where the values are.
func (t *reads) forget() {
	t.passed, t.keys, t.whole, t.absent = map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string][]string{}
	t.lost, t.seen = false, 0
}

// separator stands between the keys of a path. Keys that have it are not followed.
const separator = "\x00"

// pathKey returns a path as a key of a map.
func pathKey(path []string) string { return strings.Join(path, separator) }

// register tells where a map of the values is. Maps may be at several paths.
func (t *reads) register(v any, path []string) {
	const most = 8 // paths of a map, which its maps are at as well
	m, ok := asMap(v)
	if !ok {
		return
	}
	at := reflect.ValueOf(m).Pointer()
	if t.paths[at] = append(t.paths[at], path); len(t.paths[at]) > most {
		t.unfit = true
		return
	}
	for k, e := range m {
		t.unfit = t.unfit || strings.Contains(k, separator)
		t.register(e, append(path[:len(path):len(path)], k))
	}
}

// pathsOf returns where a value is, when it is a map of the values.
func (t *reads) pathsOf(v any) (map[string]any, [][]string) {
	m, ok := asMap(v)
	if !ok {
		return nil, nil
	}
	return m, t.paths[reflect.ValueOf(m).Pointer()]
}

// step notes that keys were followed from a value on.
func (t *reads) step(v any, names []string) {
	for i, name := range names {
		m, paths := t.pathsOf(v)
		if m == nil {
			return
		}
		next, there := m[name]
		last := i == len(names)-1
		for _, path := range paths {
			switch at := append(path[:len(path):len(path)], name); {
			case isValuesMethod(name):
				put(t.whole, path)
			case there:
				t.note(next, at, last)
			default:
				t.lost = t.lost || strings.Contains(name, separator)
				put(t.absent, at)
			}
		}
		if len(paths) == 0 { // as the values themselves in what a template is given
			_, paths = t.pathsOf(next)
			for _, path := range paths {
				t.note(next, path, last)
			}
		}
		v = next
	}
}

// isValuesMethod reports whether the name is that of a method of Helm's type
// for values.
func isValuesMethod(name string) bool {
	_, ok := reflect.TypeFor[interface {
		YAML() (string, error)
		AsMap() map[string]any
		Encode(io.Writer) error
		PathValue(string) (any, error)
	}]().MethodByName(name)
	return ok || name == "Table"
}

func put(to map[string][]string, path []string) { to[pathKey(path)] = path }

// note notes that the value at a path was read, or passed on the way to another.
func (t *reads) note(v any, path []string, last bool) {
	switch _, isMap := asMap(v); {
	case !isMap:
		put(t.whole, path)
	case last:
		put(t.keys, path)
	default:
		put(t.passed, path)
	}
}

// each notes that all elements of a map were read.
func (t *reads) each(v any) {
	m, paths := t.pathsOf(v)
	if len(paths) == 0 {
		for _, e := range m { // as the values themselves in what a template is given
			_, paths := t.pathsOf(e)
			for _, path := range paths {
				t.note(e, path, true)
			}
		}
		return
	}
	for _, path := range paths {
		put(t.keys, path)
		for k, e := range m {
			t.note(e, append(path[:len(path):len(path)], k), true)
		}
	}
}

// all notes that a value was read with all that is in it.
func (t *reads) all(v any) {
	switch v.(type) {
	case nil, bool, string, int, int64, float64:
		return
	}
	t.within(reflect.ValueOf(v), 0)
}

func (t *reads) within(v reflect.Value, depth int) {
	const deepest, most = 16, 100_000
	if t.seen++; t.lost || t.seen > most {
		t.lost = true
		return
	}
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map:
		if paths := t.paths[v.Pointer()]; len(paths) > 0 {
			for _, path := range paths {
				put(t.whole, path)
			}
			return
		}
	case reflect.Slice, reflect.Array:
	default:
		return // no value of a chart is in a struct
	}
	if k := v.Type().Elem().Kind(); k <= reflect.Complex128 || k == reflect.String {
		return
	}
	if depth > deepest {
		t.lost = true
		return
	}
	if v.Kind() != reflect.Map {
		for i := range v.Len() {
			t.within(v.Index(i), depth+1)
		}
		return
	}
	for it := v.MapRange(); it.Next(); {
		t.within(it.Value(), depth+1)
	}
}

// has reports whether the value at a path was read.
func (t *reads) has(path []string) bool {
	if t.lost || t.unfit || t.keys[pathKey(path)] != nil || t.passed[pathKey(path)] != nil {
		return true
	}
	for n := len(path); n > 0; n-- {
		if t.whole[pathKey(path[:n])] != nil {
			return true
		}
	}
	return false
}

// handsOn reports whether a function hands its arguments on without looking
// into them.
func handsOn(name string) bool {
	switch name {
	case "include", "tpl", "default", "coalesce", "ternary", "required", "set", "unset", "empty", "fail",
		"typeOf", "typeIs", "typeIsLike", "kindOf", "kindIs", "first", "mustFirst", "last", "mustLast":
		return true
	}
	return isShallow(name) && name != "pick" && name != "omit" && name != "pluck" && name != "compact" && name != "mustCompact"
}

// observe makes the functions of a rendering tell what they read.
func (t *reads) observe(funcs template.FuncMap) {
	ranged, printed := funcs[fnRange].(func(reflect.Value) reflect.Value), funcs[fnPrint].(func(reflect.Value) reflect.Value)
	for name, f := range funcs {
		switch {
		case strings.HasPrefix(name, "fleetc_") || handsOn(name) || !takesValues(f):
		case name == "hasKey" || name == "get":
			funcs[name] = t.before(f, func(args []any) { t.step(args[0], []string{args[1].(string)}) })
		case name == "dig":
			funcs[name] = t.before(f, func(args []any) {
				var names []string
				for _, a := range args[:max(0, len(args)-2)] {
					if s, ok := a.(string); ok {
						names = append(names, s)
					}
				}
				t.step(args[len(args)-1], names)
			})
		case name == "dict":
			funcs[name] = t.before(f, func(args []any) {
				for i := 0; i < len(args); i += 2 {
					t.all(args[i]) // a key, which is made a text of
				}
			})
		default:
			funcs[name] = t.looked(f)
		}
	}
	maps.Copy(funcs, template.FuncMap{
		fnRange: func(v reflect.Value) reflect.Value { t.each(valueOf(v)); return ranged(v) },
		fnPrint: func(v reflect.Value) reflect.Value { t.all(valueOf(v)); return printed(v) },
		fnWhole: func(v reflect.Value) reflect.Value { t.all(valueOf(v)); return v },
		fnRead: func(args ...reflect.Value) (reflect.Value, error) {
			of := args[len(args)-1]
			if of.Kind() == reflect.Interface && of.IsNil() {
				return of, errRecall // an error where it is written, which would not be one behind this call
			}
			names := make([]string, len(args)-1)
			for i, a := range args[:len(args)-1] {
				names[i], _ = valueOf(a).(string)
			}
			t.step(valueOf(of), names)
			return of, nil
		},
	})
}

// looked returns a function whose arguments count as read with all that is in them.
// Those that charts call most are not called by reflection.
func (t *reads) looked(fn any) any {
	switch f := fn.(type) {
	case func(any) string:
		return func(a any) string { t.all(a); return f(a) }
	case func(...any) string:
		return func(a ...any) string {
			for _, a := range a {
				t.all(a)
			}
			return f(a...)
		}
	}
	return t.before(fn, func(args []any) {
		for _, a := range args {
			t.all(a)
		}
	})
}

// takesValues reports whether a function has an argument that can hold a map.
func takesValues(f any) bool {
	of := reflect.TypeOf(f)
	for i := range of.NumIn() {
		in := of.In(i)
		if in.Kind() == reflect.Slice {
			in = in.Elem()
		}
		if k := in.Kind(); k > reflect.Complex128 && k != reflect.String {
			return true
		}
	}
	return false
}

// before returns a function that shows its arguments to another one first.
func (t *reads) before(fn any, look func(args []any)) any {
	f := reflect.ValueOf(fn)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		plain := make([]any, 0, len(args))
		for i, a := range args {
			if f.Type().IsVariadic() && i == len(args)-1 {
				for j := range a.Len() {
					plain = append(plain, valueOf(a.Index(j)))
				}
				continue
			}
			plain = append(plain, valueOf(a))
		}
		if len(plain) > 0 {
			look(plain)
		}
		return invoke(f, args)
	}).Interface()
}

// valueOf returns what a reflected value is of; nil when it is of nothing.
func valueOf(v reflect.Value) any {
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	if inner, ok := v.Interface().(reflect.Value); ok {
		return valueOf(inner)
	}
	return v.Interface()
}
