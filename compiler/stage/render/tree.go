package render

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"unsafe"
)

// Functions that parsing inserts into templates. Charts cannot call them,
// because the parser does not know their names.
const (
	fnPass  = "fleetc_pass"  // at the start of each pass of a range
	fnRange = "fleetc_range" // around the operand of a range
	fnPrint = "fleetc_print" // around the operand of an action that prints
	fnEnter = "fleetc_enter" // before a template action
	fnLeave = "fleetc_leave" // after a template action
	fnMade  = "fleetc_made"  // around a pipeline that ends with a call of a method, or after such a call
	fnArg   = "fleetc_arg"   // around a call of a method that is an argument
)

// A cost is the cost of executing a template once, without included templates
// and with at most one pass of each range.
type cost struct {
	steps int
	depth int // of nested actions, which determines the stack size of a goroutine
}

// Depths of calls that use more stack than an action. Each range catches an
// error and throws it again, which takes longer the more ranges are nested.
const (
	callDepth  = 6 // of include and tpl
	rangeDepth = 20
)

// A text is a parsed template with the templates that it defines. All
// renderings share it; it is never modified.
type text struct {
	name  string
	trees map[string]*parse.Tree // by name
	costs map[string]cost
	err   error // why the text does not parse
}

// main returns the template itself and its cost.
func (t *text) main() (*parse.Tree, cost) { return t.trees[t.name], t.costs[t.name] }

// blocks returns an upper bound of the number of nested actions in a text: it
// counts everything that looks like the start of one.
func blocks(content string) int {
	n := 0
	for found := true; found; {
		if _, content, found = strings.Cut(content, "{{"); !found {
			break
		}
		word := strings.TrimLeft(strings.TrimPrefix(content, "-"), " \t\r\n")
		for _, keyword := range []string{"if", "range", "with", "block", "define", "else"} {
			if strings.HasPrefix(word, keyword) {
				n++
			}
		}
	}
	return n
}

// maxBlocks limits the blocks of one text, and so the depth of the parser.
const maxBlocks = 20_000

// parseText parses a template. names are the known functions. tr records which
// nodes print; it is usually nil. Text nodes share the memory of content.
func parseText(name, content string, names map[string]any, tr *trace) *text {
	t := &text{name: name, costs: map[string]cost{}}
	if blocks(content) > maxBlocks {
		t.err = fmt.Errorf("template: %s:1: more than %d blocks", name, maxBlocks)
		return t
	}
	t.trees, t.err = parse.Parse(name, content, "", "", names)
	if t.err != nil {
		return t
	}
	for name, tree := range t.trees {
		if tr != nil {
			inspect(tree.Root, tr.recordWords)
			markInserter{tr, t.name, content}.list(tree.Root)
		} else {
			replaceHarmlessNow(tree)
		}
		c := meterInserter{names, content}.list(tree.Root)
		t.costs[name] = cost{steps: callSteps + c.steps, depth: callDepth + c.depth}
	}
	return t
}

// meterInserter inserts calls into a newly parsed tree that meter each pass of
// a range, the start and end of each template action, and values before they
// are printed. The output of the tree and the nodes in error messages stay the
// same. It also makes text nodes share the memory of content.
type meterInserter struct {
	names   map[string]any // of functions
	content string         // the parsed text, which stays in memory anyway
}

func (in meterInserter) list(l *parse.ListNode) cost {
	if l == nil {
		return cost{}
	}
	var c cost
	nodes := make([]parse.Node, 0, len(l.Nodes))
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TemplateNode:
			name := &parse.StringNode{NodeType: parse.NodeString, Pos: n.Pos, Quoted: strconv.Quote(n.Name), Text: n.Name}
			nodes = append(nodes, callSilently(n.Pos, fnEnter, name), n, callSilently(n.Pos, fnLeave, name))
		default:
			nodes = append(nodes, n)
		}
		c.add(in.node(n))
	}
	l.Nodes = nodes
	return c
}

// node inserts the calls into a node and returns its cost.
func (in meterInserter) node(n parse.Node) cost {
	var c cost
	switch n := n.(type) {
	case *parse.TextNode:
		c.steps = len(n.Text) / 1024
		if rest := in.content[n.Pos:]; strings.HasPrefix(rest, string(n.Text)) {
			n.Text = unsafe.Slice(unsafe.StringData(rest), len(n.Text)) // text nodes are never written to
		}
	case *parse.ActionNode:
		c = in.pipe(n.Pipe)
		if len(n.Pipe.Decl) == 0 && in.composite(n.Pipe) {
			n.Pipe = wrap(fnPrint, n.Pipe)
		}
	case *parse.TemplateNode:
		c = in.pipe(n.Pipe)
	case *parse.IfNode, *parse.WithNode:
		c = in.branch(branchOf(n))
	case *parse.RangeNode:
		c = in.branch(&n.BranchNode)
		n.Pipe = wrap(fnRange, n.Pipe)
		// The cost of a pass includes its contents.
		c.steps += passSteps
		pass := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: n.Pos, IsInt: true, Int64: int64(c.steps), Text: strconv.Itoa(c.steps)}
		n.List.Nodes = append([]parse.Node{callSilently(n.Pos, fnPass, pass)}, n.List.Nodes...)
		c.depth += rangeDepth
	}
	return cost{c.steps + 1, c.depth + 1}
}

func (in meterInserter) branch(n *parse.BranchNode) cost {
	c := in.pipe(n.Pipe)
	c.add(in.list(n.List))
	c.add(in.list(n.ElseList))
	return c
}

// branchOf returns the parts of an if, with or range, and nil for other nodes.
func branchOf(n parse.Node) *parse.BranchNode {
	switch n := n.(type) {
	case *parse.IfNode:
		return &n.BranchNode
	case *parse.WithNode:
		return &n.BranchNode
	case *parse.RangeNode:
		return &n.BranchNode
	}
	return nil
}

// inspect calls f for a node and all nodes in it, but not for declared variables.
func inspect(n parse.Node, f func(parse.Node)) {
	f(n)
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			inspect(child, f)
		}
	case *parse.ActionNode:
		inspect(n.Pipe, f)
	case *parse.TemplateNode:
		if n.Pipe != nil {
			inspect(n.Pipe, f)
		}
	case *parse.PipeNode:
		for _, cmd := range n.Cmds {
			inspect(cmd, f)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			inspect(arg, f)
		}
	case *parse.ChainNode:
		inspect(n.Node, f)
	default:
		if b := branchOf(n); b != nil {
			inspect(b.Pipe, f)
			inspect(b.List, f)
			if b.ElseList != nil {
				inspect(b.ElseList, f)
			}
		}
	}
}

// add adds the cost of something that is executed afterwards.
func (c *cost) add(d cost) {
	c.steps += d.steps
	c.depth = max(c.depth, d.depth)
}

// pipe returns the cost of a pipeline: one step per word, as deep as its
// nested pipelines.
func (in meterInserter) pipe(p *parse.PipeNode) cost {
	var c cost
	if p == nil {
		return c
	}
	cmds := make([]*parse.CommandNode, 0, len(p.Cmds))
	for at, cmd := range p.Cmds {
		for i, arg := range cmd.Args {
			inner := cost{steps: 1}
			switch arg := arg.(type) {
			case *parse.PipeNode:
				inner.add(in.pipe(arg))
			case *parse.ChainNode:
				if pipe, ok := arg.Node.(*parse.PipeNode); ok {
					inner.add(in.pipe(pipe))
				}
			}
			if i > 0 && isMethod(arg) {
				cmd.Args[i] = call(arg.Position(), fnArg, arg)
				inner.add(cost{steps: 1, depth: 1})
			}
			c.add(inner)
		}
		cmds = append(cmds, cmd)
		switch last := at == len(p.Cmds)-1; {
		case !isMethod(cmd.Args[0]):
		case last: // an error after the pipeline names the last node that it evaluated
			p.Cmds = cmds
			cmds = wrap(fnMade, p).Cmds
		default:
			cmds = append(cmds, call(cmd.Pos, fnMade).Cmds...)
		}
	}
	p.Cmds = cmds
	c.depth++
	return c
}

// isMethod reports whether a word may call a method, whose result no function
// counts.
func isMethod(n parse.Node) bool {
	var names []string
	switch n := n.(type) {
	case *parse.FieldNode:
		names = n.Ident
	case *parse.VariableNode:
		names = n.Ident[1:]
	case *parse.ChainNode:
		names = n.Field
	}
	if len(names) == 0 {
		return false
	}
	switch name := names[len(names)-1]; name {
	case "Values", "Release", "Chart", "Files", "Capabilities", "Template", "Subcharts", "Name", "Namespace", "Service",
		"Version", "AppVersion", "KubeVersion", "Major", "Minor", "BasePath", "IsInstall", "IsUpgrade", "Revision", "Has":
		return false // fields, or cheap like fields
	default:
		return name[0] < 'a' || name[0] > 'z'
	}
}

// composite reports whether the value of a pipeline may be something else than
// a string, number or boolean, judging by its last command.
func (in meterInserter) composite(p *parse.PipeNode) bool {
	switch n := p.Cmds[len(p.Cmds)-1].Args[0].(type) {
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		return false
	case *parse.PipeNode:
		return in.composite(n)
	case *parse.IdentifierNode:
		f := in.names[n.Ident]
		if f == nil {
			return true
		}
		switch k := reflect.TypeOf(f).Out(0).Kind(); {
		case k == reflect.String, k <= reflect.Complex128:
			return false
		}
	}
	return true
}

// wrap returns the pipeline with its value passed through a function. Its
// declarations are kept.
func wrap(fn string, p *parse.PipeNode) *parse.PipeNode {
	inner := &parse.PipeNode{NodeType: parse.NodePipe, Pos: p.Pos, Line: p.Line, Cmds: p.Cmds}
	outer := call(p.Pos, fn, inner)
	outer.Decl, outer.IsAssign = p.Decl, p.IsAssign
	return outer
}

// callSilently returns a node that calls a function which returns false. The
// node prints nothing.
func callSilently(pos parse.Pos, fn string, arg parse.Node) parse.Node {
	return &parse.IfNode{BranchNode: parse.BranchNode{
		NodeType: parse.NodeIf, Pos: pos, Pipe: call(pos, fn, arg),
		List: &parse.ListNode{NodeType: parse.NodeList, Pos: pos},
	}}
}

func call(pos parse.Pos, fn string, args ...parse.Node) *parse.PipeNode {
	name := parse.NewIdentifier(fn).SetPos(pos)
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{
		{NodeType: parse.NodeCommand, Pos: pos, Args: append([]parse.Node{name}, args...)},
	}}
}

// builtin returns the functions of text/template that are not replaced, with
// stubs that have their result types.
func builtin() template.FuncMap {
	return template.FuncMap{
		"and": func() any { return nil }, "or": func() any { return nil }, "call": func() any { return nil },
		"index": func() any { return nil }, "len": func() int { return 0 }, "not": func() bool { return false },
		"eq": func() bool { return false }, "ne": func() bool { return false },
		"lt": func() bool { return false }, "le": func() bool { return false },
		"gt": func() bool { return false }, "ge": func() bool { return false },
	}
}
