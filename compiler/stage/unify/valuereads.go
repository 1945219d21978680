package unify

import (
	"maps"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// valueReads are the names with which the files of a cluster refer to fields. They are more
// than the values that are read: a name counts for all releases.
type valueReads struct {
	names  map[string]bool // all names in references
	whole  map[string]bool // the last names of references, whose fields are read, too
	values map[string]bool // names behind values
	loops  map[string]bool // variables of loops over releases

	// defaults are references to defaults: the release, or the path of the secret, "" if it is not
	// known, the layer and the path; the last ones may be missing.
	defaults [][]string
	fields   map[token.Pos]bool  // the values of fields to which names refer
	lines    map[int][]token.Pos // fields by line; nil before the first use
}

// readsOf returns the names in references of the files of a cluster and its imports.
func readsOf(in *build.Instance) *valueReads {
	r := &valueReads{
		names: map[string]bool{}, whole: map[string]bool{}, values: map[string]bool{}, loops: map[string]bool{},
		fields: map[token.Pos]bool{},
	}
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
			r.addDefaults(x.(ast.Expr))
			return false
		}
		return true
	}, nil)
}

// selected returns the last name of a reference and the expression before it; no name for a
// computed index. ok is false for other expressions.
func selected(x ast.Expr) (name string, from ast.Expr, ok bool) {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name, nil, true
	case *ast.SelectorExpr:
		name, _, _ = ast.LabelName(x.Sel)
		return name, x.X, true
	case *ast.IndexExpr:
		if lit, ok := x.Index.(*ast.BasicLit); ok {
			name, _, _ = ast.LabelName(lit)
		}
		return name, x.X, true
	}
	return "", nil, false
}

// reference adds the names of a reference and returns its last name; none if it ends with a
// computed index.
func (r *valueReads) reference(x ast.Expr) string {
	name, from, ok := selected(x)
	if !ok {
		r.visit(x)
		return ""
	}
	switch x := x.(type) {
	case *ast.IndexExpr:
		r.visit(x.Index)
	case *ast.Ident:
		if x.Node != nil {
			r.fields[x.Node.Pos()] = true
		}
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

// addDefaults adds a reference to a default, or to a map of them. It ends at a computed index.
func (r *valueReads) addDefaults(x ast.Expr) {
	var path []string
	for x != nil {
		name, from, _ := selected(x)
		switch {
		case name == "":
			path = nil
		case name == "defaults":
			of := ""
			if id, chain := selectorChain(from); id != nil && len(chain) == 1 {
				switch id.Name {
				case "releases":
					of = chain[0]
				case "secrets":
					of = secretPath(chain[0])
				}
			}
			r.defaults = append(r.defaults, append([]string{of}, path...))
			return
		default:
			path = slices.Insert(path, 0, name)
		}
		x = from
	}
}

// readsDefault reports whether a file may refer to a default, or to a map that has it.
func (r *valueReads) readsDefault(root string, d *fleet.OverriddenDefault) bool {
	if r.lines == nil {
		r.lines = map[int][]token.Pos{}
		for pos := range r.fields {
			r.lines[pos.Line()] = append(r.lines[pos.Line()], pos)
		}
	}
	if slices.ContainsFunc(r.lines[d.Pos.Line], func(pos token.Pos) bool { return diag.CUEPos(root, pos) == d.Pos }) {
		return true
	}
	path := slices.Concat([]string{d.Release, d.Layer}, d.Path)
	return slices.ContainsFunc(r.defaults, func(read []string) bool {
		n := min(len(read), len(path))
		return (read[0] == "" || read[0] == d.Release) && slices.Equal(read[1:n], path[1:n])
	})
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
