package render

import (
	"strconv"
	"text/template/parse"
)

// Functions that are inserted into templates to track their reads.
const (
	fnRead  = "fleetc_read"  // around an operand of field accesses; its arguments are the names
	fnWhole = "fleetc_whole" // around a value whose use is not tracked
)

// tracked returns the same text with calls inserted that record each field
// access in [reads]. Output and costs stay the same.
func (t *text) tracked() *text {
	out := &text{name: t.name, trees: make(map[string]*parse.Tree, len(t.trees)), costs: t.costs, err: t.err}
	for name, tree := range t.trees {
		followed := *tree // keeps the text that messages quote
		followed.Root = readInserter{}.list(tree.Root)
		out.trees[name] = &followed
	}
	return out
}

// readInserter copies nodes and inserts the calls into the copies. It does not
// copy nodes without fields.
type readInserter struct{}

func (in readInserter) list(l *parse.ListNode) *parse.ListNode {
	if l == nil {
		return nil
	}
	out := &parse.ListNode{NodeType: l.NodeType, Pos: l.Pos, Nodes: make([]parse.Node, len(l.Nodes))}
	for i, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			out.Nodes[i] = &parse.ActionNode{NodeType: n.NodeType, Pos: n.Pos, Line: n.Line, Pipe: in.pipe(n.Pipe)}
		case *parse.TemplateNode:
			out.Nodes[i] = &parse.TemplateNode{NodeType: n.NodeType, Pos: n.Pos, Line: n.Line, Name: n.Name, Pipe: in.pipe(n.Pipe)}
		case *parse.IfNode:
			out.Nodes[i] = &parse.IfNode{BranchNode: in.branch(n.BranchNode)}
		case *parse.WithNode:
			out.Nodes[i] = &parse.WithNode{BranchNode: in.branch(n.BranchNode)}
		case *parse.RangeNode:
			out.Nodes[i] = &parse.RangeNode{BranchNode: in.branch(n.BranchNode)}
		default:
			out.Nodes[i] = n
		}
	}
	return out
}

func (in readInserter) branch(b parse.BranchNode) parse.BranchNode {
	b.Pipe, b.List, b.ElseList = in.pipe(b.Pipe), in.list(b.List), in.list(b.ElseList)
	return b
}

func (in readInserter) pipe(p *parse.PipeNode) *parse.PipeNode {
	if p == nil {
		return nil
	}
	out := &parse.PipeNode{NodeType: p.NodeType, Pos: p.Pos, Line: p.Line, IsAssign: p.IsAssign, Decl: p.Decl, Cmds: make([]*parse.CommandNode, len(p.Cmds))}
	for i, cmd := range p.Cmds {
		out.Cmds[i] = in.command(cmd, i > 0)
	}
	return out
}

func (in readInserter) command(cmd *parse.CommandNode, piped bool) *parse.CommandNode {
	out := &parse.CommandNode{NodeType: cmd.NodeType, Pos: cmd.Pos, Args: make([]parse.Node, len(cmd.Args))}
	for i, arg := range cmd.Args {
		out.Args[i] = in.word(arg)
	}
	if name, ok := cmd.Args[0].(*parse.IdentifierNode); ok && name.Ident == "index" && len(cmd.Args) > 1 {
		if keys := keysOfIndex(cmd, piped); keys != nil {
			out.Args[1] = call(cmd.Pos, fnRead, append(keys, out.Args[1])...)
		} else {
			out.Args[1] = call(cmd.Pos, fnWhole, out.Args[1])
		}
	}
	return out
}

// keysOfIndex returns the keys of an index call, or nil when they are not
// string literals, since an expression must not be evaluated twice. A piped
// command has another key.
func keysOfIndex(cmd *parse.CommandNode, piped bool) []parse.Node {
	if piped || len(cmd.Args) < 3 {
		return nil
	}
	for _, key := range cmd.Args[2:] {
		if _, ok := key.(*parse.StringNode); !ok {
			return nil
		}
	}
	return append([]parse.Node{}, cmd.Args[2:]...)
}

// word returns a copy of a word that records its field accesses.
func (in readInserter) word(n parse.Node) parse.Node {
	switch n := n.(type) {
	case *parse.FieldNode:
		return fieldsOf(&parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, n.Pos, n.Ident)
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			return fieldsOf(&parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}, n.Pos, n.Ident[1:])
		}
	case *parse.ChainNode:
		return fieldsOf(in.word(n.Node), n.Pos, n.Field)
	case *parse.PipeNode:
		return in.pipe(n)
	}
	return n
}

// fieldsOf returns a node for the fields of a value.
func fieldsOf(of parse.Node, pos parse.Pos, names []string) parse.Node {
	args := make([]parse.Node, 0, len(names)+1)
	for _, name := range names {
		args = append(args, &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Quoted: strconv.Quote(name), Text: name})
	}
	return &parse.ChainNode{NodeType: parse.NodeChain, Pos: pos, Node: call(pos, fnRead, append(args, of)...), Field: names}
}
