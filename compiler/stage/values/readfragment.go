package values

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// This file finds the sinks of actions in fragments: named templates that print
// a part of an object, without its kind. The sink is below the places at which
// other templates include the fragment.

// An inclusion is an action that includes a template by name.
type inclusion struct {
	caller string
	source *source
	action parse.Node
	pipe   *parse.PipeNode // nil for a template action
	other  bool            // its output is not printed unchanged
}

// A position is a place in documents of one of the kinds.
type position struct {
	kinds []apiKind
	path  []string
}

// maxFragments is the maximum nesting of fragments in each other.
const maxFragments = 8

// inFragment returns the sink of an action at the place in the current template;
// nil when the template is not a fragment, or a place that includes it is unknown.
func (r *interpreter) inFragment(at spot) *shape {
	var s *shape
	for i, p := range r.positions(r.call.name, 0) {
		below := r.shapes.place(p.kinds, slices.Concat(p.path, at.path))
		if i > 0 {
			below = r.shapes.join(s, below)
		}
		if s = below; s == nil {
			return nil
		}
	}
	if s == nil || at.list && !s.list {
		return nil
	}
	return s
}

// printsOnce reports whether the output of the nodes is that of one action, or blank.
func printsOnce(l *parse.ListNode) bool {
	prints, _ := effects(l)
	return prints < many
}

// positions returns the places that print the template's output; none when one
// of them is unknown.
func (r *interpreter) positions(name string, depth int) []position {
	if r.inclusions == nil {
		r.findInclusions()
	}
	if known, ok := r.included[name]; ok || depth > maxFragments {
		return known
	}
	r.included[name] = nil
	var out []position
	for _, in := range r.inclusions[name] {
		found := r.positionsOf(in, depth)
		if out = append(out, found...); len(found) == 0 || len(out) > maxSinks {
			return nil
		}
	}
	r.included[name] = out
	return out
}

func (r *interpreter) positionsOf(in inclusion, depth int) []position {
	if in.other {
		return nil
	}
	at, open, _ := r.spotOf(in.source, in.action, in.pipe)
	if !at.root || at.list {
		return nil
	}
	if kinds := in.source.layout.kinds(open); len(kinds) > 0 {
		return []position{{kinds, at.path}}
	}
	return diag.Each(r.positions(in.caller, depth+1), func(p position) position { return position{p.kinds, slices.Concat(p.path, at.path)} })
}

// findInclusions finds the inclusions of all templates.
func (r *interpreter) findInclusions() {
	r.inclusions, r.included = map[string][]inclusion{}, map[string][]position{}
	for _, name := range slices.Sorted(maps.Keys(r.templates)) {
		if t := r.templates[name]; t.tree != nil && t.source != nil && strings.Contains(t.source.data, "{{") {
			r.inclusionsIn(inclusion{caller: name, source: t.source}, t.tree.Root)
		}
	}
}

// inclusionsIn finds the inclusions at the node and below it.
func (r *interpreter) inclusionsIn(in inclusion, n parse.Node) {
	r.steps++
	branch := func(b *parse.BranchNode) {
		for _, below := range []parse.Node{b.Pipe, b.List, b.ElseList} {
			r.inclusionsIn(in, below)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for i := 0; n != nil && i < len(n.Nodes); i++ {
			r.inclusionsIn(in, n.Nodes[i])
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.TemplateNode:
		in.action = n
		r.inclusions[n.Name] = append(r.inclusions[n.Name], in)
	case *parse.ActionNode:
		name, ok := printedTemplate(n.Pipe)
		if !ok {
			r.inclusionsIn(in, n.Pipe)
			return
		}
		r.inclusionsIn(in, n.Pipe.Cmds[0].Args[2])
		in.action, in.pipe = n, n.Pipe
		r.inclusions[name] = append(r.inclusions[name], in)
	case *parse.PipeNode:
		for i := 0; n != nil && i < len(n.Cmds); i++ {
			for _, arg := range n.Cmds[i].Args {
				r.inclusionsIn(in, arg)
			}
		}
	case *parse.StringNode:
		if r.templates[n.Text] != nil {
			in.other = true
			r.inclusions[n.Text] = append(r.inclusions[n.Text], in)
		}
	}
}

// printedTemplate returns the name of the template of which an action prints the
// output, at most with another indentation.
func printedTemplate(p *parse.PipeNode) (name string, ok bool) {
	if len(p.Decl) > 0 || len(p.Cmds) == 0 || len(p.Cmds[0].Args) != 3 {
		return "", false
	}
	for i, c := range p.Cmds {
		switch f := functionOf(c.Args[0]); {
		case i == 0 && f != "include", i > 0 && f != "trim" && f != "indent" && f != "nindent":
			return "", false
		}
	}
	text, ok := p.Cmds[0].Args[1].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return text.Text, true
}
