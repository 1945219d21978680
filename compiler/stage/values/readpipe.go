package values

import (
	"strconv"
	"text/template/parse"
)

// pipe evaluates a pipeline and sets the variables that it declares.
func (r *interpreter) pipe(p *parse.PipeNode, dot *value, s *scope) *value {
	v := r.commands(p, dot, s)
	for _, d := range p.Decl {
		if p.IsAssign {
			r.assign(s, d.Ident[0], v)
		} else {
			s.vars[d.Ident[0]] = v
		}
	}
	return v
}

// commands evaluates the commands of a pipeline.
func (r *interpreter) commands(p *parse.PipeNode, dot *value, s *scope) *value {
	if p == nil || !r.enter() {
		return anything()
	}
	defer r.leave()
	var v *value
	for i, c := range p.Cmds {
		var piped []*value
		if i > 0 {
			piped = []*value{v}
		}
		v = r.command(c, dot, s, piped)
	}
	return v
}

// command evaluates a function call, a method call or an operand. The piped
// value is its last argument.
func (r *interpreter) command(c *parse.CommandNode, dot *value, s *scope, piped []*value) *value {
	r.pos = c.Pos
	if len(c.Args) == 1 && len(piped) == 0 {
		return r.operand(c.Args[0], dot, s)
	}
	args := make([]*value, 0, len(c.Args))
	for _, a := range c.Args[1:] {
		args = append(args, r.operand(a, dot, s))
		if functionOf(c.Args[0]) == "and" {
			s = r.narrowed(a, dot, s) // for the further arguments
		}
	}
	args = append(args, piped...)
	r.pos = c.Pos
	switch f := c.Args[0].(type) {
	case *parse.IdentifierNode:
		return r.apply(f.Ident, c, args)
	case *parse.FieldNode:
		return r.method(r.fields(dot, f.Ident[:len(f.Ident)-1]), f.Ident[len(f.Ident)-1], args)
	case *parse.VariableNode:
		if n := len(f.Ident); n > 1 {
			return r.method(r.fields(s.get(f.Ident[0]), f.Ident[1:n-1]), f.Ident[n-1], args)
		}
	case *parse.ChainNode:
		n := len(f.Field) - 1
		return r.method(r.fields(r.operand(f.Node, dot, s), f.Field[:n]), f.Field[n], args)
	}
	for _, a := range args {
		r.use(a, Printed)
	}
	return r.operand(c.Args[0], dot, s)
}

// operand evaluates an operand of a command.
func (r *interpreter) operand(n parse.Node, dot *value, s *scope) *value {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return r.fields(dot, n.Ident)
	case *parse.VariableNode:
		return r.fields(s.get(n.Ident[0]), n.Ident[1:])
	case *parse.ChainNode:
		return r.fields(r.operand(n.Node, dot, s), n.Field)
	case *parse.PipeNode:
		return r.pipe(n, dot, s)
	case *parse.StringNode:
		return textOf(n.Text)
	case *parse.IdentifierNode:
		return r.apply(n.Ident, n, nil)
	case *parse.NilNode:
		return nil
	case *parse.NumberNode:
		if n.IsUint {
			return textOf(number + strconv.FormatUint(n.Uint64, 10))
		}
	}
	return anything() // a bool, or a number that cannot be an index
}

func (r *interpreter) fields(v *value, names []string) *value {
	for _, name := range names {
		v = r.field(v, name)
	}
	return v
}

// method evaluates a method of a chart's values or files. No other methods that
// templates can call return values.
func (r *interpreter) method(v *value, name string, args []*value) *value {
	for _, a := range args {
		r.use(a, Printed)
	}
	if v == nil {
		return nil
	}
	var out *value
	rest := &value{roots: v.roots, texts: v.texts, unknown: v.unknown}
	for _, p := range v.places {
		if p.isChart() && (name == "Table" || name == "PathValue") && len(args) == 1 {
			out = r.union(out, r.table(p, args[0]))
		} else {
			rest.places = append(rest.places, p)
		}
	}
	for _, o := range v.objects {
		if o.files != nil {
			out = r.union(out, r.fileMethod(o, name, args))
		} else {
			rest.objects = append(rest.objects, o)
		}
	}
	return r.union(out, r.field(rest, name))
}

// keysOf returns the keys of the value that range iterates over.
func (r *interpreter) keysOf(v *value) *value {
	if v == nil {
		return nil
	}
	out := textOf(wild)
	if v.unknown {
		out = anything()
	}
	if len(v.objects) == 0 || len(v.places)+len(v.roots)+len(v.texts) > 0 || v.unknown {
		return out
	}
	var names []string
	for _, o := range v.objects {
		if o.elem != nil || o.parts != nil || o.encoded != nil || o.file != "" || o.files != nil {
			return out
		}
		o.read = true
		for name := range o.keys {
			names = append(names, name)
		}
	}
	return textOf(names...)
}
