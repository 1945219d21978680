package lsp

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// references replaces references to the release, such as releases.web.values, and comparisons
// with its name in a loop over the releases.
func (r *renamer) references(parsed *ast.File) {
	ast.Walk(parsed, func(n ast.Node) bool {
		var name ast.Node
		switch n := n.(type) {
		case *ast.SelectorExpr:
			name = n.Sel
		case *ast.IndexExpr:
			name = n.Index
		case *ast.Ident:
			name = n
		case *ast.BinaryExpr:
			r.comparison(parsed, n)
		}
		if name == nil {
			return true
		}
		if id, ok := name.(*ast.Ident); ok && id.Name != r.before {
			return true
		}
		if lit, ok := name.(*ast.BasicLit); ok && !isText(lit, r.before) {
			return true
		}
		c := r.cursor(parsed, name)
		if !slices.Equal(c.reference, []string{"releases", r.before}) || slices.ContainsFunc(r.edits[r.file], func(e replacement) bool { return e.from == name.Pos().Offset() }) {
			return true
		}
		if _, bare := n.(*ast.Ident); bare && ast.StringLabelNeedsQuoting(r.after) && !strings.HasSuffix(r.text[:c.offset], ".") {
			r.computed = append(r.computed, r.pos(n))
			return true
		}
		r.replace(name, r.after)
		return true
	}, nil)
}

// cursor returns the cursor at a node of the file.
func (r *renamer) cursor(parsed *ast.File, n ast.Node) *cursor {
	c := &cursor{file: r.file, root: r.root, text: r.text, offset: n.Pos().Offset(), syntax: parsed}
	c.findNodes()
	c.findPath(false)
	return c
}

// comparison replaces the name in a comparison with the key of a loop over the releases:
// for name, r in releases if name != "web".
func (r *renamer) comparison(parsed *ast.File, e *ast.BinaryExpr) {
	if e.Op != token.EQL && e.Op != token.NEQ {
		return
	}
	id, ok := e.X.(*ast.Ident)
	text := e.Y
	if !ok {
		id, ok = e.Y.(*ast.Ident)
		text = e.X
	}
	if !ok || !isText(text, r.before) {
		return
	}
	for _, n := range slices.Backward(r.cursor(parsed, id).nodes) {
		loop, ok := n.(*ast.Comprehension)
		if !ok {
			continue
		}
		for _, clause := range loop.Clauses {
			clause, ok := clause.(*ast.ForClause)
			if !ok || clause.Key == nil || clause.Key.Name != id.Name {
				continue
			}
			if slices.Equal(r.cursor(parsed, clause.Source).reference, []string{"releases"}) {
				r.replace(text, r.after)
			}
			return
		}
	}
}
