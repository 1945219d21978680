package render

import (
	"io"
	"maps"
	"reflect"
	"strings"
	"text/template"
)

// reads records which values templates read. Where a use of a value cannot be
// tracked, the value with everything in it counts as read: the record may
// contain too much, never too little.
//
// Maps of the values are identified by address. A template gets every map from
// the values, and then takes a field of it or passes it to a function.
type reads struct {
	paths       map[uintptr][][]string // the paths of each map of the values
	recorded    map[string]read        // by key, without digests
	everything  bool                   // whether any value may have been read
	untrackable bool                   // whether the values cannot be tracked
	visited     int                    // number of visited values
}

func newReads() *reads {
	r := &reads{}
	r.reset()
	return r
}

// reset clears the recorded reads and the paths of the values.
func (t *reads) reset() {
	t.paths, t.untrackable = map[uintptr][][]string{}, false
	t.forget()
}

// forget clears the recorded reads.
func (t *reads) forget() {
	t.recorded, t.everything, t.visited = map[string]read{}, false, 0
}

// separator joins the keys of a path. A value with a key that contains it
// cannot be tracked.
const separator = "\x00"

// readKey returns the key of a read.
func readKey(mode readMode, path []string) string {
	return string(rune(mode)) + strings.Join(path, separator)
}

// register records the path of a map and its nested maps. A map may have
// several paths.
func (t *reads) register(v any, path []string) {
	const most = 8 // paths per map
	m, ok := asMap(v)
	if !ok {
		return
	}
	at := reflect.ValueOf(m).Pointer()
	if t.paths[at] = append(t.paths[at], path); len(t.paths[at]) > most {
		t.untrackable = true
		return
	}
	for k, e := range m {
		t.untrackable = t.untrackable || strings.Contains(k, separator)
		t.register(e, append(path[:len(path):len(path)], k))
	}
}

// pathsOf returns the paths of a map of the values.
func (t *reads) pathsOf(v any) (map[string]any, [][]string) {
	m, ok := asMap(v)
	if !ok {
		return nil, nil
	}
	return m, t.paths[reflect.ValueOf(m).Pointer()]
}

// recordFields records that keys were looked up, starting at a value.
func (t *reads) recordFields(v any, names []string) {
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
				t.put(readWhole, path)
			case there:
				t.record(next, at, last)
			default:
				t.everything = t.everything || strings.Contains(name, separator)
				t.put(readAbsent, at)
			}
		}
		if len(paths) == 0 { // v is the scope, which holds the values
			_, paths = t.pathsOf(next)
			for _, path := range paths {
				t.record(next, path, last)
			}
		}
		v = next
	}
}

// isValuesMethod reports whether a name is a method of chartutil.Values.
func isValuesMethod(name string) bool {
	_, ok := reflect.TypeFor[interface {
		YAML() (string, error)
		AsMap() map[string]any
		Encode(io.Writer) error
		PathValue(string) (any, error)
	}]().MethodByName(name)
	return ok || name == "Table"
}

func (t *reads) put(mode readMode, path []string) {
	key := readKey(mode, path)
	t.recorded[key] = read{mode: mode, path: path, key: key}
}

// record records that the value at a path was read, or only traversed.
func (t *reads) record(v any, path []string, last bool) {
	switch _, isMap := asMap(v); {
	case !isMap:
		t.put(readWhole, path)
	case last:
		t.put(readKeys, path)
	default:
		t.put(readKind, path)
	}
}

// recordElements records that all elements of a map were read.
func (t *reads) recordElements(v any) {
	m, paths := t.pathsOf(v)
	if len(paths) == 0 {
		for _, e := range m { // v is the scope, which holds the values
			_, paths := t.pathsOf(e)
			for _, path := range paths {
				t.record(e, path, true)
			}
		}
		return
	}
	for _, path := range paths {
		t.put(readKeys, path)
		for k, e := range m {
			t.record(e, append(path[:len(path):len(path)], k), true)
		}
	}
}

// recordWhole records that a value was read with everything in it.
func (t *reads) recordWhole(v any) {
	switch v.(type) {
	case nil, bool, string, int, int64, float64:
		return
	}
	t.recordNested(reflect.ValueOf(v), 0)
}

func (t *reads) recordNested(v reflect.Value, depth int) {
	const deepest, most = 16, 100_000
	if t.visited++; t.everything || t.visited > most {
		t.everything = true
		return
	}
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map:
		if paths := t.paths[v.Pointer()]; len(paths) > 0 {
			for _, path := range paths {
				t.put(readWhole, path)
			}
			return
		}
	case reflect.Slice, reflect.Array:
	default:
		return // structs hold no values of a chart
	}
	if k := v.Type().Elem().Kind(); k <= reflect.Complex128 || k == reflect.String {
		return
	}
	if depth > deepest {
		t.everything = true
		return
	}
	if v.Kind() != reflect.Map {
		for i := range v.Len() {
			t.recordNested(v.Index(i), depth+1)
		}
		return
	}
	for it := v.MapRange(); it.Next(); {
		t.recordNested(it.Value(), depth+1)
	}
}

// has reports whether the value at a path was read.
func (t *reads) has(path []string) bool {
	recorded := func(mode readMode, path []string) bool {
		_, ok := t.recorded[readKey(mode, path)]
		return ok
	}
	if t.everything || t.untrackable || recorded(readKeys, path) || recorded(readKind, path) {
		return true
	}
	for n := len(path); n > 0; n-- {
		if recorded(readWhole, path[:n]) {
			return true
		}
	}
	return false
}

// passesOn reports whether a function passes its arguments on without reading
// inside them.
func passesOn(name string) bool {
	switch name {
	case "include", "tpl", "default", "coalesce", "ternary", "required", "set", "unset", "empty", "fail",
		"typeOf", "typeIs", "typeIsLike", "kindOf", "kindIs", "first", "mustFirst", "last", "mustLast":
		return true
	}
	return isShallow(name) && name != "pick" && name != "omit" && name != "pluck" && name != "compact" && name != "mustCompact"
}

// observe wraps the functions of a rendering so that they record reads.
func (t *reads) observe(funcs template.FuncMap) {
	ranged, printed := funcs[fnRange].(func(reflect.Value) reflect.Value), funcs[fnPrint].(func(reflect.Value) reflect.Value)
	for name, f := range funcs {
		switch {
		case strings.HasPrefix(name, "fleetc_") || passesOn(name) || !takesValues(f):
		case name == "hasKey" || name == "get":
			funcs[name] = t.callBefore(f, func(args []any) { t.recordFields(args[0], []string{args[1].(string)}) })
		case name == "dig":
			funcs[name] = t.callBefore(f, func(args []any) {
				var names []string
				for _, a := range args[:max(0, len(args)-2)] {
					if s, ok := a.(string); ok {
						names = append(names, s)
					}
				}
				t.recordFields(args[len(args)-1], names)
			})
		case name == "dict":
			funcs[name] = t.callBefore(f, func(args []any) {
				for i := 0; i < len(args); i += 2 {
					t.recordWhole(args[i]) // a key, which is converted to text
				}
			})
		default:
			funcs[name] = t.recordsArgs(f)
		}
	}
	maps.Copy(funcs, template.FuncMap{
		fnRange: func(v reflect.Value) reflect.Value { t.recordElements(valueOf(v)); return ranged(v) },
		fnPrint: func(v reflect.Value) reflect.Value { t.recordWhole(valueOf(v)); return printed(v) },
		fnWhole: func(v reflect.Value) reflect.Value { t.recordWhole(valueOf(v)); return v },
		fnRead: func(args ...reflect.Value) (reflect.Value, error) {
			of := args[len(args)-1]
			if of.Kind() == reflect.Interface && of.IsNil() {
				return of, errCacheUnusable // repeat without the cache, which reports the error at its position
			}
			names := make([]string, len(args)-1)
			for i, a := range args[:len(args)-1] {
				names[i], _ = valueOf(a).(string)
			}
			t.recordFields(valueOf(of), names)
			return of, nil
		},
	})
}

// recordsArgs returns a function that records its arguments as read with
// everything in them.
func (t *reads) recordsArgs(fn any) any {
	return t.callBefore(fn, func(args []any) {
		for _, a := range args {
			t.recordWhole(a)
		}
	})
}

// takesValues reports whether a function has a parameter that can hold a map.
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

// callBefore returns a function that passes its arguments to look before it
// calls fn.
func (t *reads) callBefore(fn any, look func(args []any)) any {
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

// valueOf returns the value that v reflects, or nil.
func valueOf(v reflect.Value) any {
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	if inner, ok := v.Interface().(reflect.Value); ok {
		return valueOf(inner)
	}
	return v.Interface()
}
