package unify

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/base/diag"
)

// checkInterpolations reports interpolations of values that are not known. For a reference
// that leads to a missing field through another one, CUE 0.17 often inserts an empty text.
// Interpolations in conditions, in computed names of fields and in rules are not checked, and
// those in unselected releases only if others refer to them.
func (e *evaluation) checkInterpolations(in *build.Instance, final cue.Value, unselected []string) diag.List {
	c := interpolationCheck{evaluation: e, seen: map[cue.Value]bool{}}
	hasTexts := interpolating(in, unselected)
	for _, f := range fieldsIn(final) {
		if f.name != "releases" && f.name != "policies" {
			c.walk(f.v)
		}
	}
	e.releases(final, func(name string, release cue.Value) {
		if !slices.Contains(unselected, name) && hasTexts(name) {
			c.walk(release)
		}
	})
	return c.faults
}

// interpolating reports whether the values of a release can have interpolations. To walk all
// releases takes a tenth of the time of an evaluation, and most have none.
func interpolating(in *build.Instance, unselected []string) func(release string) bool {
	all, releases := false, map[string]bool{}
	for _, of := range in.Dependencies() {
		// Those of the schema are complete.
		all = all || of.ImportPath != fleetc.SchemaPath && slices.ContainsFunc(of.Files, func(f *ast.File) bool { return interpolates(f) })
	}
	for _, f := range in.Files {
		for _, d := range f.Decls {
			name, below := plainField(d)
			switch {
			case name == "releases" && below != nil:
				for _, r := range below.Elts {
					if interpolates(r) {
						release, _ := plainField(r)
						releases[release] = true
						all = all || isHidden(release) || slices.Contains(unselected, release) || hidesInterpolation(r)
					}
				}
			case name == "releases" || isHidden(name):
				all = all || interpolates(d)
			default: // its value is walked
				all = all || hidesInterpolation(d)
			}
		}
	}
	return func(name string) bool { return all || releases[name] }
}

// plainField returns the name and the struct of a field; empty and nil for other declarations
// and values.
func plainField(d ast.Decl) (name string, value *ast.StructLit) {
	if f, ok := d.(*ast.Field); ok {
		name, _ = labelName(f)
		value, _ = f.Value.(*ast.StructLit)
	}
	return name, value
}

// isHidden reports whether a check of regular fields does not see the field with a name, to
// which fields of releases may refer. Computed names and let clauses have an empty one.
func isHidden(name string) bool { return name == "" || strings.ContainsAny(name[:1], "_#") }

// hidesInterpolation reports whether a hidden field or let clause below a node has an
// interpolation.
func hidesInterpolation(n ast.Node) (found bool) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			name, _ := plainField(x)
			found = found || isHidden(name) && interpolates(x)
		case *ast.LetClause:
			found = found || interpolates(x)
		}
		return !found
	}, nil)
	return found
}

// interpolates reports whether a node has an interpolation, or may refer to one in a policy,
// which is not walked.
func interpolates(n ast.Node) (found bool) {
	ast.Walk(n, func(n ast.Node) bool {
		_, ok := n.(*ast.Interpolation)
		id, _ := n.(*ast.Ident)
		found = found || ok || id != nil && id.Name == "policies"
		return !found
	}, nil)
	return found
}

// An interpolationCheck looks for interpolations of unknown values.
type interpolationCheck struct {
	*evaluation
	seen   map[cue.Value]bool // the checked texts
	faults diag.List
}

// walk checks the texts of a value.
func (c *interpolationCheck) walk(v cue.Value) {
	switch v.IncompleteKind() {
	case cue.StructKind:
		for it, _ := v.Fields(); it != nil && it.Next(); {
			c.walk(it.Value())
		}
	case cue.ListKind:
		for _, item := range items(v) {
			c.walk(item)
		}
	case cue.StringKind, cue.BytesKind, cue.BottomKind: // a part of an expression may be invalid
		c.text(v)
	default:
		if chosen, ok := v.Default(); ok && chosen != v {
			c.walk(chosen)
		}
	}
}

// text checks the expression of a text, and those that it refers to. It ignores the
// alternatives that were not chosen.
func (c *interpolationCheck) text(v cue.Value) {
	if _, literal := expression(v).(*ast.BasicLit); literal || c.seen[v] {
		return
	}
	c.seen[v] = true
	chosen, _ := v.Default()
	for _, of := range []cue.Value{chosen, cue.Dereference(v)} {
		if of != v {
			c.text(of)
			return
		}
	}
	op, operands := v.Expr()
	switch op {
	case cue.InterpolationOp, cue.AndOp, cue.AddOp, cue.CallOp:
	default:
		return
	}
	for _, o := range operands {
		alternative, isDefault := o.Default()
		switch {
		case op == cue.InterpolationOp && o.IncompleteKind() == cue.BottomKind:
			c.faults.Add(diag.CUEFaults(c.root, cue.Dereference(o).Validate(cue.Concrete(true)), o).Err())
		case op == cue.AndOp && isDefault && !alternative.Equals(v): // another operand overrides the default
		default:
			c.walk(o)
		}
	}
}
