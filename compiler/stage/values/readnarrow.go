package values

import "text/template/parse"

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
