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
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxPasses bounds how often the merged defaults are filled back. A chain of
// references from value to value takes a pass for each of its links.
const maxPasses = 200

// A binding is one pass: the defaults of every release as they merge when
// evaluated with what the pass before filled in.
type binding struct {
	*reader
	merged  map[string]*fleet.Tree // by release, without what values pins
	dropped []pinnedDefault        // what values pins
	filled  ast.Expr               // what was filled in, once it is
}

// bind merges the defaults of all releases and fills them into values, over
// and over, until what is merged is what was filled in: references then see
// the final values. It returns the final value, and the merged defaults by
// release. The passes start from the same base each, so that nothing that was
// filled in on the way to the end remains. Beside an error stands the last of
// them.
func (e *evaluation) bind(base, config cue.Value) (cue.Value, map[string]*fleet.Tree, error) {
	// The first pass is over the layers alone: CUE has evaluated those, and what
	// the schema adds is in what the next pass is over.
	v, whole := base, false
	prev := &binding{reader: e.reader()}
	var before map[string]any // what the pass before prev merged
	for range maxPasses {
		next := e.pass(v, prev)
		values := plain(next.merged)
		if !whole && len(values) == 0 {
			v, whole = base.Unify(config), true
			continue
		}
		if whole && reflect.DeepEqual(values, plain(prev.merged)) {
			e.bound, e.last = prev, next
			next.placeShadows()
			return v, next.merged, next.cycle(v)
		}
		if before != nil && reflect.DeepEqual(values, before) {
			break // back and forth
		}
		if whole { // the layers alone may say something else
			before = plain(prev.merged)
		}
		next.filled = next.expr()
		v, whole = base.Unify(e.cctx.BuildExpr(next.filled).Unify(config)), true
		prev = next
	}
	e.bound, e.last = prev, prev
	// What is wrong with the values may be why they do not settle.
	if err := e.check(v); err != nil {
		return v, prev.merged, err
	}
	next := e.pass(v, prev)
	next.place()
	return v, prev.merged, prev.unsettled(next)
}

func (e *evaluation) reader() *reader {
	return &reader{evaluation: e, at: map[*fleet.Tree]token.Pos{}}
}

// place finds the places of all maps among the merged defaults.
func (b *binding) place() {
	for t, v := range b.unplaced {
		t.Pos = b.mapPos(v)
	}
	clear(b.unplaced)
}

// placeShadows is place for those maps that another layer has shadowed: those
// of the others are also the places of what they are filled into.
func (b *binding) placeShadows() {
	var walk func(t *fleet.Tree, shadow bool)
	walk = func(t *fleet.Tree, shadow bool) {
		if v, ok := b.unplaced[t]; ok && shadow {
			t.Pos = b.mapPos(v)
			delete(b.unplaced, t)
		}
		for _, f := range t.Fields {
			walk(f, shadow)
		}
		for _, e := range t.List {
			walk(e, shadow)
		}
		if t.Shadows != nil {
			walk(t.Shadows, true)
		}
	}
	for _, t := range b.merged {
		walk(t, false)
	}
}

func (e *evaluation) checkAllLayers(v cue.Value) error {
	var faults diag.List
	e.releases(v, func(name string, release cue.Value) {
		faults.Add(e.checkLayers("releases."+cue.Str(name).String(), release))
	})
	return faults.Err()
}

// pass merges the defaults of all releases in v, into which prev was filled.
func (e *evaluation) pass(v cue.Value, prev *binding) *binding {
	next := &binding{reader: e.reader(), merged: map[string]*fleet.Tree{}}
	next.unplaced = map[*fleet.Tree]cue.Value{}
	e.releases(v, func(name string, release cue.Value) {
		next.merged[name] = next.defaults(release)
		next.dropPinned(name, nil, next.merged[name], lookup(release, "values"), prev.merged[name])
	})
	return next
}

// dropPinned removes the defaults that values pins: concrete values win over
// every default. filled is what the pass before put into values; it may be
// nil.
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
			b.dropPinned(release, below(path, k), d, value, before)
		case isNull(d), isPinned(value, before), before == nil && isIncomplete(value):
			b.dropped = append(b.dropped, pinnedDefault{release, below(path, k), d, value})
			delete(t.Fields, k)
		}
	}
}

// isNull reports whether the default deletes what the chart has. A null never
// becomes part of values: there, the field is absent.
func isNull(t *fleet.Tree) bool { return !t.IsMap() && t.List == nil && t.Scalar == nil }

// isIncomplete reports whether v waits for something that it refers to.
func isIncomplete(v cue.Value) bool {
	err := v.Err()
	return err != nil && v.IncompleteKind() != cue.BottomKind
}

// isPinned reports whether one of the conjuncts of v is concrete by itself.
// The one that was filled in, if any, does not count, nor does a default that
// is CUE's own.
func isPinned(v cue.Value, filled *fleet.Tree) bool {
	if v.Err() == nil {
		// What was filled in agrees with all others.
		return filled == nil && isConcrete(v)
	}
	for _, c := range cuediag.Conjuncts(v) {
		if c.Err() != nil {
			// What c is cannot be seen by itself where its surroundings are in
			// error. What it refers to can; what it computes is concrete.
			op, _ := c.Expr()
			if slices.Contains(computing, op) {
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

// computing are the operations that give a concrete value, and no constraint.
var computing = []cue.Op{
	cue.InterpolationOp, cue.CallOp, cue.AddOp, cue.SubtractOp, cue.MultiplyOp,
	cue.FloatQuotientOp,
}

// isConcrete reports whether v needs nothing more to be exported, nor a
// default of CUE's own. A list that is open, and a struct, do.
func isConcrete(v cue.Value) bool {
	switch v.IncompleteKind() {
	case cue.StructKind:
		return false
	case cue.ListKind:
		return v.IsConcrete() && v.Len().IsConcrete() && v.Validate(cue.Concrete(true)) == nil
	}
	return v.IsConcrete()
}

// sameJSON reports whether v is the value of the tree.
func sameJSON(v cue.Value, t *fleet.Tree) bool {
	r := &reader{evaluation: &evaluation{layers: []fleet.Layer{{}}}, at: map[*fleet.Tree]token.Pos{}}
	u := r.tree(v)
	return u != nil && reflect.DeepEqual(u.Value(), t.Value())
}

// plain returns the values of the trees, to compare passes.
func plain(trees map[string]*fleet.Tree) map[string]any {
	out := map[string]any{}
	for name, t := range trees {
		if v := t.Value(); !reflect.DeepEqual(v, map[string]any{}) {
			out[name] = v
		}
	}
	return out
}

// expr returns the merged defaults as CUE: releases: <name>: values: {...}.
// Every literal has the position of the user's own.
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

// syntax returns the tree as CUE.
func (r *reader) syntax(t *fleet.Tree) ast.Expr {
	pos := r.at[t]
	switch {
	case t.IsMap():
		lit := &ast.StructLit{Lbrace: pos}
		for _, k := range t.Keys() {
			if f := t.Fields[k]; !isNull(f) {
				lit.Elts = append(lit.Elts, field(k, r.at[f], r.syntax(f)))
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
	switch s := scalar.(type) {
	case nil:
		lit := ast.NewNull()
		lit.ValuePos = pos
		return lit
	case bool:
		lit := ast.NewBool(s)
		lit.ValuePos = pos
		return lit
	case string:
		lit := ast.NewString(s)
		lit.ValuePos = pos
		return lit
	}
	text := fmt.Sprint(scalar)
	digits, negative := strings.CutPrefix(text, "-")
	lit := &ast.BasicLit{Kind: token.INT, Value: digits, ValuePos: pos}
	if strings.ContainsAny(digits, ".eE") {
		lit.Kind = token.FLOAT
	}
	if negative {
		return &ast.UnaryExpr{Op: token.SUB, OpPos: pos, X: lit}
	}
	return lit
}
