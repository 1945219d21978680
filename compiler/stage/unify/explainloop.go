package unify

import (
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// condition notes a clause of a comprehension, and what it refers to.
func (t *tracer) condition(clause ast.Clause) {
	if t.seen[clause] {
		return
	}
	t.seen[clause] = true
	switch clause := clause.(type) {
	case *ast.IfClause:
		inner := t.inner()
		if !isGuard(clause.Condition) {
			uses(clause.Condition, func(id *ast.Ident, chain []string) {
				if _, variable := id.Scope.(*ast.ForClause); !variable {
					inner.refers(id, chain)
				}
			})
		}
		c := t.fix("", clause.Condition, fleet.Condition)
		c.Expr = "if " + c.Expr
		t.Explainer.follow(c, inner.found, t.trail)
		for _, s := range inner.fixed {
			t.add(c, s)
		}
	case *ast.ForClause:
		c := t.fix("", clause.Source, fleet.Condition)
		names := clause.Value.Name
		if clause.Key != nil {
			names = clause.Key.Name + ", " + names
		}
		c.Expr = "for " + names + " in " + c.Expr
	}
}

// inner returns a tracer of the same line that has found nothing yet.
func (t *tracer) inner() *tracer {
	in := *t
	in.found, in.fixed = nil, nil
	return &in
}

// isGuard reports whether a condition only asks whether something is there.
func isGuard(x ast.Expr) bool {
	b, ok := x.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	_, bottom := b.Y.(*ast.BottomLit)
	return bottom
}

// variable notes what a variable of a comprehension stands for: the fields, or
// elements, of what it runs over that pass its conditions.
func (t *tracer) variable(clause *ast.ForClause, id *ast.Ident, chain []string) {
	isKey := clause.Key != nil && clause.Key.Name == id.Name
	if isKey {
		chain = nil
	}
	from, more := selected(clause.Source)
	if from == nil {
		uses(clause.Source, t.refers)
		return
	}
	inner := t.inner()
	inner.refers(from, more)
	t.fixed = append(t.fixed, inner.fixed...)
	for _, path := range inner.found {
		for _, key := range t.chosen(path, t.passing(clause, path), chain, isKey) {
			t.find(slices.Concat(path, []string{key}, chain))
		}
	}
}

// chosen returns those of the keys of the field at the path with which a
// variable, and what is selected from it, gives what the line is; all when that
// does not tell.
func (t *tracer) chosen(path, keys, chain []string, isKey bool) []string {
	if t.only == "" {
		return keys
	}
	var out []string
	for _, key := range keys {
		is := key
		if !isKey {
			v, _ := t.last().at(slices.Concat(path, []string{key}, chain))
			v, _ = v.Default()
			is, _ = v.String()
		}
		if is == t.only {
			out = append(out, key)
		}
	}
	if len(out) > 1 && !isKey {
		// Several are the same: the lines that made it tell which.
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

// selectedFrom returns what v is, which is a chain of names that are selected
// from a variable.
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

// linesOf returns where the parts of a value are written.
func linesOf(v cue.Value) []string {
	var out []string
	for _, c := range cuediag.Conjuncts(v) {
		out = append(out, valuePos(c).String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// passing returns the keys of the field at the path that pass all clauses of a
// comprehension.
func (t *tracer) passing(clause *ast.ForClause, path []string) []string {
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
	} else {
		keys = regularFields(v)
	}
	if comp, ok := t.above[clause].(*ast.Comprehension); ok {
		if passed := l.passed(comp, clause); passed != nil {
			keys = passed
		}
	}
	t.keys[clause] = keys
	return keys
}

// elements returns how many elements a list has.
func elements(v cue.Value) int {
	n, _ := v.Len().Int64()
	return int(n)
}

// regularFields returns the names of the fields that a struct has, those that
// are hidden too.
func regularFields(v cue.Value) []string {
	it, err := v.Fields(cue.Hidden(true))
	if err != nil {
		return nil
	}
	var names []string
	for it.Next() {
		names = append(names, it.Selector().Unquoted())
	}
	return names
}

// passed returns what the key of a for clause is in turn, when all clauses of
// the comprehension are evaluated at the top of the cluster; nil when that is
// not possible.
func (l *level) passed(comp *ast.Comprehension, of *ast.ForClause) []string {
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
	expr, err := parser.ParseExpr("", text) // without what the identifiers referred to
	if err != nil {
		return nil
	}
	var keys []string
	v := l.cctx.BuildExpr(expr, cue.Scope(l.bare), cue.InferBuiltins(true), cue.ImportPath(l.in.ID()))
	if v.Decode(&keys) != nil {
		return nil
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
