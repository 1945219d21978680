package render

import "text/template/parse"

// fnSteady is now where nothing depends on when that is: it does not make the chart
// one that asks for the time.
const fnSteady = "fleetc_steady"

// steady finds the calls of now in a tree of which neither what is printed nor an
// error depends on the time, and makes them calls of [fnSteady]. Charts check
// durations in two ways, as there is no function for that:
//
//	{{- $_ := now | mustDateModify .duration }}
//	{{- $now := now }}{{ if ne $now ($now | dateModify .duration) }}
//
// Whether a text is a duration has nothing to do with the clock, and a time that is
// moved by one is the same only when that is 0. Where the first variable is read at
// all, or the second one in another way, now stays what it is.
func steady(tree *parse.Tree) {
	in := clockReads{assigned: map[string]int{}, read: map[string]int{}, compared: map[string]int{}}
	in.list(tree.Root)
	for _, c := range in.found {
		unread := in.read[c.variable] == 0
		if unread || !c.moved && in.assigned[c.variable] == 1 && in.read[c.variable] == in.compared[c.variable] {
			c.now.Ident = fnSteady
		}
	}
}

// A clockRead is a call of now, and the variable that gets its value.
type clockRead struct {
	now      *parse.IdentifierNode
	variable string
	moved    bool // whether it gets the time moved by a duration
}

// clockReads are those of a tree, and what the tree does with its variables: how often
// each is declared or assigned, read, and read in a comparison with itself.
type clockReads struct {
	found                    []clockRead
	assigned, read, compared map[string]int
}

func (in *clockReads) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			in.declaration(n.Pipe)
			in.pipe(n.Pipe)
		case *parse.TemplateNode:
			in.pipe(n.Pipe)
		case *parse.IfNode:
			in.branch(&n.BranchNode)
		case *parse.WithNode:
			in.branch(&n.BranchNode)
		case *parse.RangeNode:
			in.branch(&n.BranchNode)
		}
	}
}

func (in *clockReads) branch(n *parse.BranchNode) {
	in.pipe(n.Pipe)
	in.list(n.List)
	in.list(n.ElseList)
}

// declaration finds a clock in an action.
func (in *clockReads) declaration(p *parse.PipeNode) {
	if len(p.Decl) != 1 || p.IsAssign {
		return
	}
	value, moved := movedTime(p)
	if !moved && len(p.Cmds) == 1 && len(p.Cmds[0].Args) == 1 {
		value = p.Cmds[0].Args[0]
	}
	if now, ok := value.(*parse.IdentifierNode); ok && now.Ident == "now" {
		in.found = append(in.found, clockRead{now, p.Decl[0].Ident[0], moved})
	}
}

func (in *clockReads) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, v := range p.Decl {
		in.assigned[v.Ident[0]]++
	}
	for _, cmd := range p.Cmds {
		if name := comparedTime(cmd); name != "" {
			in.compared[name] += 2
		}
		for _, arg := range cmd.Args {
			in.word(arg)
		}
	}
}

func (in *clockReads) word(n parse.Node) {
	switch n := n.(type) {
	case *parse.VariableNode:
		in.read[n.Ident[0]]++
	case *parse.PipeNode:
		in.pipe(n)
	case *parse.ChainNode:
		in.word(n.Node)
	}
}

// comparedTime returns the variable that a command compares with itself moved by a
// duration, empty when it is no such command.
func comparedTime(cmd *parse.CommandNode) string {
	if len(cmd.Args) != 3 {
		return ""
	}
	if name, ok := cmd.Args[0].(*parse.IdentifierNode); !ok || name.Ident != "eq" && name.Ident != "ne" {
		return ""
	}
	a, b := cmd.Args[1], cmd.Args[2]
	if _, ok := a.(*parse.PipeNode); ok {
		a, b = b, a
	}
	p, ok := b.(*parse.PipeNode)
	if !ok || len(p.Decl) > 0 {
		return ""
	}
	value, _ := movedTime(p)
	if name := variable(a); name != "" && name == variable(value) {
		return name
	}
	return ""
}

// variable returns the name of the variable that a word is; empty when it is
// something else, such as a field of one.
func variable(n parse.Node) string {
	if v, ok := n.(*parse.VariableNode); ok && len(v.Ident) == 1 {
		return v.Ident[0]
	}
	return ""
}

// movedTime returns what a pipeline moves by a duration, when it does nothing else.
func movedTime(p *parse.PipeNode) (value parse.Node, ok bool) {
	last := p.Cmds[len(p.Cmds)-1].Args
	name, ok := last[0].(*parse.IdentifierNode)
	if !ok {
		return nil, false
	}
	switch name.Ident {
	case "dateModify", "date_modify", "mustDateModify", "must_date_modify":
	default:
		return nil, false
	}
	switch {
	case len(p.Cmds) == 1 && len(last) == 3:
		return last[2], true
	case len(p.Cmds) == 2 && len(last) == 2 && len(p.Cmds[0].Args) == 1:
		return p.Cmds[0].Args[0], true
	}
	return nil, false
}
