package unify

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	maxTrace   = 8  // references after references that are followed
	maxSources = 60 // lines that are listed below one that has a say
)

// A source is a file of the cluster, or of a package that it imports.
type source struct {
	file *ast.File
	in   *build.Instance
}

// A tracer finds what one line refers to. What stands at which path is known of
// the line alone; of the scopes around it, it follows from how deep they are.
type tracer struct {
	*Explainer
	source
	line
	above map[ast.Node]ast.Node
	trail []string          // paths that led to it, its own included
	depth int               // of the line, in fields
	found [][]string        // paths in the cluster
	fixed []fleet.Source    // of other packages, and lets
	only  string            // what the line is when it is one reference
	seen  map[ast.Node]bool // lets and conditions
	keys  map[*ast.ForClause][]string
}

// trace adds to a line what it refers to. trail are the paths that led to it,
// which are not followed again.
func (x *Explainer) trace(c line, trail []string) {
	node := c.v.Source()
	if node == nil || len(trail) >= maxTrace {
		return
	}
	src, ok := x.files[node.Pos().Filename()]
	if !ok {
		return
	}
	t := &tracer{
		Explainer: x, source: src, line: c, above: x.around(src.file), trail: append(slices.Clone(trail), x.last().text(c.path)),
		seen: map[ast.Node]bool{}, keys: map[*ast.ForClause][]string{},
	}
	t.depth = t.fieldsAbove(node)
	t.read(node)
	for n := node; n != nil; n = t.above[n] {
		if comp, ok := n.(*ast.Comprehension); ok {
			for _, clause := range comp.Clauses {
				t.condition(clause)
			}
		}
	}
	x.follow(c.Contribution, t.found, t.trail)
	for _, s := range t.fixed {
		x.add(c.Contribution, s)
	}
}

// read finds what the line refers to: its value and, where that is computed, its
// key.
func (t *tracer) read(node ast.Node) {
	expr := func(n ast.Node, is string) {
		switch x := n.(type) {
		case *ast.ParenExpr:
			n = x.X
		case *ast.StructLit: // of a list's comprehension
			if len(x.Elts) == 1 {
				if embed, ok := x.Elts[0].(*ast.EmbedDecl); ok {
					n = embed.Expr
				}
			}
		}
		if x, ok := n.(ast.Expr); ok {
			if id, _ := selected(x); id != nil {
				t.only = is
			}
		}
		uses(n, t.refers)
		t.only = ""
	}
	text, _ := t.v.String()
	f, ok := node.(*ast.Field)
	if !ok {
		expr(node, text)
		return
	}
	if _, plain := labelled(f); !plain {
		expr(f.Label, t.path[len(t.path)-1])
	}
	expr(f.Value, text)
}

// add adds a source to a line, or counts it when there are too many.
func (x *Explainer) add(c *fleet.Contribution, s fleet.Source) {
	if x.left--; x.left < 0 {
		c.More++
		return
	}
	c.From = append(c.From, s)
}

// follow adds the lines that set the fields at the paths.
func (x *Explainer) follow(c *fleet.Contribution, paths [][]string, trail []string) {
	l := x.last()
	slices.SortFunc(paths, slices.Compare)
	for i, path := range paths {
		text := l.text(path)
		covered := i+1 < len(paths) && len(paths[i+1]) >= len(path) && slices.Equal(paths[i+1][:len(path)], path)
		if covered || slices.Contains(trail, text) {
			continue // the field itself, or one that says more follows
		}
		if x.left <= 0 {
			c.More++
			continue
		}
		for _, s := range x.setBy(path) {
			x.add(c, fleet.Source{Path: text, Contribution: s.Contribution})
			if s.v.Exists() {
				x.trace(s, trail)
			}
		}
	}
}

// setBy returns the lines that made the field at the path what it is.
func (x *Explainer) setBy(path []string) []line {
	l := x.last()
	if v, sels := l.at(path); len(sels) == len(path) && isStruct(v) {
		at := l.fieldPos(v)
		if !at.IsValid() {
			return nil
		}
		return []line{{path: path, Contribution: &fleet.Contribution{
			At: at, Layer: x.layer(v, path), Expr: "{...}", Kind: fleet.ValuePin, Role: fleet.Wins,
		}}}
	}
	all := x.lines(path)
	set := slices.DeleteFunc(slices.Clone(all), func(c line) bool { return c.Role == fleet.Loses || c.Role == fleet.Holds })
	if len(set) == 0 {
		return all
	}
	return set
}

// around returns what is around each node of a file.
func (x *Explainer) around(f *ast.File) map[ast.Node]ast.Node {
	if m := x.above[f]; m != nil {
		return m
	}
	m := map[ast.Node]ast.Node{}
	var stack []ast.Node
	ast.Walk(f, func(n ast.Node) bool {
		if len(stack) > 0 {
			m[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	}, func(ast.Node) { stack = stack[:len(stack)-1] })
	x.above[f] = m
	return m
}

// fieldsAbove returns how many fields, and elements of lists, a node is in,
// itself included.
func (t *tracer) fieldsAbove(n ast.Node) int {
	depth := 0
	for ; n != nil; n = t.above[n] {
		_, inList := t.above[n].(*ast.ListLit)
		if _, ok := n.(*ast.Field); ok || inList {
			depth++
		}
	}
	return depth
}

// refers notes what an identifier, and the names that are selected from it,
// refer to.
func (t *tracer) refers(id *ast.Ident, chain []string) {
	name := id.Name
	if f, ok := id.Node.(*ast.Field); ok { // which has another name here
		if a, ok := f.Label.(*ast.Alias); ok {
			if label, ok := a.Expr.(ast.Label); ok {
				name, _, _ = ast.LabelName(label)
			}
		}
	}
	switch scope := id.Scope.(type) {
	case *ast.ForClause:
		t.variable(scope, id, chain)
	case *ast.File, nil:
		t.named(id, name, chain)
	case *ast.StructLit:
		if let, ok := id.Node.(*ast.LetClause); ok {
			t.let(let)
			return
		}
		t.below(scope, name, chain)
	case *ast.LetClause:
		t.let(scope)
	}
}

// below notes a field of a struct around the line, which is as far above the
// line in the cluster as in the file.
func (t *tracer) below(scope ast.Node, name string, chain []string) {
	depth := t.fieldsAbove(scope)
	up := t.depth - depth
	switch {
	case depth == 0 && t.in == t.last().in:
		t.find(append([]string{name}, chain...))
	case up <= len(t.path):
		t.find(slices.Concat(t.path[:len(t.path)-up], []string{name}, chain))
	}
}

// named notes a name of a package, which the identifier refers to.
func (t *tracer) named(id *ast.Ident, name string, chain []string) {
	switch n := id.Node.(type) {
	case *ast.ImportSpec:
		if in := instance(t.in, n); in != nil && len(chain) > 0 {
			t.declared(in, id.Name, chain)
		}
		return
	case *ast.LetClause:
		t.let(n)
		return
	}
	if t.in == t.last().in {
		t.find(append([]string{name}, chain...))
		return
	}
	t.declared(t.in, "", append([]string{name}, chain...))
}

// let notes what a let clause refers to, or the clause itself when that is
// nothing.
func (t *tracer) let(let *ast.LetClause) {
	if t.seen[let] {
		return
	}
	t.seen[let] = true
	before := len(t.found) + len(t.fixed)
	uses(let.Expr, t.refers)
	if len(t.found)+len(t.fixed) == before {
		t.fix(let.Ident.Name, let.Expr, fleet.ValuePin)
	}
}

// fix notes a line that is no field of the cluster.
func (t *tracer) fix(path string, n ast.Node, kind fleet.ContributionKind) *fleet.Contribution {
	pos := cuediag.Pos(t.root, n.Pos())
	c := &fleet.Contribution{At: pos, Layer: t.last().layerOf(n.Pos()), Expr: exprText(n), Kind: kind, Role: fleet.Wins}
	if kind == fleet.Condition {
		c.Role = fleet.Holds
	}
	if !slices.ContainsFunc(t.fixed, func(s fleet.Source) bool { return s.At == pos }) {
		t.fixed = append(t.fixed, fleet.Source{Path: path, Contribution: c})
	}
	return c
}

// declared notes the declarations of a field of an imported package.
func (t *tracer) declared(in *build.Instance, name string, chain []string) {
	for _, f := range in.Files {
		decls := f.Decls
		for i, key := range chain {
			var next []ast.Decl
			for _, d := range decls {
				field, ok := d.(*ast.Field)
				if !ok {
					continue
				}
				if is, known := labelled(field); !known || is != key {
					continue
				}
				if i == len(chain)-1 && !t.seen[field] && !cuediag.IsType(cuediag.Pos(t.root, f.Pos()).File) {
					t.seen[field] = true
					c := t.fix(strings.Trim(name+"."+strings.Join(chain, "."), "."), field.Value, fleet.ValuePin)
					inner := t.inner()
					inner.source, inner.path, inner.depth = source{f, in}, nil, 0
					uses(field.Value, inner.refers)
					for _, s := range inner.fixed {
						t.add(c, s)
					}
				}
				if lit, ok := field.Value.(*ast.StructLit); ok {
					next = append(next, lit.Elts...)
				}
			}
			decls = next
		}
	}
}

// find notes a path in the cluster, as far as there is something.
func (t *tracer) find(path []string) {
	_, sels := t.last().at(path)
	if path = path[:len(sels)]; len(path) > 0 {
		t.found = append(t.found, path)
	}
}
