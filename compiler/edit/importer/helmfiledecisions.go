package importer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file finds decisions of templates by encrypted values. Templates see a reference in
// place of the value, so that the result of a comparison or condition is unknown.

// Groups of functions of templates.
var (
	// The result depends on the type of a text, and on whether it is empty.
	truthFunctions = []string{"if", "with", "and", "not", "empty", "all", "any", "kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike"}
	// The result is one of the arguments, or that of a template, whose decisions are recorded.
	choosingFunctions = []string{"or", "default", "coalesce", "ternary", "dig", "get", "include", "call", "fail"}
	// The result is a changed or divided text. They may leave a reference as it is.
	rewritingFunctions = []string{
		"trim", "trimAll", "trimPrefix", "trimSuffix", "nospace", "replace", "regexReplaceAll", "regexReplaceAllLiteral", "split", "splitn", "splitList",
		"regexSplit", "regexFindAll", "fromYaml", "fromJson", "tpl",
	}
	// The result depends on the texts in a list or map.
	comparingFunctions = []string{"has", "without", "uniq", "deepEqual", "sortAlpha"}
)

// A templateCall is a function in a template that may get an encrypted value.
type templateCall struct {
	name     string
	pos      diag.Pos
	isHidden bool // whether an argument has an encrypted value
	isWhole  bool // whether an argument is an encrypted value
}

// Functions that templates call with the arguments and the result of each call.
const argumentFunction, resultFunction = "fleetcArgument", "fleetcResult"

// watch lets a template report the arguments and results of its calls. at returns the position
// of a line.
func (g *engine) watch(n parse.Node, at func(line int) diag.Pos) {
	branch := func(b *parse.BranchNode, condition string) {
		g.watchPipe(b.Pipe, condition, at)
		g.watch(b.List, at)
		if b.ElseList != nil {
			g.watch(b.ElseList, at)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, below := range n.Nodes {
			g.watch(below, at)
		}
	case *parse.ActionNode:
		g.watchPipe(n.Pipe, "", at)
	case *parse.TemplateNode:
		g.watchPipe(n.Pipe, "", at)
	case *parse.IfNode:
		branch(&n.BranchNode, "if")
	case *parse.WithNode:
		branch(&n.BranchNode, "with")
	case *parse.RangeNode:
		branch(&n.BranchNode, "")
	}
}

// watchPipe is [engine.watch] for a pipeline. condition is if or with for that of a branch.
func (g *engine) watchPipe(p *parse.PipeNode, condition string, at func(line int) diag.Pos) {
	if p == nil {
		return
	}
	step := func(function string, args ...parse.Node) *parse.CommandNode {
		id := len(g.calls) - 1
		number := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: p.Pos, IsInt: true, Int64: int64(id), Text: strconv.Itoa(id)}
		name := parse.NewIdentifier(function).SetPos(p.Pos)
		return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: p.Pos, Args: slices.Concat([]parse.Node{name, number}, args)}
	}
	var steps []*parse.CommandNode
	for i, c := range p.Cmds {
		for _, arg := range c.Args {
			if chain, ok := arg.(*parse.ChainNode); ok {
				arg = chain.Node
			}
			if below, ok := arg.(*parse.PipeNode); ok {
				g.watchPipe(below, "", at)
			}
		}
		name, ok := c.Args[0].(*parse.IdentifierNode)
		if !ok || i == 0 && len(c.Args) == 1 || isNamed(name.Ident, choosingFunctions) {
			steps = append(steps, c)
			continue
		}
		g.calls = append(g.calls, templateCall{name: name.Ident, pos: at(p.Line)})
		if i > 0 {
			steps = append(steps, step(argumentFunction))
		}
		for j, arg := range c.Args {
			switch arg.(type) {
			case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode, *parse.PipeNode, *parse.DotNode:
				c.Args[j] = &parse.PipeNode{NodeType: parse.NodePipe, Pos: arg.Position(), Line: p.Line, Cmds: []*parse.CommandNode{step(argumentFunction, arg)}}
			}
		}
		steps = append(steps, c, step(resultFunction))
	}
	if p.Cmds = steps; condition != "" {
		g.calls = append(g.calls, templateCall{name: condition, pos: at(p.Line)})
		p.Cmds = append(p.Cmds, step(argumentFunction))
	}
}

// watchForm matches a step that watch adds to a template, in the text of an error. Its group is
// an argument.
var watchForm = regexp.MustCompile(`\(` + argumentFunction + ` \d+ ([^()]*|\([^()]*\))\)| \| (?:` + argumentFunction + `|` + resultFunction + `) \d+`)

// withoutWatch returns an error of a template with the text for the template as it is written.
func withoutWatch(err error) error {
	text, before := err.Error(), ""
	for text != before { // arguments are nested
		text, before = watchForm.ReplaceAllString(text, "$1"), text
	}
	return errors.New(strings.ReplaceAll(text, "reflect: call of reflect.Value.Type on zero Value", "the value is null"))
}

// isNamed reports whether a list has a function, also with the prefix must.
func isNamed(name string, list []string) bool {
	return slices.ContainsFunc(list, func(of string) bool { return name == of || strings.EqualFold(name, "must"+of) })
}

// argument records that a call gets a value, and returns the value.
func (g *engine) argument(id int, v any) any {
	c := &g.calls[id]
	text, ok := v.(string)
	if !ok && isNamed(c.name, comparingFunctions) {
		text = fmt.Sprint(v)
	}
	if !g.run.hides(text) {
		return v
	}
	isFilled, isWhole := g.run.hidden[text]
	if isNamed(c.name, truthFunctions) {
		if isWhole && !isFilled {
			g.decide(c.pos)
		}
		return v
	}
	c.isHidden, c.isWhole = true, c.isWhole || isWhole
	return v
}

// result returns the result of a call, and records a decision when encrypted values decide it.
// A text that the call computes from them differs in the second evaluation.
func (g *engine) result(id int, v any) any {
	c := g.calls[id]
	g.calls[id].isHidden, g.calls[id].isWhole = false, false
	text, isText := v.(string)
	switch {
	case !c.isHidden, g.run.hides(fmt.Sprint(v)) && !(c.isWhole && isNamed(c.name, rewritingFunctions)):
		return v
	case !isText || text == "":
		g.decide(c.pos)
		return v
	case g.run.second:
		return text + secondSuffix
	}
	if _, ok := g.run.hidden[text]; !ok {
		g.run.hidden[text] = false
	}
	return v
}

// hides reports whether a text has a value in place of an encrypted one.
func (e *environmentRun) hides(text string) bool {
	if _, ok := e.hidden[text]; ok || len(e.hidden) == 0 {
		return ok
	}
	for key := range e.hidden {
		if strings.HasPrefix(strings.TrimPrefix(key, "$"), "${") && strings.Contains(text, key) {
			return true
		}
	}
	return len(fleet.References(text)) > 0
}

// decide records a decision by an encrypted value: for the release that is evaluated, or for
// all of them.
func (g *engine) decide(pos diag.Pos) {
	switch e := g.run; {
	case g.lenient: // the second pass records it
	case e.current != nil:
		e.current.decisions = append(e.current.decisions, pos)
	default:
		e.decisions = append(e.decisions, pos)
	}
}

// noteDecisions marks a release with decisions by encrypted values.
func (e *environmentRun) noteDecisions(d *helmfileRelease) {
	const reason = "it depends on decisions by encrypted values"
	for _, pos := range slices.Concat(e.decisions, d.decisions) {
		d.out.Unproven = reason
		e.note(pos, d.title(), "values", "the import does not know the encrypted value that decides this: write the result, or decide by a value that is not encrypted")
	}
	if d.isUnknown {
		d.out.Unproven = reason
		e.note(d.at("name"), d.title(), "installed", "an encrypted value says whether it is installed: delete the release from the fleet if it is not")
	}
}
