package unify

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"
)

// A policyFinder finds the position of a policy. It reads the files, because
// CUE is slow to split a value into conjuncts.
type policyFinder struct {
	*ruleExtractor
	name           string
	rule, set, any token.Pos // positions of the rule, of a set that contains it, and of its name
}

// place returns the position of a policy: that of its rule in the topmost
// layer (own is true), or that of the reference to a set of policies.
func (c *ruleExtractor) place(name string) (pos token.Pos, own bool) {
	files := slices.Clone(c.in.Files)
	rank := func(f *ast.File) int { return layerIndex(c.layers, c.layerOf(f.Pos())) }
	slices.SortStableFunc(files, func(a, b *ast.File) int { return rank(a) - rank(b) })
	f := policyFinder{ruleExtractor: c, name: name}
	for _, file := range files {
		f.decls(selectDecls(file.Decls, "policies", unchanged, unchanged), "policies", func(field *ast.Field) { f.policies(field.Value) })
	}
	switch {
	case f.rule.IsValid():
		return f.rule, true
	case f.set.IsValid():
		return f.set, false
	}
	return f.any, false
}

// decls calls found for each field with the given name.
func (f *policyFinder) decls(decls []ast.Decl, name string, found func(*ast.Field)) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			if label, _ := labelName(d); label == name {
				found(d)
			}
		case *ast.Comprehension:
			if lit, ok := d.Value.(*ast.StructLit); ok {
				f.decls(lit.Elts, name, found)
			}
		case *ast.EmbedDecl:
			if lit, ok := d.Expr.(*ast.StructLit); ok {
				f.decls(lit.Elts, name, found)
			} else if name == f.name {
				f.policies(d.Expr)
			}
		}
	}
}

// policies searches for the policy in an expression for policies.
func (f *policyFinder) policies(x ast.Expr) {
	switch x := x.(type) {
	case *ast.StructLit:
		f.decls(x.Elts, f.name, func(field *ast.Field) {
			at := &f.any
			if hasRule(field.Value) {
				at = &f.rule
			}
			if !at.IsValid() {
				*at = field.Pos()
			}
		})
	case *ast.ParenExpr:
		f.policies(x.X)
	case *ast.BinaryExpr:
		f.policies(x.X)
		f.policies(x.Y)
	default:
		if !f.set.IsValid() && f.holds(f.in, x, 0) {
			f.set = x.Pos()
		}
	}
}

// holds reports whether the target of an expression has a field for the
// policy.
func (f *policyFinder) holds(in *build.Instance, x ast.Expr, depth int) bool {
	const maxDepth = 10
	id, chain := selectorChain(x)
	if id == nil || depth > maxDepth {
		return false
	}
	name := id.Name
	if spec, ok := id.Node.(*ast.ImportSpec); ok {
		if in = instance(in, spec); in == nil || len(chain) != 1 {
			return false
		}
		name = chain[0]
	}
	found := false
	for _, file := range in.Files {
		f.decls(file.Decls, name, func(field *ast.Field) {
			lit, ok := field.Value.(*ast.StructLit)
			if !ok {
				found = found || f.holds(in, field.Value, depth+1)
				return
			}
			for _, d := range lit.Elts {
				switch d := d.(type) {
				case *ast.Field:
					label, _ := labelName(d)
					found = found || label == f.name
				case *ast.EmbedDecl:
					found = found || f.holds(in, d.Expr, depth+1)
				}
			}
		})
	}
	return found
}

// hasRule reports whether an expression for a policy contains more than
// nonRuleFields.
func hasRule(x ast.Expr) bool {
	lit, ok := x.(*ast.StructLit)
	return !ok || slices.ContainsFunc(lit.Elts, func(d ast.Decl) bool {
		field, ok := d.(*ast.Field)
		if !ok {
			return true
		}
		name, _ := labelName(field)
		return !slices.Contains(nonRuleFields, name)
	})
}
