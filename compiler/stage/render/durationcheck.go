package render

import "text/template/parse"

// fnFixedNow replaces now where the time affects neither output nor errors. It
// does not mark the chart as using the clock.
const fnFixedNow = "fleetc_now"

// replaceHarmlessNow replaces calls of now by [fnFixedNow] where neither
// output nor errors depend on the time. Charts check durations in two ways,
// because templates have no function for that:
//
//	{{- $_ := now | mustDateModify .duration }}
//	{{- $now := now }}{{ if ne $now ($now | dateModify .duration) }}
//
// Whether a text is a valid duration does not depend on the clock, and moving
// a time by a duration changes it unless the duration is 0. A call stays when
// the first variable is read, or when the second one is used in another way.
func replaceHarmlessNow(tree *parse.Tree) {
	// How often each variable is assigned, read, and compared with itself.
	assigned, read, compared := map[string]int{}, map[string]int{}, map[string]int{}
	var found []clockRead
	inspect(tree.Root, func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ActionNode:
			if c, ok := declaredTime(n.Pipe); ok {
				found = append(found, c)
			}
		case *parse.PipeNode:
			for _, v := range n.Decl {
				assigned[v.Ident[0]]++
			}
		case *parse.CommandNode:
			if name := comparedTime(n); name != "" {
				compared[name] += 2
			}
		case *parse.VariableNode:
			read[n.Ident[0]]++
		}
	})
	for _, c := range found {
		unread := read[c.variable] == 0
		if unread || !c.moved && assigned[c.variable] == 1 && read[c.variable] == compared[c.variable] {
			c.now.Ident = fnFixedNow
		}
	}
}

// A clockRead is a call of now and the variable that holds its value.
type clockRead struct {
	now      *parse.IdentifierNode
	variable string
	moved    bool // whether the variable holds the time moved by a duration
}

// declaredTime returns the call of now in a pipeline that only declares a variable.
func declaredTime(p *parse.PipeNode) (clockRead, bool) {
	if len(p.Decl) != 1 || p.IsAssign {
		return clockRead{}, false
	}
	value, moved := movedTime(p)
	if !moved && len(p.Cmds) == 1 && len(p.Cmds[0].Args) == 1 {
		value = p.Cmds[0].Args[0]
	}
	now, ok := value.(*parse.IdentifierNode)
	return clockRead{now, p.Decl[0].Ident[0], moved}, ok && now.Ident == "now"
}

// comparedTime returns the variable that a command compares with itself moved
// by a duration, or an empty string.
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

// variable returns the name of the variable that a word is, or an empty
// string.
func variable(n parse.Node) string {
	if v, ok := n.(*parse.VariableNode); ok && len(v.Ident) == 1 {
		return v.Ident[0]
	}
	return ""
}

// movedTime returns the operand of a pipeline that only moves it by a
// duration.
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
