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

// The functions that parsed templates call besides those that are written in
// them. Charts cannot: they are not known when templates are parsed.
const (
	fnPass  = "fleetc_pass"  // at the start of each pass of a range
	fnRange = "fleetc_range" // around what a range goes over
	fnPrint = "fleetc_print" // around what an action prints
	fnEnter = "fleetc_enter" // before a template action
	fnLeave = "fleetc_leave" // behind a template action
	fnMade  = "fleetc_made"  // behind a call of a method
	fnArg   = "fleetc_arg"   // behind a call of a method that is an argument
)

// A cost is what executing a template once takes, without the templates that
// it includes and with no more than one pass of each range.
type cost struct {
	steps int
	depth int // of actions in actions, which is what a goroutine's stack grows by
}

// The depths of what is deeper than it looks. An error is caught and thrown
// again by each range that it passes, which takes the longer the more there are.
const (
	callDepth  = 6 // of include and tpl
	rangeDepth = 20
)

// A text is a parsed template text: the template itself and those that it
// defines. It is shared by all renderings and never modified.
type text struct {
	name  string
	trees map[string]*parse.Tree // by name
	costs map[string]cost
	err   error // why it does not parse
}

// main returns the template itself and its cost.
func (t *text) main() (*parse.Tree, cost) { return t.trees[t.name], t.costs[t.name] }

// blocks returns how many actions that have others inside a text may have, at
// most: all that looks like the beginning of one is counted.
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

// maxBlocks bounds the blocks of one text, and so the depth of the parser.
const maxBlocks = 20_000

// parseText parses a template. The names of functions are those of names. A
// trace, which most have not, is told of what the template prints. What it prints as
// it stands there is not copied from the content.
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
			marking{tr, t.name, content}.list(tree.Root)
		} else {
			steady(tree)
		}
		c := counting{names, content}.list(tree.Root)
		t.costs[name] = cost{steps: callSteps + c.steps, depth: callDepth + c.depth}
	}
	return t
}

// counting puts calls into a tree that was just parsed, so that whoever
// executes it is told of each pass of a range, of each template that begins
// and ends, and of values before they are printed. What the tree prints stays
// the same, and nodes in error messages are those that were written. On its way, it
// makes the text that is printed as it stands there a part of the content.
type counting struct {
	names   map[string]any // of functions
	content string         // that the tree was parsed from, which is kept anyway
}

func (in counting) list(l *parse.ListNode) cost {
	if l == nil {
		return cost{}
	}
	var c cost
	nodes := make([]parse.Node, 0, len(l.Nodes))
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TemplateNode:
			name := &parse.StringNode{NodeType: parse.NodeString, Pos: n.Pos, Quoted: strconv.Quote(n.Name), Text: n.Name}
			nodes = append(nodes, silently(n.Pos, fnEnter, name), n, silently(n.Pos, fnLeave, name))
		default:
			nodes = append(nodes, n)
		}
		c.add(in.node(n))
	}
	l.Nodes = nodes
	return c
}

// node returns the cost of a node, with the calls put in.
func (in counting) node(n parse.Node) cost {
	var c cost
	switch n := n.(type) {
	case *parse.TextNode:
		c.steps = len(n.Text) / 1024
		if rest := in.content[n.Pos:]; strings.HasPrefix(rest, string(n.Text)) {
			n.Text = unsafe.Slice(unsafe.StringData(rest), len(n.Text)) // which nobody writes to
		}
	case *parse.ActionNode:
		c = in.pipe(n.Pipe)
		if len(n.Pipe.Decl) == 0 && in.composite(n.Pipe) {
			n.Pipe = wrapped(fnPrint, n.Pipe)
		}
	case *parse.TemplateNode:
		c = in.pipe(n.Pipe)
	case *parse.IfNode:
		c = in.branch(&n.BranchNode)
	case *parse.WithNode:
		c = in.branch(&n.BranchNode)
	case *parse.RangeNode:
		c = in.branch(&n.BranchNode)
		n.Pipe = wrapped(fnRange, n.Pipe)
		// A pass is counted with all that it does.
		c.steps += passSteps
		pass := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: n.Pos, IsInt: true, Int64: int64(c.steps), Text: strconv.Itoa(c.steps)}
		n.List.Nodes = append([]parse.Node{silently(n.Pos, fnPass, pass)}, n.List.Nodes...)
		c.depth += rangeDepth
	}
	return cost{c.steps + 1, c.depth + 1}
}

func (in counting) branch(n *parse.BranchNode) cost {
	c := in.pipe(n.Pipe)
	c.add(in.list(n.List))
	c.add(in.list(n.ElseList))
	return c
}

// add adds what is executed one after the other.
func (c *cost) add(d cost) {
	c.steps += d.steps
	c.depth = max(c.depth, d.depth)
}

// pipe returns the cost of a pipeline: one for each word, as deep as pipelines
// are nested in it.
func (in counting) pipe(p *parse.PipeNode) cost {
	var c cost
	if p == nil {
		return c
	}
	cmds := make([]*parse.CommandNode, 0, len(p.Cmds))
	for _, cmd := range p.Cmds {
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
				cmd.Args[i] = &parse.PipeNode{NodeType: parse.NodePipe, Pos: arg.Position(), Cmds: append([]*parse.CommandNode{
					{NodeType: parse.NodeCommand, Pos: arg.Position(), Args: []parse.Node{arg}},
				}, call(arg.Position(), fnArg).Cmds...)}
				inner.add(cost{steps: 1, depth: 1})
			}
			c.add(inner)
		}
		cmds = append(cmds, cmd)
		if isMethod(cmd.Args[0]) {
			cmds = append(cmds, call(cmd.Pos, fnMade).Cmds...)
		}
	}
	p.Cmds = cmds
	c.depth++
	return c
}

// isMethod reports whether a word may call a method of a value, which makes
// something that no function counts.
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
		return false // fields, or as good as
	default:
		return name[0] < 'a' || name[0] > 'z'
	}
}

// composite reports whether the value of a pipeline may be other than text, a
// number or a boolean: by its last command, as far as that is known.
func (in counting) composite(p *parse.PipeNode) bool {
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

// wrapped returns the pipeline with its value passed through a function. Its
// declarations stay where they are.
func wrapped(fn string, p *parse.PipeNode) *parse.PipeNode {
	inner := &parse.PipeNode{NodeType: parse.NodePipe, Pos: p.Pos, Line: p.Line, Cmds: p.Cmds}
	outer := call(p.Pos, fn, inner)
	outer.Decl, outer.IsAssign = p.Decl, p.IsAssign
	return outer
}

// silently returns a node that calls a function, which returns false, and
// prints nothing.
func silently(pos parse.Pos, fn string, arg parse.Node) parse.Node {
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

// builtin are the functions of text/template that stay as they are there, by
// their names and with what they return.
func builtin() template.FuncMap {
	return template.FuncMap{
		"and": func() any { return nil }, "or": func() any { return nil }, "call": func() any { return nil },
		"index": func() any { return nil }, "len": func() int { return 0 }, "not": func() bool { return false },
		"eq": func() bool { return false }, "ne": func() bool { return false },
		"lt": func() bool { return false }, "le": func() bool { return false },
		"gt": func() bool { return false }, "ge": func() bool { return false },
	}
}
