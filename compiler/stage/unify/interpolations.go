package unify

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// checkInterpolations reports interpolations of values that are not known. For a reference
// that leads to a missing field through another one, CUE 0.17 often inserts an empty text.
// Interpolations in conditions, in computed names of fields and in rules are not checked, and
// those in unselected releases only if others refer to them.
func (e *evaluation) checkInterpolations(final cue.Value, unselected []string) diag.List {
	c := interpolationCheck{evaluation: e, seen: map[cue.Value]bool{}}
	for _, f := range fieldsIn(final) {
		if f.name != "releases" && f.name != "policies" {
			c.walk(f.v)
		}
	}
	e.releases(final, func(name string, release cue.Value) {
		if !slices.Contains(unselected, name) {
			c.walk(release)
		}
	})
	return c.faults
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
