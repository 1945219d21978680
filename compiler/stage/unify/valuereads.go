package unify

import (
	"maps"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// valueReads are the names with which the files of a cluster refer to fields. They are more
// than the values that are read: a name counts for all releases.
type valueReads struct {
	names  map[string]bool // all names in references
	whole  map[string]bool // the last names of references, whose fields are read, too
	values map[string]bool // names behind values
	loops  map[string]bool // variables of loops over releases
}

// readsOf returns the names in references of the files of a cluster and its imports.
func readsOf(in *build.Instance) *valueReads {
	r := &valueReads{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, of := range append(in.Dependencies(), in) {
		for _, f := range of.Files {
			r.visit(f)
		}
	}
	return r
}

// visit adds the references in a node.
func (r *valueReads) visit(n ast.Node) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			if _, plain := labelName(x); !plain {
				r.visit(x.Label)
			}
			r.visit(x.Value)
			return false
		case *ast.ForClause:
			if _, chain := selectorChain(x.Source); x.Value != nil && lastName(x.Source, chain) == "releases" {
				r.loops[x.Value.Name] = true
				return false
			}
			r.visit(x.Source)
			return false
		case *ast.LetClause:
			r.visit(x.Expr)
			return false
		case *ast.SelectorExpr, *ast.IndexExpr, *ast.Ident:
			if name := r.reference(x.(ast.Expr)); name != "" {
				r.whole[name] = true
			}
			return false
		}
		return true
	}, nil)
}

// reference adds the names of a reference and returns its last name; none if it ends with a
// computed index.
func (r *valueReads) reference(x ast.Expr) string {
	var name string
	var from ast.Expr
	switch x := x.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name, _, _ = ast.LabelName(x.Sel)
		from = x.X
	case *ast.IndexExpr:
		if lit, ok := x.Index.(*ast.BasicLit); ok {
			name, _, _ = ast.LabelName(lit)
		} else {
			r.visit(x.Index)
		}
		from = x.X
	default:
		r.visit(x)
		return ""
	}
	r.names[name] = true
	if from == nil {
		return name
	}
	before := r.reference(from)
	switch {
	case name == "":
		r.whole[before] = true
	case before == "values" || r.values[before]:
		r.values[name] = true
	}
	return name
}

// lastName returns the last name of a reference with its chain of selectors.
func lastName(x ast.Expr, chain []string) string {
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	if len(chain) == 0 {
		return ""
	}
	return chain[len(chain)-1]
}

// reads reports whether a file may read the value of a release at a path.
func (r *valueReads) reads(release string, path []string) bool {
	if r.whole["values"] || r.whole[release] || r.names[path[len(path)-1]] {
		return true
	}
	isWhole := func(name string) bool { return r.whole[name] }
	return slices.ContainsFunc(path, isWhole) || slices.ContainsFunc(slices.Collect(maps.Keys(r.loops)), isWhole)
}

// near returns the name behind values that is nearest to that of a value.
func (r *valueReads) near(path []string) string {
	return diag.Nearest(path[len(path)-1], slices.Collect(maps.Keys(r.values)))
}
