package unify

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	maxTrace   = 8  // maximum depth of traced references
	maxSources = 60 // maximum number of sources listed for a line
)

// A source is a file of the cluster or of an imported package.
type source struct {
	file *ast.File
	in   *build.Instance
}

// A tracer finds the sources of one line. The path of the line is known; the
// paths of enclosing scopes follow from their depth.
type tracer struct {
	*Explainer
	source
	line
	parents   map[ast.Node]ast.Node
	trail     []string          // the traced paths, including that of the line
	depth     int               // number of fields above the line
	paths     [][]string        // referenced paths in the cluster
	sources   []fleet.Source    // references to other packages and let clauses
	onlyValue string            // the value of a line that is a single reference
	seen      map[ast.Node]bool // visited lets and conditions
	keys      map[*ast.ForClause][]string
}

// trace adds sources to a line. It does not follow the paths in trail again.
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
		Explainer: x, source: src, line: c, parents: x.parentsIn(src.file), trail: append(slices.Clone(trail), x.last().text(c.path)),
		seen: map[ast.Node]bool{}, keys: map[*ast.ForClause][]string{},
	}
	t.depth = t.fieldsAbove(node)
	t.read(node)
	for n := node; n != nil; n = t.parents[n] {
		if comp, ok := n.(*ast.Comprehension); ok {
			for _, clause := range comp.Clauses {
				t.condition(clause)
			}
		}
	}
	x.follow(c.Contribution, t.paths, t.trail)
	for _, s := range t.sources {
		x.add(c.Contribution, s)
	}
}

// read finds the references of the line's value and of its computed key.
func (t *tracer) read(node ast.Node) {
	expr := func(n ast.Node, text string) {
		switch x := n.(type) {
		case *ast.ParenExpr:
			n = x.X
		case *ast.StructLit: // of a list comprehension
			if len(x.Elts) == 1 {
				if embed, ok := x.Elts[0].(*ast.EmbedDecl); ok {
					n = embed.Expr
				}
			}
		}
		if x, ok := n.(ast.Expr); ok {
			if id, _ := selectorChain(x); id != nil {
				t.onlyValue = text
			}
		}
		walkReferences(n, t.reference)
		t.onlyValue = ""
	}
	text, _ := t.v.String()
	f, ok := node.(*ast.Field)
	if !ok {
		expr(node, text)
		return
	}
	if _, plain := labelName(f); !plain {
		expr(f.Label, t.path[len(t.path)-1])
	}
	expr(f.Value, text)
}

// add adds a source to a line, or counts it when there are too many.
func (x *Explainer) add(c *fleet.Contribution, s fleet.Source) {
	if x.budget--; x.budget < 0 {
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
			continue // the field itself, or a longer path follows
		}
		if x.budget <= 0 {
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

// setBy returns the lines that determine the field at the path.
func (x *Explainer) setBy(path []string) []line {
	l := x.last()
	if v, sels := l.at(path); len(sels) == len(path) && isStruct(v) {
		at := l.fieldPos(v)
		if !at.IsValid() {
			return nil
		}
		return []line{{path: path, Contribution: &fleet.Contribution{
			At: at, Layer: x.layer(v, path), Expr: "{...}", Kind: fleet.ValuePin, Role: fleet.Effective,
		}}}
	}
	all := x.lines(path)
	set := slices.DeleteFunc(slices.Clone(all), func(c line) bool { return c.Role == fleet.Overridden || c.Role == fleet.Holds })
	if len(set) == 0 {
		return all
	}
	return set
}

// parentsIn returns the parent of each node of a file.
func (x *Explainer) parentsIn(f *ast.File) map[ast.Node]ast.Node {
	if m := x.parents[f]; m != nil {
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
	x.parents[f] = m
	return m
}

// fieldsAbove returns the number of fields and list elements that enclose a
// node, including itself.
func (t *tracer) fieldsAbove(n ast.Node) int {
	depth := 0
	for ; n != nil; n = t.parents[n] {
		_, inList := t.parents[n].(*ast.ListLit)
		if _, ok := n.(*ast.Field); ok || inList {
			depth++
		}
	}
	return depth
}

// reference adds the target of an identifier and its selectors.
func (t *tracer) reference(id *ast.Ident, chain []string) {
	name := id.Name
	if f, ok := id.Node.(*ast.Field); ok { // which has an alias here
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
		t.packageName(id, name, chain)
	case *ast.StructLit:
		if let, ok := id.Node.(*ast.LetClause); ok {
			t.let(let)
			return
		}
		t.fieldOf(scope, name, chain)
	case *ast.LetClause:
		t.let(scope)
	}
}

// fieldOf adds a field of an enclosing struct. The struct is as many levels
// above the line in the cluster as in the file.
func (t *tracer) fieldOf(scope ast.Node, name string, chain []string) {
	depth := t.fieldsAbove(scope)
	up := t.depth - depth
	switch {
	case depth == 0 && t.in == t.last().in:
		t.addPath(append([]string{name}, chain...))
	case up <= len(t.path):
		t.addPath(slices.Concat(t.path[:len(t.path)-up], []string{name}, chain))
	}
}

// packageName adds the target of a name that is declared in a package.
func (t *tracer) packageName(id *ast.Ident, name string, chain []string) {
	switch n := id.Node.(type) {
	case *ast.ImportSpec:
		if in := instance(t.in, n); in != nil && len(chain) > 0 {
			t.declarations(in, id.Name, chain)
		}
		return
	case *ast.LetClause:
		t.let(n)
		return
	}
	if t.in == t.last().in {
		t.addPath(append([]string{name}, chain...))
		return
	}
	t.declarations(t.in, "", append([]string{name}, chain...))
}

// let adds the references of a let clause, or the clause itself if it has
// none.
func (t *tracer) let(let *ast.LetClause) {
	if t.seen[let] {
		return
	}
	t.seen[let] = true
	before := len(t.paths) + len(t.sources)
	walkReferences(let.Expr, t.reference)
	if len(t.paths)+len(t.sources) == before {
		t.addFixed(let.Ident.Name, let.Expr, fleet.ValuePin)
	}
}

// addFixed adds a line that is not a field of the cluster.
func (t *tracer) addFixed(path string, n ast.Node, kind fleet.ContributionKind) *fleet.Contribution {
	pos := diag.CUEPos(t.root, n.Pos())
	c := &fleet.Contribution{At: pos, Layer: t.last().layerOf(n.Pos()), Expr: exprText(n), Kind: kind, Role: fleet.Effective}
	if kind == fleet.Condition {
		c.Role = fleet.Holds
	}
	if !slices.ContainsFunc(t.sources, func(s fleet.Source) bool { return s.At == pos }) {
		t.sources = append(t.sources, fleet.Source{Path: path, Contribution: c})
	}
	return c
}

// declarations adds the declarations of a field of an imported package.
func (t *tracer) declarations(in *build.Instance, name string, chain []string) {
	for _, f := range in.Files {
		decls := f.Decls
		for i, key := range chain {
			var next []ast.Decl
			for _, d := range decls {
				field, ok := d.(*ast.Field)
				if !ok {
					continue
				}
				if label, known := labelName(field); !known || label != key {
					continue
				}
				if i == len(chain)-1 && !t.seen[field] && !diag.IsTypeFile(diag.CUEPos(t.root, f.Pos()).File) {
					t.seen[field] = true
					c := t.addFixed(strings.Trim(name+"."+strings.Join(chain, "."), "."), field.Value, fleet.ValuePin)
					inner := t.child()
					inner.source, inner.path, inner.depth = source{f, in}, nil, 0
					walkReferences(field.Value, inner.reference)
					for _, s := range inner.sources {
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

// addPath adds the longest existing prefix of a path.
func (t *tracer) addPath(path []string) {
	_, sels := t.last().at(path)
	if path = path[:len(sels)]; len(path) > 0 {
		t.paths = append(t.paths, path)
	}
}
