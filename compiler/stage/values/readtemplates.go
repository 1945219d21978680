package values

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/template/parse"
)

const (
	maxSteps   = 1 << 23 // nodes, calls, look-ups and the items that these visit
	maxLoops   = 3       // rounds of a range before each expression makes only one object
	maxWords   = 16      // rounds of a range over known texts
	maxRounds  = 30      // rounds of a range, or of a recursive template
	maxNesting = 2000    // nested nodes and calls
	maxActive  = 3       // nested calls of one template before they are merged into one
)

// An interpreter interprets templates in Helm's order. Its facts only grow: for
// a map that a template modifies, they include the content before and after.
type interpreter struct {
	values    *place // the values of the chart
	places    int    // number of places
	roots     []*chartRoot
	objects   map[objectKey]*object
	modified  map[parse.Node]bool // expressions whose objects are modified later
	templates map[string]*template
	entries   []entry // the templates that Helm renders, in order
	texts     map[string]*template
	functions map[string]function

	calls      map[string]*call
	call       *call // the current call
	generation int   // number of changes to facts that were read before
	coarse     bool  // each expression makes only one object
	nesting    int
	steps      int
	query      int  // number of queries of places and objects
	stamp      int  // number of unions of many values
	naming     bool // the keys of the query are themselves values
	following  bool // the query follows the other values at a place
	shapes     *shapes
	by         encoding // how the current output is made of the value
	inQuotes   bool     // the text around the current action quotes its output
	sink       *shape   // the sink of the current output; nil when unknown
	sinkAt     map[parse.Node]*shape
	inclusions map[string][]inclusion // by the name of the included template; built on first use
	included   map[string][]position  // places of the output of templates, by name
	written    map[*parse.TextNode]*value
	userRound  bool              // in a round for keys of the user
	unrolling  bool              // in the body of an unrolled loop
	guards     *guard            // the conditions around the current node that test kinds
	kindTests  map[kindTest]bool // whether the branch of the condition prints the value
	testing    *guard            // the condition that is being evaluated, if it tests kinds
	looked     int               // number of lines examined to find sinks
	gaveUp     string

	source *source // the current file
	pos    parse.Pos
	at     string // the current position, if set; else computed from source and pos
}

// A template is a named template with its source.
type template struct {
	tree   *parse.Tree
	source *source
	active int
}

// A source is a text that contains templates.
type source struct {
	name   string
	data   string
	lines  []int   // offsets of the line ends
	layout *layout // parsed on first use
}

// A scope holds the variables of a block.
type scope struct {
	vars        map[string]*value
	outer       *scope
	conditional bool // the block may be skipped, or run more than once
	narrows     bool // it only restricts variables of outer blocks
}

func (s *scope) inner() *scope { return &scope{vars: map[string]*value{}, outer: s} }

// optional returns the scope of a block that may be skipped or repeated.
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

// assign sets the variable. When the assignment may be skipped, it adds the
// value to the possible ones.
func (r *interpreter) assign(s *scope, name string, v *value) {
	certain := true
	for ; s != nil; s = s.outer {
		if _, ok := s.vars[name]; ok && s.narrows {
			delete(s.vars, name)
		} else if ok {
			old := s.vars[name]
			if certain && v != nil {
				s.vars[name] = v
				return
			}
			joined := r.union(old, v)
			if r.coarse && old != nil && joined != old && len(joined.texts) > len(old.texts) {
				// A loop makes the text longer in each round.
				joined = r.union(&value{places: joined.places, roots: joined.roots, objects: joined.objects, unknown: joined.unknown}, textOf(wild))
			}
			s.vars[name] = joined
			return
		}
		certain = certain && !s.conditional
	}
}

// state returns a text that changes exactly when a variable changes.
func (r *interpreter) state(s *scope) string {
	var b strings.Builder
	for ; s != nil; s = s.outer {
		r.steps += len(s.vars)
		for _, name := range slices.Sorted(maps.Keys(s.vars)) {
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

// where returns the current position, as Helm writes it.
func (r *interpreter) where() string {
	if r.at != "" || r.source == nil {
		return r.at
	}
	return r.source.name + ":" + strconv.Itoa(sort.SearchInts(r.source.lines, int(r.pos))+1)
}

// step counts a step, and reports whether to continue.
func (r *interpreter) step() bool {
	if r.steps++; r.steps > maxSteps {
		r.giveUp("the templates take too many steps")
	}
	return r.gaveUp == ""
}

// giveUp stops the interpretation and stores the first reason.
func (r *interpreter) giveUp(why string) {
	if r.gaveUp == "" {
		r.gaveUp = why
	}
}

// run interprets the templates that Helm renders, in its order.
func (r *interpreter) run() {
	for _, e := range r.entries {
		r.use(r.interpret("entry "+e.name, e.template, e.root.self), Printed)
	}
}

// list returns the output of the nodes in order.
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

// append returns the output a followed by the output b. An encoded value that is
// the only output remains an encoded value.
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

// node returns the output of the node.
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
		r.printBare(v)
		defer func(before bool) { r.inQuotes = before }(r.inQuotes)
		r.inQuotes = r.source.betweenQuotes(n)
		return r.printAt(n, n.Pipe, v)
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
			return r.printAt(n, n.Pipe, out)
		}
		return textOf(wild)
	}
	return textOf("")
}

// text returns the output of a text node.
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

// output returns the output of printing the value. Values count as printed,
// except in texts that can still be decoded.
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

// branch interprets both branches of if and with.
func (r *interpreter) branch(n *parse.BranchNode, dot *value, s *scope, with bool) *value {
	s = s.inner()
	if r.unrolling && !with {
		if truth, known := r.decided(n.Pipe, dot, s); known && truth {
			return r.list(n.List, dot, s)
		} else if known {
			return r.list(n.ElseList, dot, s)
		}
	}
	v, g := r.guarded(n.Pipe, dot, s)
	defer r.unguard(g, n)
	r.use(v, Tested|Decides)
	if r.unrolling && with && v.isFull() {
		return r.list(n.List, v, s)
	}
	then, known := dot, s
	if with {
		then = v
	} else {
		known = r.narrowed(n.Pipe, dot, s)
	}
	out := r.list(n.List, then, known.optional())
	g.otherwise()
	return r.union(out, r.list(n.ElseList, dot, s.optional()))
}

// placesOrNil returns the places of the value, nil for a nil value.
func (v *value) placesOrNil() []*place {
	if v == nil {
		return nil
	}
	return v.places
}
