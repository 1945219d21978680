package unify

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxPasses limits the number of passes. A chain of references between values
// takes one pass per link.
const maxPasses = 200

// A binding is one pass: the merged defaults of every release, evaluated with
// the defaults that the previous pass filled in.
type binding struct {
	*reader
	merged          map[string]*fleet.Tree // by release, without defaults that values pins
	droppedDefaults []pinnedDefault        // the defaults that values pins
	filledExpr      ast.Expr               // the expression of merged; set when it is filled in
}

// bind merges the defaults of all releases and fills them into values until a
// pass merges what the previous pass filled in: then references see the final
// values. It returns the final value and the merged defaults by release. Every
// pass starts from base, so that no intermediate values remain. With an error
// it returns the results of the last pass.
func (e *evaluation) bind(base, config cue.Value) (cue.Value, map[string]*fleet.Tree, error) {
	// The first pass uses the layers alone, which CUE has evaluated. The next
	// pass adds the schema.
	v, whole := base, false
	prev := &binding{reader: e.reader()}
	var before map[string]any // merged by the pass before prev
	for range maxPasses {
		next := e.pass(v, prev)
		values := plainValues(next.merged)
		if !whole && len(values) == 0 {
			v, whole = base.Unify(config), true
			continue
		}
		if whole && reflect.DeepEqual(values, plainValues(prev.merged)) {
			e.lastFilled, e.last = prev, next
			return v, next.merged, next.cycle(v)
		}
		if before != nil && reflect.DeepEqual(values, before) {
			break // the passes alternate
		}
		if whole { // the first pass did not include the schema
			before = plainValues(prev.merged)
		}
		next.filledExpr = next.expr()
		v, whole = base.Unify(e.cctx.BuildExpr(next.filledExpr).Unify(config)), true
		prev = next
	}
	e.lastFilled, e.last = prev, prev
	// Faults of the values may be the reason for the divergence.
	if err := e.check(v); err != nil {
		return v, prev.merged, err
	}
	return v, prev.merged, prev.divergence(e.pass(v, prev))
}

func (e *evaluation) reader() *reader {
	return &reader{evaluation: e, positions: map[*fleet.Tree]token.Pos{}}
}

func (e *evaluation) checkAllLayers(v cue.Value) error {
	var faults diag.List
	e.releases(v, func(name string, release cue.Value) {
		faults.Add(e.checkLayers("releases."+cue.Str(name).String(), release))
	})
	for _, f := range fieldsOf(v, "secrets") {
		faults.Add(e.checkLayers("secrets."+cue.Str(f.name).String(), f.v))
	}
	return faults.Err()
}

// pass merges the defaults of all releases in v, which contains the defaults
// of prev.
func (e *evaluation) pass(v cue.Value, prev *binding) *binding {
	next := &binding{reader: e.reader(), merged: map[string]*fleet.Tree{}}
	e.releases(v, func(name string, release cue.Value) {
		next.merged[name] = next.defaults(release)
		next.dropPinned(name, nil, next.merged[name], lookup(release, "values"), prev.merged[name])
	})
	return next
}

// dropPinned removes the defaults that values pins: concrete values override
// every default. filled holds the defaults that the previous pass filled in;
// it may be nil.
func (b *binding) dropPinned(release string, path []string, t *fleet.Tree, values cue.Value, filled *fleet.Tree) {
	for k, d := range t.Fields {
		value := values.LookupPath(cue.MakePath(cue.Str(k)))
		if !value.Exists() {
			continue
		}
		var before *fleet.Tree
		if filled != nil {
			before = filled.Fields[k]
		}
		switch {
		case d.IsMap() && value.IncompleteKind() == cue.StructKind:
			b.dropPinned(release, childPath(path, k), d, value, before)
		case isNull(d), isPinned(value, before), before == nil && isIncomplete(value):
			b.droppedDefaults = append(b.droppedDefaults, pinnedDefault{release, childPath(path, k), d, value})
			delete(t.Fields, k)
		}
	}
}

// isNull reports whether the default deletes a value of the chart. Nulls are
// not filled into values.
func isNull(t *fleet.Tree) bool { return !t.IsMap() && t.List == nil && t.Scalar == nil }

// isIncomplete reports whether v depends on a value that is not known yet.
func isIncomplete(v cue.Value) bool {
	err := v.Err()
	return err != nil && v.IncompleteKind() != cue.BottomKind
}

// isPinned reports whether a conjunct of v is concrete by itself. It ignores
// the conjunct that was filled in, and CUE defaults.
func isPinned(v cue.Value, filled *fleet.Tree) bool {
	if v.Err() == nil {
		// The filled-in value agrees with all other conjuncts.
		return filled == nil && isConcrete(v)
	}
	for _, c := range diag.Conjuncts(v) {
		if c.Err() != nil {
			// c cannot be evaluated next to a conflict, but its reference can.
			// Computed expressions are concrete.
			op, _ := c.Expr()
			if slices.Contains(computingOps, op) {
				return true
			}
			root, path := c.ReferencePath()
			if !root.Exists() {
				continue
			}
			c = root.LookupPath(path)
		}
		if c.Err() == nil && isConcrete(c) && (filled == nil || !sameJSON(c, filled)) {
			return true
		}
	}
	return false
}

// computingOps are the operations whose result is a concrete value.
var computingOps = []cue.Op{
	cue.InterpolationOp, cue.CallOp, cue.AddOp, cue.SubtractOp, cue.MultiplyOp,
	cue.FloatQuotientOp,
}

// isConcrete reports whether v can be exported as it is, without a CUE
// default. Structs and open lists are not concrete.
func isConcrete(v cue.Value) bool {
	switch v.IncompleteKind() {
	case cue.StructKind:
		return false
	case cue.ListKind:
		return v.IsConcrete() && v.Len().IsConcrete() && v.Validate(cue.Concrete(true)) == nil
	}
	return v.IsConcrete()
}

// sameJSON reports whether v and the tree have the same value.
func sameJSON(v cue.Value, t *fleet.Tree) bool {
	r := &reader{evaluation: &evaluation{layers: []fleet.Layer{{}}}, positions: map[*fleet.Tree]token.Pos{}}
	u := r.tree(v)
	return u != nil && reflect.DeepEqual(u.Value(), t.Value())
}

// plainValues returns the values of the trees, to compare passes.
func plainValues(trees map[string]*fleet.Tree) map[string]any {
	out := map[string]any{}
	for name, t := range trees {
		if v := t.Value(); !reflect.DeepEqual(v, map[string]any{}) {
			out[name] = v
		}
	}
	return out
}

// expr returns the merged defaults as CUE: releases: <name>: values: {...}.
// Every literal has the position of the user's literal.
func (b *binding) expr() ast.Expr {
	all := &ast.StructLit{}
	for _, name := range slices.Sorted(maps.Keys(b.merged)) {
		all.Elts = append(all.Elts, field(name, token.NoPos, &ast.StructLit{Elts: []ast.Decl{
			field("values", token.NoPos, b.syntax(b.merged[name])),
		}}))
	}
	return &ast.StructLit{Elts: []ast.Decl{field("releases", token.NoPos, all)}}
}

func field(name string, pos token.Pos, value ast.Expr) *ast.Field {
	label := ast.NewString(name)
	label.ValuePos = pos
	return &ast.Field{Label: label, Value: value}
}

// syntax returns the tree as a CUE expression.
func (r *reader) syntax(t *fleet.Tree) ast.Expr {
	pos := r.positions[t]
	switch {
	case t.IsMap():
		lit := &ast.StructLit{Lbrace: pos}
		for _, k := range t.Keys() {
			if f := t.Fields[k]; !isNull(f) {
				lit.Elts = append(lit.Elts, field(k, r.positions[f], r.syntax(f)))
			}
		}
		return lit
	case t.List != nil:
		lit := &ast.ListLit{Lbrack: pos}
		for _, elem := range t.List {
			lit.Elts = append(lit.Elts, r.syntax(elem))
		}
		return lit
	}
	return scalarSyntax(t.Scalar, pos)
}

func scalarSyntax(scalar any, pos token.Pos) ast.Expr {
	var lit *ast.BasicLit
	negative := false
	switch s := scalar.(type) {
	case nil:
		lit = ast.NewNull()
	case bool:
		lit = ast.NewBool(s)
	case string:
		lit = ast.NewString(s)
	default:
		lit = &ast.BasicLit{Kind: token.INT}
		lit.Value, negative = strings.CutPrefix(fmt.Sprint(scalar), "-")
		if strings.ContainsAny(lit.Value, ".eE") {
			lit.Kind = token.FLOAT
		}
	}
	lit.ValuePos = pos
	if negative {
		return &ast.UnaryExpr{Op: token.SUB, OpPos: pos, X: lit}
	}
	return lit
}
