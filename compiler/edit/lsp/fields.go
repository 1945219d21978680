package lsp

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// structsOf returns the declarations of the structs that an expression unifies or chooses
// from.
func structsOf(e ast.Expr) []ast.Decl {
	switch e := e.(type) {
	case *ast.StructLit:
		return e.Elts
	case *ast.ParenExpr:
		return structsOf(e.X)
	case *ast.UnaryExpr:
		return structsOf(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.AND || e.Op == token.OR {
			return slices.Concat(structsOf(e.X), structsOf(e.Y))
		}
	}
	return nil
}

// eachField calls found for each field in declarations, outer fields first, also for those
// with a condition. It skips patterns and the fields below them.
func eachField(decls []ast.Decl, path []string, found func(path []string, f *ast.Field)) {
	for _, f := range topFields(decls) {
		if key, _, err := ast.LabelName(f.Label); err == nil {
			at := append(slices.Clone(path), key)
			found(at, f)
			eachField(structsOf(f.Value), at, found)
		}
	}
}

// fieldLocations returns where the layers of a fleet write a field, or a default of it. It
// reads the text: a field that CUE computes is not found.
func (s *server) fieldLocations(root string, field []string) []location {
	texts := s.newTexts()
	var out []location
	_ = filepath.WalkDir(filepath.Join(root, "environments"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".cue" {
			return nil //nolint:nilerr // a directory that cannot be read has no fields
		}
		text := texts.text(file)
		if !strings.Contains(text, field[len(field)-1]) {
			return nil
		}
		eachField(parse(file, text).Decls, nil, func(path []string, f *ast.Field) {
			if value, _ := valuePath(path); slices.Equal(value, field) {
				out = append(out, location{texts.uri(file), nodeRange(text, f.Label)})
			}
		})
		return nil
	})
	return out
}

// nodeRange returns the range of a node of a parsed text.
func nodeRange(text string, n ast.Node) textRange {
	from, to := n.Pos(), n.End()
	if !from.IsValid() || !to.IsValid() || to.Offset() < from.Offset() || to.Offset() > len(text) {
		return textRange{}
	}
	return textRange{positionOf(text, from.Offset()), positionOf(text, to.Offset())}
}
