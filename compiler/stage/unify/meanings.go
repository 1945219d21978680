package unify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A meaningCheck finds text in layers that CUE accepts, and that has another meaning than in
// the languages that users come from.
type meaningCheck struct {
	root     string
	faults   diag.List
	compared []comparison
}

// checkMeanings returns the faults of the files of a cluster, except those at the positions of
// known faults. It notes the comparisons in conditions.
func (e *evaluation) checkMeanings(in *build.Instance, known diag.List) diag.List {
	m := &meaningCheck{root: e.root}
	for _, f := range in.Files {
		ast.Walk(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				m.interpolation(n)
			case *ast.IfClause:
				m.condition(n.Condition)
			}
			return true
		}, nil)
		for _, releases := range fieldsNamed(f.Decls, "releases") {
			for _, release := range fieldsNamed(declsIn(releases.Value), "") {
				name, _, _ := ast.LabelName(release.Label)
				for _, values := range fieldsNamed(declsIn(release.Value), "values", "defaults") {
					m.bytes((&fleet.Release{Name: name}).Path(), values)
				}
			}
		}
	}
	e.compared = m.compared
	return slices.DeleteFunc(m.faults, func(d *diag.Diag) bool {
		return slices.ContainsFunc(known, func(k *diag.Diag) bool { return k.Code == d.Code && slices.Contains(k.At, d.At[0]) })
	})
}

// fleetText matches a field of the fleet in the interpolation of a shell.
var fleetText = regexp.MustCompile(`\$\{(cluster\.(?:name|kubernetes|context|(?:labels|facts)\.\w+)|releases\.[\w."-]+)\}`)

// interpolation reports a field of the fleet that a string names as a shell does. Text
// between #" and "# stays as it is.
func (m *meaningCheck) interpolation(lit *ast.BasicLit) {
	found := fleetText.FindStringSubmatch(lit.Value)
	if found == nil || strings.HasPrefix(lit.Value, "#") {
		return
	}
	m.faults.Add(&diag.Diag{
		Code: diag.CodeUnknownName, At: []diag.Pos{diag.CUEPos(m.root, lit.Pos())},
		Msg:  "the string has the text " + found[0] + ", and not the value of " + found[1],
		Hint: `write \(` + found[1] + `), or put the string between #" and "# if it must have this text`,
	})
}

// condition reports a test whether a field of the fleet exists, such as cluster.facts.region
// != _|_, where a nearer field has the name of the fleet's field and no fields below it.
func (m *meaningCheck) condition(e ast.Expr) {
	ast.Walk(e, func(n ast.Node) bool {
		test, ok := n.(*ast.BinaryExpr)
		if !ok || test.Op != token.NEQ && test.Op != token.EQL {
			return true
		}
		m.compare(test.X, test.Y)
		_, isTest := test.Y.(*ast.BottomLit)
		id, field := firstSelector(test.X)
		if !isTest || id == nil || !slices.Contains([]string{"cluster", "releases"}, id.Name) {
			return true
		}
		_, atTop := id.Scope.(*ast.File)
		value, isField := id.Node.(ast.Expr)
		if id.Scope == nil || atTop || !isField || len(fieldsNamed(declsIn(value), field)) > 0 {
			return true
		}
		line := value.Pos().Line()
		m.faults.Add(&diag.Diag{
			Code: diag.CodeUnknownField, At: []diag.Pos{diag.CUEPos(m.root, id.Pos())},
			Msg:  fmt.Sprintf("%s refers to the field in line %d, and not to the top-level field %s", id.Name, line, id.Name),
			Hint: fmt.Sprintf("write the name of the field in line %d in quotes: %q: ...", line, id.Name),
		})
		return true
	}, nil)
}

// firstSelector returns the first identifier of a chain of selectors and the name of the
// field that it selects; nil for other expressions.
func firstSelector(e ast.Expr) (*ast.Ident, string) {
	for {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return nil, ""
		}
		if id, ok := s.X.(*ast.Ident); ok {
			name, _, _ := ast.LabelName(s.Sel)
			return id, name
		}
		e = s.X
	}
}

// bytes reports values in single quotes below a path. Arguments of functions may be bytes.
func (m *meaningCheck) bytes(path string, f *ast.Field) {
	if name, _, err := ast.LabelName(f.Label); err == nil {
		path += "." + cue.Str(name).String()
	}
	ast.Walk(f.Value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr, *ast.IfClause:
			return false
		case *ast.Field:
			m.bytes(path, n)
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.HasPrefix(n.Value, "'") {
				d := &diag.Diag{Code: diag.CodeWrongType, At: []diag.Pos{diag.CUEPos(m.root, n.Pos())}, Path: path}
				diag.ExplainBytes(d, n.Value)
				m.faults.Add(d)
			}
		}
		return true
	}, nil)
}

// declsIn returns the declarations of the structs that are unified in an expression.
func declsIn(e ast.Expr) []ast.Decl {
	switch e := e.(type) {
	case *ast.StructLit:
		return e.Elts
	case *ast.ParenExpr:
		return declsIn(e.X)
	case *ast.BinaryExpr:
		return append(slices.Clone(declsIn(e.X)), declsIn(e.Y)...)
	}
	return nil
}

// fieldsNamed returns the fields with one of the names, or all fields for the name "".
func fieldsNamed(decls []ast.Decl, names ...string) []*ast.Field {
	var out []*ast.Field
	for _, d := range decls {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, _, _ := ast.LabelName(f.Label)
		if names[0] == "" || slices.Contains(names, name) {
			out = append(out, f)
		}
	}
	return out
}
