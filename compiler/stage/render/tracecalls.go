package render

import (
	"slices"
	"strconv"
	"text/template/parse"
)

// Functions that are inserted into the templates of a [Probe].
const (
	fnAt   = "fleetc_at"   // before a node that prints; the argument is its site
	fnCall = "fleetc_call" // before a template action; the argument is its site
	fnBack = "fleetc_back" // after a template action
)

// markInserter inserts calls into a newly parsed tree that report each
// printing node to a trace. The output of the tree stays the same.
type markInserter struct {
	*trace
	file, content string
}

// list marks the nodes of a list.
func (in markInserter) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	nodes := make([]parse.Node, 0, 2*len(l.Nodes))
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			nodes = append(nodes, in.mark(n, fnAt), n)
		case *parse.ActionNode:
			nodes = append(nodes, in.mark(n, fnAt), n)
		case *parse.TemplateNode:
			nodes = append(nodes, in.mark(n, fnCall), n, in.mark(n, fnBack))
		default:
			nodes = append(nodes, n)
			if b := branchOf(n); b != nil {
				in.list(b.List)
				in.list(b.ElseList)
			}
		}
	}
	l.Nodes = nodes
}

// mark returns a node that reports the site of another node to the trace.
func (in markInserter) mark(n parse.Node, fn string) parse.Node {
	_, verbatim := n.(*parse.TextNode)
	in.sites = append(in.sites, site{in.file, in.content, int(n.Position()), verbatim})
	i := len(in.sites) - 1
	return callSilently(n.Position(), fn, &parse.NumberNode{NodeType: parse.NodeNumber, Pos: n.Position(), IsInt: true, Int64: int64(i), Text: strconv.Itoa(i)})
}

// recordWords records the string constants that a node has besides fields, if it is a
// command. Most of them are compared with the fields.
func (t *trace) recordWords(n parse.Node) {
	cmd, ok := n.(*parse.CommandNode)
	if !ok {
		return
	}
	var names, texts []string
	for _, arg := range cmd.Args {
		switch n := arg.(type) {
		case *parse.FieldNode:
			names = append(names, n.Ident[len(n.Ident)-1])
		case *parse.VariableNode:
			names = append(names, n.Ident[len(n.Ident)-1])
		case *parse.ChainNode:
			names = append(names, n.Field[len(n.Field)-1])
		case *parse.StringNode:
			texts = append(texts, n.Text)
		}
	}
	for _, name := range names {
		for _, text := range texts {
			if !slices.Contains(t.words[name], text) {
				t.words[name] = append(t.words[name], text)
			}
		}
	}
}
