package lsp

import (
	"cmp"
	"context"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// documentSymbol is a field of a document with the fields below it.
type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          textRange        `json:"range"`
	SelectionRange textRange        `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

// Kinds of symbols in the protocol.
const (
	symbolModule   = 2
	symbolPackage  = 4
	symbolProperty = 7
	symbolStruct   = 23
)

// maxSymbolDepth limits the nesting of fields.
const maxSymbolDepth = 6

// documentSymbol returns the fields of a document. Named elements, such as releases, stages
// and policies, are symbols of the document with their kind as detail.
func (s *server) documentSymbol(_ context.Context, p positionParams) (any, error) {
	cur := s.cursorAt(p.TextDocument.URI, position{})
	if cur == nil {
		return nil, nil //nolint:nilnil // the result of a request is null
	}
	out := []documentSymbol{}
	for _, f := range topFields(cur.syntax.Decls) {
		key, _, _ := ast.LabelName(f.Label)
		what, named := namedFields[key]
		if !named || len(structsOf(f.Value)) == 0 {
			out = append(out, cur.symbols([]ast.Decl{f}, 0)...)
			continue
		}
		for _, one := range cur.symbols(structsOf(f.Value), 0) {
			one.Detail, one.Kind = what, symbolPackage
			out = append(out, one)
		}
	}
	return out, nil
}

// namedFields are the fields of a layer whose fields are symbols of the document.
var namedFields = map[string]string{
	"releases": "release", "policies": "policy", "secrets": "secret", "images": "image", "health": "health", "actions": "action",
}

// topFields returns the fields of declarations, also those with a condition.
func topFields(decls []ast.Decl) []*ast.Field {
	var out []*ast.Field
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			out = append(out, d)
		case *ast.EmbedDecl:
			out = append(out, topFields(structsOf(d.Expr))...)
		case *ast.Comprehension:
			out = append(out, topFields(structsOf(d.Value))...)
		}
	}
	return out
}

// symbols returns the symbols of declarations.
func (c *cursor) symbols(decls []ast.Decl, depth int) []documentSymbol {
	return diag.Each(topFields(decls), func(f *ast.Field) documentSymbol { return c.symbol(f, depth) })
}

// symbol returns the symbol of a field.
func (c *cursor) symbol(f *ast.Field, depth int) documentSymbol {
	name := cmp.Or(strings.TrimSpace(c.key(f.Label)), `""`)
	out := documentSymbol{Name: name, Kind: symbolProperty, Range: nodeRange(c.text, f), SelectionRange: nodeRange(c.text, f.Label)}
	if out.Range == (textRange{}) { // a brace is missing
		out.Range = textRange{out.SelectionRange.Start, positionOf(c.text, len(c.text))}
	}
	below := structsOf(f.Value)
	if len(below) > 0 {
		if out.Kind = symbolStruct; depth == 0 {
			out.Kind = symbolModule
		}
		if depth < maxSymbolDepth {
			out.Children = c.symbols(below, depth+1)
		}
		return out
	}
	switch v := f.Value.(type) {
	case *ast.BasicLit:
		if !strings.Contains(v.Value, "\n") {
			out.Detail = v.Value
		}
	case *ast.ListLit:
		out.Children = c.stages(v)
	}
	return out
}

// stages returns the elements of a list that have names, such as stages.
func (c *cursor) stages(list *ast.ListLit) []documentSymbol {
	var out []documentSymbol
	for _, e := range list.Elts {
		for _, d := range structsOf(e) {
			f, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			lit, ok := f.Value.(*ast.BasicLit)
			if key, _, _ := ast.LabelName(f.Label); key == "name" && ok {
				out = append(out, documentSymbol{Name: c.key(lit), Kind: symbolProperty, Range: nodeRange(c.text, e), SelectionRange: nodeRange(c.text, lit)})
			}
		}
	}
	return out
}
