package unify

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// selectDecls returns the declarations that may define the field with the
// given name. inner transforms the values, and embedded the embedded
// expressions. The declarations themselves are not modified.
func selectDecls(decls []ast.Decl, name string, inner, embedded func(ast.Expr) ast.Expr) []ast.Decl {
	var out []ast.Decl
	var lets []*ast.LetClause
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			if label, known := labelName(d); label == name || !known {
				f := *d
				f.Value = inner(d.Value)
				if !isEmptied(d.Value, f.Value) {
					out = append(out, &f)
				}
			}
		case *ast.Comprehension:
			lit, ok := d.Value.(*ast.StructLit)
			if !ok || d.Fallback != nil {
				out = append(out, d)
				continue
			}
			if kept := selectDecls(lit.Elts, name, inner, embedded); len(kept) > 0 {
				some := *d
				some.Value = &ast.StructLit{Elts: kept}
				out = append(out, &some)
			}
		case *ast.EmbedDecl:
			if lit, ok := d.Expr.(*ast.StructLit); ok {
				out = append(out, selectDecls(lit.Elts, name, inner, embedded)...)
				continue
			}
			out = append(out, &ast.EmbedDecl{Expr: embedded(d.Expr)})
		case *ast.LetClause:
			lets = append(lets, d)
		case *ast.Ellipsis:
			out = append(out, d)
		}
	}
	return withLets(out, lets)
}

// isEmptied reports whether a transformation removed all declarations of a
// struct.
func isEmptied(before, after ast.Expr) bool {
	b, ok1 := before.(*ast.StructLit)
	a, ok2 := after.(*ast.StructLit)
	return ok1 && ok2 && len(b.Elts) > 0 && len(a.Elts) == 0
}

// unchanged returns an expression as it is.
func unchanged(x ast.Expr) ast.Expr { return x }

// labelName returns the name of a field. known is false for aliased and
// computed labels.
func labelName(f *ast.Field) (name string, known bool) {
	if _, ok := f.Label.(*ast.Alias); ok || f.Alias != nil {
		return "", false // the alias may be referenced
	}
	name, _, err := ast.LabelName(f.Label)
	return name, err == nil
}

// withLets appends the let clauses that the declarations use.
func withLets(decls []ast.Decl, lets []*ast.LetClause) []ast.Decl {
	if len(decls) == 0 {
		return nil
	}
	used := map[ast.Node]bool{}
	var mark func(n ast.Node)
	mark = func(n ast.Node) {
		walkReferences(n, func(id *ast.Ident, _ []string) {
			if let, ok := id.Node.(*ast.LetClause); ok && slices.Contains(lets, let) && !used[let] {
				used[let] = true
				mark(let.Expr)
			}
		})
	}
	for _, d := range decls {
		mark(d)
	}
	for _, let := range lets {
		if used[let] {
			decls = append(decls, let)
		}
	}
	return decls
}

// policies reduces an expression for policies to the policy with the given
// name.
func (c *ruleExtractor) policies(x ast.Expr, name string) ast.Expr {
	switch x := x.(type) {
	case *ast.StructLit:
		return &ast.StructLit{Elts: selectDecls(x.Elts, name, ruleOnly, func(x ast.Expr) ast.Expr { return c.policies(x, name) })}
	case *ast.ParenExpr:
		return &ast.ParenExpr{X: c.policies(x.X, name)}
	case *ast.BinaryExpr:
		if x.Op == token.AND {
			return &ast.BinaryExpr{X: c.policies(x.X, name), Op: x.Op, Y: c.policies(x.Y, name)}
		}
	default:
		id, chain := selectorChain(x)
		if id == nil {
			break
		}
		if _, imported := id.Node.(*ast.ImportSpec); imported == (len(chain) == 1) && len(chain) < 2 {
			c.narrow[id] = name
		}
	}
	return x
}

// nonRuleFields are the fields of a policy that its rule does not use. They
// may differ between clusters that share a rule.
var nonRuleFields = []string{"message", "match", "waivers"}

// ruleOnly reduces an expression for a policy to its rule.
func ruleOnly(x ast.Expr) ast.Expr {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.AND {
			return &ast.BinaryExpr{X: ruleOnly(x.X), Op: x.Op, Y: ruleOnly(x.Y)}
		}
	case *ast.StructLit:
		var kept []ast.Decl
		var lets []*ast.LetClause
		for _, d := range x.Elts {
			switch d := d.(type) {
			case *ast.Field:
				if name, known := labelName(d); !known || !slices.Contains(nonRuleFields, name) {
					kept = append(kept, d)
				}
			case *ast.LetClause:
				lets = append(lets, d)
			default:
				kept = append(kept, d)
			}
		}
		if refersTo(kept, nonRuleFields) {
			return x
		}
		return &ast.StructLit{Elts: withLets(kept, lets)}
	}
	return x
}

// refersTo reports whether an identifier or selector in the declarations is
// one of the names.
func refersTo(decls []ast.Decl, names []string) bool {
	found := false
	for _, d := range decls {
		walkReferences(d, func(id *ast.Ident, chain []string) {
			if slices.Contains(names, id.Name) || slices.ContainsFunc(chain, func(s string) bool { return slices.Contains(names, s) }) {
				found = true
			}
		})
	}
	return found
}
