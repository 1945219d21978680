package values

import (
	"sort"
	"strconv"
	"strings"
	"text/template/parse"
)

const (
	maxSteps   = 1 << 23 // nodes, calls and look-ups, and what they go through
	maxLoops   = 3       // rounds of a range that are told apart
	maxWords   = 16      // rounds of a range that goes through known texts
	maxRounds  = 30      // rounds of a range, or of a template that calls itself
	maxNesting = 2000    // nodes and calls within each other
	maxActive  = 3       // calls of one template within each other before they are taken together
)

// An interpreter goes through templates in the order in which Helm does. What
// it learns only grows: a map that a template modifies is both what it was and
// what it becomes.
type interpreter struct {
	values    *place // the values of the chart
	places    int    // how many there are
	roots     []*chartRoot
	objects   map[objectKey]*object
	modified  map[parse.Node]bool // expressions whose objects are modified later
	templates map[string]*template
	entries   []entry // what Helm renders, in order
	texts     map[string]*template
	functions map[string]function

	calls      map[string]*call
	call       *call // the one that is interpreted
	generation int   // counts the changes of what was looked at before
	coarse     bool  // what an expression makes is one object
	nesting    int
	steps      int
	query      int  // counts what is asked of places and objects
	stamp      int  // counts the unions of many values
	naming     bool // keys are those that values name
	following  bool // it goes by way of what stands beside a value
	shapes     *shapes
	exact      bool   // what is printed now is YAML or JSON of the value
	landing    *shape // of what is printed now; nil where that is not known
	landings   map[parse.Node]*shape
	written    map[*parse.TextNode]*value
	looked     int // at lines, for that
	gaveUp     string

	source *source // where we are
	pos    parse.Pos
	at     string // where we are, when that is said
}

// A template is a named piece of a file.
type template struct {
	tree   *parse.Tree
	source *source
	active int
}

// A source is a text with templates in it.
type source struct {
	name   string
	data   string
	lines  []int   // offsets of the line ends
	layout *layout // made when first asked for
}

// A scope holds the variables of a block.
type scope struct {
	vars        map[string]*value
	outer       *scope
	conditional bool // the block may be skipped, or run more than once
}

func (s *scope) inner() *scope { return &scope{vars: map[string]*value{}, outer: s} }

// optional returns the scope of a block that may be skipped or run again.
func (s *scope) optional() *scope {
	return &scope{vars: map[string]*value{}, outer: s, conditional: true}
}

func (s *scope) get(name string) *value {
	for ; s != nil; s = s.outer {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return nil
}

// assign sets the variable, or adds the value to those that it can have when
// the assignment may be skipped.
func (r *interpreter) assign(s *scope, name string, v *value) {
	certain := true
	for ; s != nil; s = s.outer {
		if old, ok := s.vars[name]; ok {
			if certain && v != nil {
				s.vars[name] = v
				return
			}
			joined := r.union(old, v)
			if r.coarse && old != nil && joined != old && len(joined.texts) > len(old.texts) {
				// A text that a loop makes longer in each round.
				joined = r.union(&value{places: joined.places, roots: joined.roots, objects: joined.objects, unknown: joined.unknown}, textOf(wild))
			}
			s.vars[name] = joined
			return
		}
		certain = certain && !s.conditional
	}
}

// state returns a text that is the same as long as no variable changes.
func (r *interpreter) state(s *scope) string {
	var b strings.Builder
	for ; s != nil; s = s.outer {
		names := make([]string, 0, len(s.vars))
		for name := range s.vars {
			names = append(names, name)
		}
		sort.Strings(names)
		r.steps += len(names)
		for _, name := range names {
			b.WriteString(name + s.vars[name].key() + ";")
		}
	}
	return b.String()
}

func newSource(name, data string) *source {
	s := &source{name: name, data: data}
	for i := range len(data) {
		if data[i] == '\n' {
			s.lines = append(s.lines, i)
		}
	}
	return s
}

// where says where we are, as Helm does.
func (r *interpreter) where() string {
	if r.at != "" || r.source == nil {
		return r.at
	}
	return r.source.name + ":" + strconv.Itoa(sort.SearchInts(r.source.lines, int(r.pos))+1)
}

// step counts, and reports whether to go on.
func (r *interpreter) step() bool {
	if r.steps++; r.steps > maxSteps {
		r.giveUp("the templates take too many steps")
	}
	return r.gaveUp == ""
}

// giveUp ends the interpretation, for the first reason that is given.
func (r *interpreter) giveUp(why string) {
	if r.gaveUp == "" {
		r.gaveUp = why
	}
}

// run interprets what Helm renders, in its order.
func (r *interpreter) run() {
	for _, e := range r.entries {
		r.use(r.interpret("entry "+e.name, e.template, e.root.self), Printed)
	}
}

// list returns what the nodes print, one after the other.
func (r *interpreter) list(l *parse.ListNode, dot *value, s *scope) *value {
	out := textOf("")
	if l == nil || !r.enter() {
		return out
	}
	defer r.leave()
	for _, n := range l.Nodes {
		if !r.step() {
			return anything()
		}
		out = r.append(out, r.node(n, dot, s))
	}
	return out
}

// append returns the output a followed by the output b. A value that was made
// into text stays what it is as long as it is all there is.
func (r *interpreter) append(a, b *value) *value {
	switch {
	case isBlank(b):
		return a
	case isBlank(a):
		return b
	}
	r.use(a, Printed)
	r.use(b, Printed)
	return &value{texts: concat(a.written(), b.written())}
}

// isBlank reports whether the output can only be blank.
func isBlank(v *value) bool {
	texts, ok := v.literal()
	for _, t := range texts {
		ok = ok && strings.TrimSpace(t) == ""
	}
	return ok
}

// node returns what the node prints.
func (r *interpreter) node(n parse.Node, dot *value, s *scope) *value {
	r.pos = n.Position()
	switch n := n.(type) {
	case *parse.TextNode:
		return r.text(n)
	case *parse.ActionNode:
		v := r.pipe(n.Pipe, dot, s)
		if len(n.Pipe.Decl) > 0 {
			return textOf("")
		}
		return r.land(n, n.Pipe, v)
	case *parse.IfNode:
		return r.branch(&n.BranchNode, dot, s, false)
	case *parse.WithNode:
		return r.branch(&n.BranchNode, dot, s, true)
	case *parse.RangeNode:
		return r.loop(n, dot, s)
	case *parse.TemplateNode:
		var v *value
		if n.Pipe != nil {
			v = r.pipe(n.Pipe, dot, s)
		}
		if out := r.include(textOf(n.Name), v); out != nil {
			return r.land(n, n.Pipe, out)
		}
		return textOf(wild)
	}
	return textOf("")
}

// text returns what a text prints.
func (r *interpreter) text(n *parse.TextNode) *value {
	v := r.written[n]
	if v == nil {
		if v = textOf(wild); len(n.Text) <= maxText {
			v = textOf(string(n.Text))
		}
		r.written[n] = v
	}
	return v
}

// output returns what printing the value gives. Values count as printed, save
// those in texts that may yet be read back.
func (r *interpreter) output(v *value) *value {
	if v == nil {
		return textOf(wild)
	}
	out := &value{texts: v.written()}
	rest := &value{places: v.places, roots: v.roots}
	for _, o := range v.objects {
		if o.encoded != nil {
			out.objects = append(out.objects, o)
		} else {
			rest.objects = append(rest.objects, o)
		}
	}
	r.use(rest, Printed)
	if len(out.objects) == len(v.objects) && len(v.objects) > 0 && len(v.places)+len(v.roots)+len(v.texts) == 0 && !v.unknown {
		out.texts = nil
	}
	return out
}

// branch interprets both ways of if and with.
func (r *interpreter) branch(n *parse.BranchNode, dot *value, s *scope, with bool) *value {
	s = s.inner()
	v := r.pipe(n.Pipe, dot, s)
	r.use(v, Tested|Decides)
	then := dot
	if with {
		then = v
	}
	return r.union(r.list(n.List, then, s.optional()), r.list(n.ElseList, dot, s.optional()))
}

// placesOrNil returns the places of the value, if there is one.
func (v *value) placesOrNil() []*place {
	if v == nil {
		return nil
	}
	return v.places
}
