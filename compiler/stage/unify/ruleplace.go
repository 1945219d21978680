package unify

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A finder looks for where a policy is written. It reads the files, since CUE
// takes long to tell the parts of a value.
type finder struct {
	*cutter
	name           string
	rule, set, any token.Pos // where the rule is written, where a set with it is added, and where its name is
}

// place returns where the rule of a policy is written: in the topmost layer
// that does or, where it is one of a set, the place that adds the set. own says
// that the layers write the rule itself.
func (c *cutter) place(name string) (pos token.Pos, own bool) {
	files := slices.Clone(c.in.Files)
	rank := func(f *ast.File) int {
		layer := c.layerOf(f.Pos())
		return slices.IndexFunc(c.layers, func(l fleet.Layer) bool { return l.Name == layer })
	}
	slices.SortStableFunc(files, func(a, b *ast.File) int { return rank(a) - rank(b) })
	f := finder{cutter: c, name: name}
	for _, file := range files {
		f.decls(pick(file.Decls, "policies", asIs, asIs), "policies", func(field *ast.Field) { f.policies(field.Value) })
	}
	switch {
	case f.rule.IsValid():
		return f.rule, true
	case f.set.IsValid():
		return f.set, false
	}
	return f.any, false
}

// decls calls found for each field with the given name among declarations.
func (f *finder) decls(decls []ast.Decl, name string, found func(*ast.Field)) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			if is, _ := labelled(d); is == name {
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

// policies looks for the policy in an expression for policies by name.
func (f *finder) policies(x ast.Expr) {
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

// holds reports whether what an expression refers to has a field for the
// policy.
func (f *finder) holds(in *build.Instance, x ast.Expr, depth int) bool {
	const maxDepth = 10
	id, chain := selected(x)
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
					is, _ := labelled(d)
					found = found || is == f.name
				case *ast.EmbedDecl:
					found = found || f.holds(in, d.Expr, depth+1)
				}
			}
		})
	}
	return found
}

// hasRule reports whether an expression for a policy is more than what is
// beside a rule.
func hasRule(x ast.Expr) bool {
	lit, ok := x.(*ast.StructLit)
	if !ok {
		return true
	}
	for _, d := range lit.Elts {
		if field, ok := d.(*ast.Field); ok {
			if name, _ := labelled(field); slices.Contains(aside, name) {
				continue
			}
		}
		return true
	}
	return false
}
