package values

import (
	"slices"
	"strings"
	"text/template/parse"
)

// A sinks value holds the sinks where a value is printed as a whole: places
// in Kubernetes objects, or elsewhere.
type sinks struct {
	shapes    []*shape
	elsewhere bool
}

// neutral is a sink that shows nothing about the purpose of a value: a digest,
// or a comparison of texts.
var neutral = &shape{}

// An encoding says how a template makes its output of a value.
type encoding uint8

const (
	unquoted encoding = iota // the value itself
	quoted                   // the value in quotes
	asYAML                   // its YAML or JSON
)

// maxSinks is the maximum number of sinks that are distinguished per value.
const maxSinks = 8

// add adds a sink, nil for elsewhere, and reports whether it is new.
func (l *sinks) add(s *shape) bool {
	switch {
	case l.elsewhere && s != neutral, slices.Contains(l.shapes, s):
		return false
	case !s.known() || len(l.shapes) == maxSinks:
		l.elsewhere = true
		return true
	}
	l.shapes = append(l.shapes, s)
	return true
}

// known reports whether the shape determines the keys.
func (s *shape) known() bool {
	return s == neutral || s.closed() || s != nil && s.list && s.elem.closed()
}

// all returns the sinks, with nil for elsewhere.
func (l *sinks) all() []*shape {
	out := slices.Clone(l.shapes)
	if l.elsewhere || len(out) == 0 {
		out = append(out, nil)
	}
	return out
}

// and returns the union of the sinks.
func (l sinks) and(o sinks) sinks {
	l.shapes = slices.Clone(l.shapes)
	for _, s := range o.shapes {
		l.add(s)
	}
	l.elsewhere = l.elsewhere || o.elsewhere
	return l
}

// key returns the sink for the value at the key of a map, or the element of a
// list, that is printed to the sink s.
func (s *shape) key(key string) *shape {
	switch {
	case s == nil || s == neutral:
		return s
	case s.list && (key == anItem || strings.HasPrefix(key, number)):
		return s.elem
	case s.list || strings.Contains(key, wild):
		return nil
	}
	below, _ := s.at(key)
	return below
}

// below returns the sink for the value at q when p, an ancestor of q, is printed
// to the sink s.
func (s *shape) below(p, q *place) *shape {
	if p == q || s == nil || s == neutral {
		return s
	}
	if q.parent == nil {
		return nil
	}
	s = s.below(p, q.parent)
	if q.parent.any == q || q.parent.user == q {
		return s.key(anItem)
	}
	return s.key(q.key)
}

// useAt records that the value is printed to the sink.
func (r *interpreter) useAt(v *value, s *shape) {
	defer func(before *shape) { r.sink = before }(r.sink)
	r.sink = s
	r.use(v, Printed)
}

// usedIn records how the object's sinks use a value that is put into it.
func (r *interpreter) usedIn(o *object, v *value, key string) {
	if o.mode&Printed == 0 {
		return
	}
	for _, s := range o.sinks.all() {
		r.useAt(v, s.key(key))
	}
}

// maxLooked is the maximum number of lines that are examined to find the sinks
// of actions. The sinks of later actions are unknown.
const maxLooked = 1 << 24

// printAt returns the output of an action. When the text around the action shows
// that it prints to a place in a Kubernetes object, the value counts as printed
// to that sink.
func (r *interpreter) printAt(n parse.Node, p *parse.PipeNode, v *value) *value {
	if v == nil || len(v.objects)+len(v.places) == 0 {
		return r.output(v)
	}
	s, known := r.sinkAt[n]
	if !known {
		s = r.sinkOf(n, p)
		r.sinkAt[n] = s
	}
	if s == nil {
		return r.output(v)
	}
	texts := v.written()
	r.printsTo(v, s)
	r.useAt(v, s)
	return &value{texts: texts}
}

// sinkOf returns the sink of the action; nil when it is unknown.
func (r *interpreter) sinkOf(n parse.Node, p *parse.PipeNode) *shape {
	src := r.source
	if src == nil || p == nil {
		return nil
	}
	if t := r.templates[r.call.name]; t != nil && printsOnce(t.tree.Root) {
		if s := r.inFragment(spot{root: true}); s != nil {
			return s
		}
	}
	at, open, ok := r.spotOf(src, n, p)
	if open < 0 {
		return nil
	}
	defer func(before int) { r.looked += src.layout.looked - before }(src.layout.looked)
	var kinds []apiKind
	if at.root {
		if kinds = src.layout.kinds(open); len(kinds) == 0 {
			if s := r.inFragment(at); s != nil && (len(at.path) > 0 || s.form&(mapForm|listForm) != 0) {
				return s
			}
		}
	}
	own, indent, _ := indentation(p)
	if !ok {
		if src.layout.isDocument(open) {
			return mapSink
		}
		return src.layout.beside(open, own, indent)
	}
	if !at.whole {
		kinds = nil
	}
	s := r.shapes.place(kinds, at.path)
	switch {
	case s == nil:
		return src.layout.beside(open, own, indent)
	case at.list && !s.list:
		return nil
	}
	return s
}

// spotOf returns the place that an action prints to, and the offset of the
// action; -1 when its indentation or its end of line is unknown. ok is false when
// the place is unknown. The pipeline is nil for a template action.
func (r *interpreter) spotOf(src *source, n parse.Node, p *parse.PipeNode) (at spot, open int, ok bool) {
	own, indent := false, 0
	if p != nil {
		if own, indent, ok = indentation(p); !ok {
			return spot{}, -1, false
		}
	}
	if int(n.Position()) > len(src.data) {
		return spot{}, -1, false
	}
	open = strings.LastIndex(src.data[:n.Position()], "{{")
	if open < 0 || r.looked > maxLooked || !src.endsLine(open) {
		return spot{}, -1, false
	}
	if src.layout == nil {
		src.layout = newLayout(src.data)
	}
	defer func(before int) { r.looked += src.layout.looked - before }(src.layout.looked)
	at, ok = src.layout.place(open, own, indent)
	return at, open, ok
}

// endsLine reports whether nothing is printed after the action on its line.
func (s *source) endsLine(open int) bool {
	for {
		end := actionEnd(s.data, open)
		rest := strings.TrimLeft(s.data[end:], " \t")
		if strings.HasSuffix(s.data[open:end], "-}}") {
			rest = strings.TrimLeft(rest, "\r\n\t ")
		}
		if rest == "" || strings.ContainsRune("\r\n#", rune(rest[0])) {
			return true
		}
		word := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(rest, "{{"), "-"), " ")
		switch {
		case !strings.HasPrefix(rest, "{{"):
			return false
		case strings.HasPrefix(word, "else"):
			return true
		case !strings.HasPrefix(word, "end") && !strings.HasPrefix(word, "/*"):
			return false
		}
		open = len(s.data) - len(rest)
	}
}

// indentation returns how the last command of a pipeline indents its output: own
// reports whether the output starts on a new line, by is the indentation. ok is
// false when the indentation is computed.
func indentation(p *parse.PipeNode) (own bool, by int, ok bool) {
	if len(p.Cmds) == 0 {
		return false, 0, true
	}
	last := p.Cmds[len(p.Cmds)-1]
	name := functionOf(last.Args[0])
	if name == "tpl" && len(last.Args) > 1 {
		if inner, isPipe := last.Args[1].(*parse.PipeNode); isPipe {
			return indentation(inner)
		}
	}
	if name != "indent" && name != "nindent" {
		return false, 0, true
	}
	if len(last.Args) < 2 {
		return false, 0, false
	}
	n, isNumber := last.Args[1].(*parse.NumberNode)
	if !isNumber || !n.IsInt || n.Int64 < 0 || n.Int64 > 200 {
		return false, 0, false
	}
	return name == "nindent", int(n.Int64), true
}
