package compiler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// TestCodes checks that each literal of a fault has a code, and that each code in use has
// its page.
func TestCodes(t *testing.T) {
	codes := codeNames(t)
	eachGoFile(t, func(file string) {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "compiler/") && !strings.HasPrefix(file, "cmd/") {
			return
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, filepath.Join("..", file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				for _, lit := range faultsIn(n) {
					if !hasCode(lit) {
						t.Errorf("%s: give the fault a code", fset.Position(lit.Pos()))
					}
				}
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if c := codes[n.Sel.Name]; ok && x.Name == "diag" && c != "" && c.Page() == "" {
					t.Errorf("%s uses diag.%s: write compiler/base/diag/codes/%s.md", file, n.Sel.Name, c)
				}
			}
			return true
		})
	})
}

// faultsIn returns the literal if it is a diag.Diag with fields, and the elements of a
// diag.List without a type.
func faultsIn(lit *ast.CompositeLit) []*ast.CompositeLit {
	name := ""
	switch typ := lit.Type.(type) {
	case *ast.Ident:
		name = typ.Name
	case *ast.SelectorExpr:
		name = typ.Sel.Name
	}
	switch {
	case name == "Diag" && len(lit.Elts) > 0:
		return []*ast.CompositeLit{lit}
	case name != "List":
		return nil
	}
	var out []*ast.CompositeLit
	for _, e := range lit.Elts {
		if e, ok := e.(*ast.CompositeLit); ok && e.Type == nil {
			out = append(out, e)
		}
	}
	return out
}

func hasCode(lit *ast.CompositeLit) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		field, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return true // all fields are there
		}
		key, ok := field.Key.(*ast.Ident)
		return ok && key.Name == "Code"
	})
}

// codeNames has the codes by the names of their constants.
func codeNames(t *testing.T) map[string]diag.Code {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "base/diag/codenames.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]diag.Code{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			text := spec.Values[0].(*ast.BasicLit).Value
			names[spec.Names[0].Name] = diag.Code(strings.Trim(text, `"`))
		}
		return true
	})
	return names
}
