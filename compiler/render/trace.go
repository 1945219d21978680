package render

import (
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"
)

// A trace is what a rendering read, and which of its templates printed what.
// Only renderings of a [Probe] have one. A value that is read in a way that is
// not followed counts as read with all that is in it: the trace may name too
// much, and never too little.
type trace struct {
	sites []site              // of all parsed nodes, by their numbers
	words map[string][]string // texts that stand beside fields of a name in one command
	paths map[uintptr][]string
	whole map[string]bool // paths of what was read with all below it, see [pathKey]
	keys  map[string]bool // paths of what was read without what is below it
	open  *printing       // the execution that goes on
	last  *printing       // the one that ended last
}

// A site is a node of a template text.
type site struct {
	file     string // as [text] names it
	content  string
	pos      int  // in content
	verbatim bool // whether the node prints what stands there
}

func (s site) line(further int) int { return 1 + strings.Count(s.content[:s.pos], "\n") + further }

// A printing is one execution of a template, by include or tpl or for itself.
type printing struct {
	above  *printing
	site   int   // the node that is executed
	calls  []int // the nodes that template actions are within
	chunks []chunk
	inner  []*printing // those that the node has waited for
	text   strings.Builder
}

// A chunk is what a node printed at once.
type chunk struct {
	start, end int
	site       int
	calls      []int
	inner      []*printing
}

func newTrace() *trace {
	return &trace{words: map[string][]string{}, paths: map[uintptr][]string{}, whole: map[string]bool{}, keys: map[string]bool{}}
}

// pathKey returns a path as a key of a map.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// register tells the trace where a map of the values is.
func (t *trace) register(v any, path []string) {
	m, ok := asMap(v)
	if !ok {
		return
	}
	t.paths[reflect.ValueOf(m).Pointer()] = path
	for k, e := range m {
		t.register(e, append(path[:len(path):len(path)], k))
	}
}

// pathOf returns where a value is, when it is a map of the values.
func (t *trace) pathOf(v any) (map[string]any, []string, bool) {
	m, ok := asMap(v)
	if !ok {
		return nil, nil, false
	}
	path, ok := t.paths[reflect.ValueOf(m).Pointer()]
	return m, path, ok
}

// step notes that keys were followed from a value on.
func (t *trace) step(v any, names []string) {
	for _, name := range names {
		m, path, known := t.pathOf(v)
		if m == nil {
			return
		}
		next, there := m[name]
		switch {
		case known && there:
			t.note(next, append(path[:len(path):len(path)], name))
		case known && isValuesMethod(name):
			t.whole[pathKey(path)] = true
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

// note notes that the value at a path was read.
func (t *trace) note(v any, path []string) {
	if _, isMap := asMap(v); isMap {
		t.keys[pathKey(path)] = true
		return
	}
	t.whole[pathKey(path)] = true
}

// each notes that all elements of a map were read.
func (t *trace) each(v any) {
	if m, path, known := t.pathOf(v); known {
		t.keys[pathKey(path)] = true
		for k, e := range m {
			t.note(e, append(path[:len(path):len(path)], k))
		}
	}
}

// all notes that a value was read with all that is in it.
func (t *trace) all(v any, depth int) {
	const deepest = 8
	if m, path, known := t.pathOf(v); known {
		t.whole[pathKey(path)] = true
	} else if depth < deepest {
		for _, e := range m {
			t.all(e, depth+1)
		}
	}
	if l, ok := v.([]any); ok && depth < deepest {
		for _, e := range l {
			t.all(e, depth+1)
		}
	}
}

// has reports whether the value at a path was read.
func (t *trace) has(path []string) bool {
	if t.keys[pathKey(path)] {
		return true
	}
	for n := len(path); n > 0; n-- {
		if t.whole[pathKey(path[:n])] {
			return true
		}
	}
	return false
}

// handsOn reports whether a function hands its arguments on without looking
// into them.
func handsOn(name string) bool {
	switch name {
	case "include", "tpl", "dict", "default", "coalesce", "ternary", "required", "set", "unset", "empty", "fail", "hasKey", "get", "dig",
		"typeOf", "typeIs", "typeIsLike", "kindOf", "kindIs", "first", "mustFirst", "last", "mustLast":
		return true
	}
	return isShallow(name) && name != "pick" && name != "omit" && name != "pluck" && name != "compact" && name != "mustCompact"
}

// observe makes the functions of a rendering tell the trace what they read.
func (t *trace) observe(funcs template.FuncMap) {
	ranged, printed := funcs[fnRange].(func(reflect.Value) reflect.Value), funcs[fnPrint].(func(reflect.Value) reflect.Value)
	for name, f := range funcs {
		switch {
		case strings.HasPrefix(name, "fleetc_"):
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
		case !handsOn(name):
			funcs[name] = t.before(f, func(args []any) {
				for _, a := range args {
					t.all(a, 0)
				}
			})
		}
	}
	maps.Copy(funcs, template.FuncMap{
		fnRange: func(v reflect.Value) reflect.Value { t.each(valueOf(v)); return ranged(v) },
		fnPrint: func(v reflect.Value) reflect.Value { t.all(valueOf(v), 0); return printed(v) },
		fnRead: func(args ...any) reflect.Value {
			of := args[len(args)-1]
			names := make([]string, len(args)-1)
			for i, a := range args[:len(args)-1] {
				names[i], _ = a.(string)
			}
			t.step(of, names)
			return reflect.ValueOf(of)
		},
		fnAt: func(n int) bool {
			t.open.site, t.open.inner = n, nil
			return false
		},
		fnCall: func(n int) bool { t.open.calls = append(t.open.calls, n); return false },
		fnBack: func(int) bool { t.open.calls = t.open.calls[:len(t.open.calls)-1]; return false },
	})
}

// before returns a function that shows its arguments to another one first.
func (t *trace) before(fn any, look func(args []any)) any {
	f := reflect.ValueOf(fn)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		var plain []any
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

// begin tells the trace that a template is executed, which writes to w, and
// returns what it is to write to instead.
func (t *trace) begin(w io.Writer) io.Writer {
	t.open = &printing{above: t.open}
	return tracer{w, t.open}
}

// end tells the trace that the template that began last has ended.
func (t *trace) end() {
	t.last = t.open
	if t.open = t.open.above; t.open != nil {
		t.open.inner = append(t.open.inner, t.last)
	}
}

// A tracer remembers which node wrote what.
type tracer struct {
	w io.Writer
	p *printing
}

func (w tracer) Write(b []byte) (int, error) {
	p := w.p
	if text := withoutMissing(string(b)); text != "" {
		start := p.text.Len()
		p.text.WriteString(text)
		p.chunks = append(p.chunks, chunk{start, p.text.Len(), p.site, slices.Clone(p.calls), p.inner})
	}
	return w.w.Write(b)
}
