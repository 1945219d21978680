package lsp

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/stage/load"
)

// cursor is a position in a document, with the syntax around it.
type cursor struct {
	file   string // absolute
	root   string // root of the fleet
	text   string // of the document, unsaved changes included
	offset int    // in bytes

	syntax    *ast.File  // what could be parsed of the document
	nodes     []ast.Node // nodes around the position, the file first
	isComment bool

	// path is the CUE path of the field at the position: of the field whose label or value it
	// is, or of the struct between whose fields it is. Keys are without quotes. A pattern or
	// an interpolated label is its source text, such as [string].
	path []string
	part part

	// reference is the path of the field that the expression at the position refers to; nil
	// when it is not a reference to a field of the fleet.
	reference []string

	token textRange // the label or the innermost expression at the position; empty without one
}

// part is the part of a field that a position is in.
type part int

const (
	betweenFields part = iota // in a struct or a file, and in no field of it
	onLabel
	onValue // behind the colon of a field
)

// cursorAt returns the position in an open file, or in one on disk. It is nil for a file
// outside of a fleet and for one that is not CUE.
func (s *server) cursorAt(uri string, p position) *cursor {
	file := fileOf(uri)
	if file == "" || filepath.Ext(file) != ".cue" {
		return nil
	}
	root := rootOf(filepath.Dir(file))
	if root == "" {
		return nil
	}
	text := s.newTexts().text(file)
	return newCursor(root, file, text, offset(text, p))
}

// newCursor returns the cursor at an offset of a text. If the text has a syntax error, it uses
// the nodes that the parser recovered.
func newCursor(root, file, text string, at int) *cursor {
	syntax, err := parseBroken(file, text)
	c := &cursor{file: file, root: root, text: text, offset: at, syntax: syntax}
	c.isComment = c.isInComment()
	c.findNodes()
	c.findPath(err != nil)
	return c
}

// parseBroken parses a CUE file. With an error, it returns what the parser recovered.
func parseBroken(file, text string) (*ast.File, error) {
	parsed, err := load.ParseFile(file, []byte(text), parser.ParseComments)
	return cmp.Or(parsed, &ast.File{Filename: file}), err
}

// layer returns the directory of the layer that the document is in, relative to the root;
// empty for a document of another package, where paths begin at the package.
func (c *cursor) layer() string {
	rel, err := filepath.Rel(c.root, filepath.Dir(c.file))
	if err != nil {
		return ""
	}
	if rel = filepath.ToSlash(rel); rel == "environments" || strings.HasPrefix(rel, "environments/") {
		return rel
	}
	return ""
}

// target returns the path of the field at the position: the field that the expression refers
// to, or else the field itself.
func (c *cursor) target() []string {
	if c.reference != nil {
		return c.reference
	}
	return c.path
}

// valuePath converts the path of a default, such as releases.web.defaults.prod.replicas, to
// the path of the release's value, and returns the layer of the default. Other paths are
// returned unchanged, without a layer.
func valuePath(path []string) (value []string, layer string) {
	if len(path) < 4 || path[0] != "releases" || path[2] != "defaults" {
		return path, ""
	}
	return slices.Concat(path[:2], []string{"values"}, path[4:]), path[3]
}

// isInComment reports whether the position is in a comment.
func (c *cursor) isInComment() (found bool) {
	ast.Walk(c.syntax, func(n ast.Node) bool {
		comment, ok := n.(*ast.Comment)
		found = found || ok && c.contains(comment)
		return true
	}, nil)
	return found
}

// findNodes finds the nodes around the position. Of two neighbours that touch at it, it
// takes the second.
func (c *cursor) findNodes() {
	if c.isComment {
		c.nodes = []ast.Node{c.syntax}
		return
	}
	depth := 0
	ast.Walk(c.syntax, func(n ast.Node) bool {
		if _, ok := n.(*ast.File); !ok && !c.contains(n) {
			return false
		}
		c.nodes = append(c.nodes[:depth], n)
		depth++
		return true
	}, func(ast.Node) { depth-- })
}

// contains reports whether a node is around the position. A struct whose brace is missing
// reaches to the end of the text.
func (c *cursor) contains(n ast.Node) bool {
	from, to := n.Pos(), n.End()
	if !from.IsValid() || from.Offset() > c.offset {
		return false
	}
	if !to.IsValid() || to.Offset() < from.Offset() {
		return true
	}
	switch n := n.(type) {
	case *ast.StructLit:
		if n.Rbrace.IsValid() {
			return c.offset > from.Offset() && c.offset < to.Offset()
		}
		if c.offset == to.Offset() && len(n.Elts) > 0 {
			return c.contains(n.Elts[len(n.Elts)-1])
		}
	case *ast.ListLit:
		return c.offset < to.Offset()
	case *ast.Field:
		// The parser takes a field in the next line as the missing value of a field.
		if at := endOf(n.Label); at >= 0 && at <= c.offset && n.Value != nil && c.offset < n.Value.Pos().Offset() {
			return !strings.Contains(c.text[at:c.offset], "\n")
		}
		if s, ok := n.Value.(*ast.StructLit); ok && c.offset == to.Offset() {
			return c.contains(s)
		}
	}
	return c.offset <= to.Offset()
}

// endOf returns the offset of the end of a node; -1 when it is unknown.
func endOf(n ast.Node) int {
	if end := n.End(); end.IsValid() {
		return end.Offset()
	}
	return -1
}

// findPath sets the path, the part, the reference and the token. In a text with syntax
// errors, a field at the beginning of a line is one of the file: a brace above it is missing.
func (c *cursor) findPath(hasErrors bool) {
	scopes := map[ast.Node]int{} // lengths of the paths of files and structs
	for i, n := range c.nodes {
		var next ast.Node
		if i+1 < len(c.nodes) {
			next = c.nodes[i+1]
		}
		switch n := n.(type) {
		case *ast.File, *ast.StructLit:
			scopes[n], c.part = len(c.path), betweenFields
		case *ast.EmbedDecl:
			c.part = onValue
		case *ast.Field:
			if hasErrors && n.Pos().Column() == 1 {
				c.path = nil
				scopes = map[ast.Node]int{c.syntax: 0}
			}
			if next == n.Value && c.lacksValue(n) {
				continue
			}
			c.path = append(c.path, c.key(n.Label))
			c.part = onValue
			if next == n.Label || next == nil && c.offset <= endOf(n.Label) {
				c.part, c.token = onLabel, nodeRange(c.text, n.Label)
				return
			}
		case *ast.ListLit:
			if i := slices.IndexFunc(n.Elts, func(e ast.Expr) bool { return e == next }); i >= 0 {
				c.path = append(c.path, strconv.Itoa(i))
			}
		case *ast.ParenExpr, *ast.UnaryExpr, *ast.BinaryExpr, *ast.Comprehension:
		case *ast.ForClause, *ast.IfClause, *ast.LetClause, *ast.CallExpr, *ast.Interpolation:
			c.part = onValue
			c.findReference(scopes)
			return // the fields inside are not fields of the path
		default:
			c.findReference(scopes)
			return
		}
	}
}

// lacksValue reports whether a field has no value, so that the parser took the field in the
// next line for it.
func (c *cursor) lacksValue(f *ast.Field) bool {
	s, ok := f.Value.(*ast.StructLit)
	from, to := endOf(f.Label), f.Value.Pos().Offset()
	return ok && !s.Lbrace.IsValid() && from >= 0 && from <= to && to <= len(c.text) && strings.Contains(c.text[from:to], "\n")
}

// findReference sets the token, and the reference if the position is on one.
func (c *cursor) findReference(scopes map[ast.Node]int) {
	last := len(c.nodes) - 1
	switch c.nodes[last].(type) {
	case *ast.Ident, *ast.BasicLit:
	default:
		return
	}
	c.token = nodeRange(c.text, c.nodes[last])
	e, ok := c.nodes[last].(ast.Expr)
	if s, isSelector := c.nodes[last-1].(*ast.SelectorExpr); isSelector && s.Sel == c.nodes[last] {
		e = s
	} else if x, isIndex := c.nodes[last-1].(*ast.IndexExpr); isIndex && x.Index == c.nodes[last] {
		e = x
	}
	if ok {
		c.reference = c.resolve(e, scopes)
	}
}

// resolve returns the path of the field that an expression refers to; nil when it is not a
// reference to a field.
func (c *cursor) resolve(e ast.Expr, scopes map[ast.Node]int) []string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		if x := c.resolve(e.X, scopes); x != nil {
			return append(x, c.key(e.Sel))
		}
	case *ast.IndexExpr:
		lit, ok := e.Index.(*ast.BasicLit)
		if x := c.resolve(e.X, scopes); x != nil && ok {
			return append(x, c.key(lit))
		}
	case *ast.Ident:
		return c.resolveName(e.Name, scopes)
	}
	return nil
}

// resolveName returns the path of the nearest field with a name. Variables, aliases and
// imports are not fields, and a name does not refer to a label in quotes.
func (c *cursor) resolveName(name string, scopes map[ast.Node]int) []string {
	for _, n := range slices.Backward(c.nodes) {
		var decls []ast.Decl
		switch n := n.(type) {
		case *ast.StructLit:
			decls = n.Elts
		case *ast.File:
			decls = n.Decls
		case *ast.Comprehension:
			if hasVariable(n.Clauses, name) {
				return nil
			}
		}
		for _, d := range decls {
			switch d := d.(type) {
			case *ast.LetClause:
				if d.Ident.Name == name {
					return nil
				}
			case *ast.Field:
				label, _ := d.Label.(*ast.Ident)
				if at, ok := scopes[n]; ok && label != nil && label.Name == name {
					return append(slices.Clone(c.path[:at]), name)
				}
			}
		}
	}
	for spec := range c.syntax.ImportSpecs() {
		path, _ := literal.Unquote(spec.Path.Value)
		if isNamed := spec.Name != nil; isNamed && spec.Name.Name == name || !isNamed && ast.ParseImportPath(path).Qualifier == name {
			return nil
		}
	}
	if token.Lookup(name) != token.IDENT || slices.Contains([]string{"string", "int", "bool", "number", "bytes", "float", "len", "or", "and", "close", "self"}, name) {
		return nil
	}
	return []string{name} // of another file of the package
}

// hasVariable reports whether clauses of a comprehension define a variable.
func hasVariable(clauses []ast.Clause, name string) bool {
	return slices.ContainsFunc(clauses, func(clause ast.Clause) bool {
		switch clause := clause.(type) {
		case *ast.ForClause:
			return clause.Key != nil && clause.Key.Name == name || clause.Value != nil && clause.Value.Name == name
		case *ast.LetClause:
			return clause.Ident.Name == name
		}
		return false
	})
}

// key returns the key of a label.
func (c *cursor) key(l ast.Node) string {
	switch l := l.(type) {
	case *ast.Ident:
		return l.Name
	case *ast.BasicLit:
		if name, err := literal.Unquote(l.Value); err == nil {
			return name
		}
		return l.Value
	}
	from, to := l.Pos().Offset(), endOf(l)
	if !l.Pos().IsValid() || to < from || to > len(c.text) {
		return "[]"
	}
	return c.text[from:to]
}

// positionOf returns the position of an offset in bytes.
func positionOf(text string, at int) position {
	line := strings.Count(text[:at], "\n")
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	return position{line, units(text[begin:at])}
}
