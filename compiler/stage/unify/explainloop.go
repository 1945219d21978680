package unify

import (
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// condition adds a clause of a comprehension and its sources.
func (t *tracer) condition(clause ast.Clause) {
	if t.seen[clause] {
		return
	}
	t.seen[clause] = true
	switch clause := clause.(type) {
	case *ast.IfClause:
		inner := t.child()
		if !isGuard(clause.Condition) {
			walkReferences(clause.Condition, func(id *ast.Ident, chain []string) {
				if _, variable := id.Scope.(*ast.ForClause); !variable {
					inner.reference(id, chain)
				}
			})
		}
		c := t.addFixed("", clause.Condition, fleet.Condition)
		c.Expr = "if " + c.Expr
		t.Explainer.follow(c, inner.paths, t.trail)
		for _, s := range inner.sources {
			t.add(c, s)
		}
	case *ast.ForClause:
		c := t.addFixed("", clause.Source, fleet.Condition)
		names := clause.Value.Name
		if clause.Key != nil {
			names = clause.Key.Name + ", " + names
		}
		c.Expr = "for " + names + " in " + c.Expr
	}
}

// child returns a tracer of the same line without results.
func (t *tracer) child() *tracer {
	in := *t
	in.paths, in.sources = nil, nil
	return &in
}

// isGuard reports whether a condition only tests whether a field exists.
func isGuard(x ast.Expr) bool {
	b, ok := x.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	_, bottom := b.Y.(*ast.BottomLit)
	return bottom
}

// variable adds the sources of a comprehension variable: the fields or
// elements of its range that pass the conditions.
func (t *tracer) variable(clause *ast.ForClause, id *ast.Ident, chain []string) {
	isKey := clause.Key != nil && clause.Key.Name == id.Name
	if isKey {
		chain = nil
	}
	from, more := selectorChain(clause.Source)
	if from == nil {
		walkReferences(clause.Source, t.reference)
		return
	}
	inner := t.child()
	inner.reference(from, more)
	t.sources = append(t.sources, inner.sources...)
	for _, path := range inner.paths {
		for _, key := range t.matchingKeys(path, t.iteratedKeys(clause, path), chain, isKey) {
			t.addPath(slices.Concat(path, []string{key}, chain))
		}
	}
}

// matchingKeys returns the keys of the range at the path for which the
// variable, with the selectors chain, has the value of the line. It returns
// all keys when the value does not decide.
func (t *tracer) matchingKeys(path, keys, chain []string, isKey bool) []string {
	if t.onlyValue == "" {
		return keys
	}
	var out []string
	for _, key := range keys {
		text := key
		if !isKey {
			v, _ := t.last().at(slices.Concat(path, []string{key}, chain))
			v, _ = v.Default()
			text, _ = v.String()
		}
		if text == t.onlyValue {
			out = append(out, key)
		}
	}
	if len(out) > 1 && !isKey {
		// Several keys have the value: compare the source lines.
		made := linesOf(selectedFrom(t.v, chain))
		var same []string
		for _, key := range out {
			if v, _ := t.last().at(slices.Concat(path, []string{key}, chain)); slices.Equal(linesOf(v), made) {
				same = append(same, key)
			}
		}
		if len(same) > 0 {
			return same
		}
	}
	if len(out) == 0 {
		return keys
	}
	return out
}

// selectedFrom returns the value of v, which is a chain of selectors on a
// variable.
func selectedFrom(v cue.Value, chain []string) cue.Value {
	for range chain {
		op, args := v.Expr()
		if op != cue.SelectorOp {
			return cue.Value{}
		}
		v = args[0]
	}
	for _, key := range chain {
		v = v.LookupPath(cue.MakePath(cue.Str(key)))
	}
	return v
}

// linesOf returns the source positions of a value's conjuncts.
func linesOf(v cue.Value) []string {
	return diag.Distinct(diag.Each(diag.Conjuncts(v), func(c cue.Value) string { return valuePos(c).String() }))
}

// iteratedKeys returns the keys of the field at the path that pass all clauses
// of a comprehension.
func (t *tracer) iteratedKeys(clause *ast.ForClause, path []string) []string {
	if keys, ok := t.keys[clause]; ok {
		return keys
	}
	l := t.last()
	v, _ := l.at(path)
	var keys []string
	if v.IncompleteKind() == cue.ListKind {
		for i := range min(maxSources, elements(v)) {
			keys = append(keys, strconv.Itoa(i))
		}
	} else if it, err := v.Fields(cue.Hidden(true)); err == nil {
		for it.Next() {
			keys = append(keys, it.Selector().Unquoted())
		}
	}
	if comp, ok := t.parents[clause].(*ast.Comprehension); ok {
		if passed := l.evaluateKeys(comp, clause); passed != nil {
			keys = passed
		}
	}
	t.keys[clause] = keys
	return keys
}

// elements returns the length of a list.
func elements(v cue.Value) int {
	n, _ := v.Len().Int64()
	return int(n)
}

// evaluateKeys evaluates the clauses of a comprehension at the top level of
// the cluster, and returns the keys of a for clause. It returns nil when that
// is not possible.
func (l *level) evaluateKeys(comp *ast.Comprehension, of *ast.ForClause) []string {
	const unnamed = "key_"
	key := unnamed
	some := &ast.Comprehension{}
	for _, clause := range comp.Clauses {
		if clause == ast.Clause(of) {
			named := *of
			if named.Key == nil || named.Key.Name == "_" {
				named.Key = ast.NewIdent(unnamed)
			}
			key = named.Key.Name
			clause = &named
		}
		some.Clauses = append(some.Clauses, clause)
	}
	some.Value = &ast.StructLit{Elts: []ast.Decl{&ast.EmbedDecl{Expr: ast.NewIdent(key)}}}
	text, err := format.Node(&ast.ListLit{Elts: []ast.Expr{some}})
	if err != nil {
		return nil
	}
	expr, err := parser.ParseExpr("", text) // the identifiers are resolved again
	if err != nil {
		return nil
	}
	var keys []string
	v := l.cctx.BuildExpr(expr, cue.Scope(l.bare), cue.InferBuiltins(true), cue.ImportPath(l.in.ID()))
	if v.Decode(&keys) != nil {
		return nil
	}
	return diag.Distinct(keys)
}
