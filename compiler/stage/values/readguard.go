package values

import (
	"slices"
	"strings"
	"text/template/parse"
)

// This file models conditions that test the kind of a value, as in
// {{ if kindIs "string" .Values.port }}. Templates print the value below such a condition
// only for some kinds.

// A kindTests value says how templates print a value whose kind they test.
type kindTests struct {
	always form // conditions of the sinks that no such test guards
	only   Kind // the kinds for which templates print it; 0 when none prints it
	apart  bool // a template uses the result of a test other than to print the value or not
}

// and returns the union of the uses.
func (t kindTests) and(o kindTests) kindTests {
	return kindTests{always: t.always | o.always, only: t.only | o.only, apart: t.apart || o.apart}
}

// A guard is the condition of a branch, with the places whose kind it tests.
type guard struct {
	outer  *guard
	node   parse.Node     // the condition
	places map[*place]int // with their number of prints before the branch
	kinds  Kind           // the kinds for which the present list of nodes is rendered
}

// guarded evaluates the condition of a branch. The guard holds until r.unguard.
func (r *interpreter) guarded(p *parse.PipeNode, dot *value, s *scope) (*value, *guard) {
	defer func(before *guard) { r.testing = before }(r.testing)
	r.testing = nil
	var g *guard
	if callsKindTest(p) {
		g = &guard{outer: r.guards, node: p, places: map[*place]int{}, kinds: Any}
		r.testing = g
	}
	v := r.pipe(p, dot, s)
	if g != nil {
		r.guards = g
		if c := onlyCommand(p); c != nil && len(c.Args) == 3 && functionOf(c.Args[0]) == "kindIs" {
			if name, ok := c.Args[1].(*parse.StringNode); ok {
				g.kinds = kindsNamed(textOf(name.Text))
			}
		}
	}
	return v, g
}

// A kindTest is a place whose kind a condition tests.
type kindTest struct {
	condition parse.Node
	place     *place
}

// unguard ends the branch of a guard, and records whether it prints the tested values.
// A branch whose calls are memoized printed them before. A branch that only refuses
// values does not say how templates print the others.
func (r *interpreter) unguard(g *guard, n *parse.BranchNode) {
	if g == nil {
		return
	}
	r.guards = g.outer
	if onlyFails(n.List) && onlyFails(n.ElseList) {
		return
	}
	for p, before := range g.places {
		test := kindTest{g.node, p}
		r.kindTests[test] = r.kindTests[test] || p.prints > before
	}
}

// separateTests marks the values whose kind a condition tests that does not print them:
// the test serves another purpose.
func (r *interpreter) separateTests() {
	for test, prints := range r.kindTests {
		test.place.tests.apart = test.place.tests.apart || !prints
	}
}

// otherwise begins the else branch of the guard.
func (g *guard) otherwise() {
	if g != nil {
		g.kinds = Any
	}
}

// tested records that a template tests the kind of the value at the place.
func (r *interpreter) tested(p *place) {
	if r.testing == nil {
		p.tests.apart = true
		return
	}
	r.testing.places[p] = p.prints
}

// guardOf returns the innermost guard that tests the kind of the value at the place;
// nil when none does.
func (r *interpreter) guardOf(p *place) *guard {
	for g := r.guards; g != nil; g = g.outer {
		if _, ok := g.places[p]; ok {
			return g
		}
	}
	return nil
}

// printsTo records that an action prints the value to the sink.
func (r *interpreter) printsTo(v *value, s *shape) {
	for _, p := range v.places {
		if r.guardOf(p) == nil {
			p.tests.always |= s.formAt(unquoted)
		}
	}
}

// counts records a print of the value at the place.
func (r *interpreter) counts(p *place) {
	p.prints++
	kinds := Any
	if g := r.guardOf(p); g != nil {
		kinds = g.kinds
	}
	p.tests.only |= kinds
}

// onlyFails reports whether the nodes do nothing but fail.
func onlyFails(l *parse.ListNode) bool {
	prints, sets := effects(l)
	return prints+sets == 0
}

// effects returns the number of actions in the nodes that print, and of those that set
// variables. A condition prints as often as the branch that prints most. Text that is not blank
// and loops count as several actions that print.
func effects(l *parse.ListNode) (prints, sets int) {
	if l == nil {
		return 0, 0
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.CommentNode:
		case *parse.TextNode:
			if strings.TrimSpace(string(n.Text)) != "" {
				return many, 0
			}
		case *parse.ActionNode:
			if c := onlyCommand(n.Pipe); len(n.Pipe.Decl) > 0 {
				sets++
			} else if c == nil || functionOf(c.Args[0]) != "fail" {
				prints++
			}
		case *parse.IfNode:
			then, thenSets := effects(n.List)
			other, otherSets := effects(n.ElseList)
			if sets += len(n.Pipe.Decl); then+other+thenSets+otherSets > 0 {
				prints += max(1, then, other)
			}
		default:
			return many, 0
		}
	}
	return prints, sets
}

// many is a number of actions that print more than once.
const many = 2

// callsKindTest reports whether the pipeline calls a function for kinds.
func callsKindTest(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.PipeNode:
		return slices.ContainsFunc(n.Cmds, func(c *parse.CommandNode) bool { return callsKindTest(c) })
	case *parse.CommandNode:
		return slices.ContainsFunc(n.Args, callsKindTest)
	}
	return slices.Contains([]string{"kindIs", "typeIs", "typeIsLike", "kindOf", "typeOf"}, functionOf(n))
}

// onlyCommand returns the command of a pipeline, without parentheses; nil when it has
// several, and for another node.
func onlyCommand(n parse.Node) *parse.CommandNode {
	p, _ := n.(*parse.PipeNode)
	for p != nil && len(p.Cmds) == 1 && len(p.Decl) == 0 {
		c := p.Cmds[0]
		inner, ok := c.Args[0].(*parse.PipeNode)
		if !ok || len(c.Args) > 1 {
			return c
		}
		p = inner
	}
	return nil
}

// functionOf returns the name of the function that the node calls; empty for other nodes.
func functionOf(n parse.Node) string {
	if id, ok := n.(*parse.IdentifierNode); ok {
		return id.Ident
	}
	return ""
}

// This file models what a condition says about a variable: in and (has $k
// $names) (hasKey .Values $k), and where that is true, $k is one of the names.

// narrowed returns the scope for the places where the condition is true: the
// variables that it compares with known texts have only these. It returns s
// itself when the condition says nothing.
func (r *interpreter) narrowed(n parse.Node, dot *value, s *scope) *scope {
	c := onlyCommand(n)
	if c == nil || len(c.Args) == 1 {
		return s
	}
	switch functionOf(c.Args[0]) {
	case "and":
		for _, a := range c.Args[1:] {
			s = r.narrowed(a, dot, s)
		}
	case "has":
		if len(c.Args) == 3 {
			words, _ := wordsOf(r.operand(c.Args[2], dot, s))
			return s.narrow(c.Args[1], r.unionAll(words...))
		}
	case "eq":
		var words *value
		for _, a := range c.Args[2:] {
			text, ok := a.(*parse.StringNode)
			if !ok {
				return s
			}
			words = r.union(words, textOf(text.Text))
		}
		return s.narrow(c.Args[1], words)
	}
	return s
}

// narrow returns a scope in which the variable n has the texts. It returns s
// itself when n is not a variable, or its value is not an unknown text.
func (s *scope) narrow(n parse.Node, texts *value) *scope {
	v, ok := n.(*parse.VariableNode)
	if !ok || len(v.Ident) != 1 || texts == nil {
		return s
	}
	if old := s.get(v.Ident[0]); old == nil || len(old.places)+len(old.roots)+len(old.objects) > 0 {
		return s
	} else if _, known := old.literal(); known {
		return s
	}
	s = s.inner()
	s.narrows = true
	s.vars[v.Ident[0]] = texts
	return s
}
