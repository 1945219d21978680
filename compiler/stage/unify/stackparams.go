package unify

import (
	"maps"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// misspeltParameters reports parameters that a layer sets and the stack does not declare.
// CUE accepts them, because the layer embeds the stack: this opens the definitions of the
// stack. It leaves out the parameters of known faults.
func (e *evaluation) misspeltParameters(in *build.Instance, final cue.Value, known diag.List) diag.List {
	var faults diag.List
	stacks, own := map[string][]cue.Value{}, map[string]cue.Value{}
	it, err := final.Fields(cue.Definitions(true))
	for err == nil && it.Next() {
		if !it.Selector().IsDefinition() {
			continue
		}
		name, declared := it.Selector().String(), e.declarations(it.Value())
		if slices.ContainsFunc(declared, namesType) {
			stacks[name] = declared
			faults = append(faults, e.undeclared(name, it.Value(), declared)...)
		} else if len(declared) == 0 {
			own[name] = it.Value()
		}
	}
	for name, v := range own {
		near := diag.Respell(name, slices.Collect(maps.Keys(stacks)))
		if near != nil && isLike(v, stacks[near[0].New]) && !isUsed(in, name) {
			faults.Add(&diag.Diag{
				Code: diag.CodeUnknownField, At: []diag.Pos{e.firstPos(v, []cue.Value{v})}, Path: name,
				Msg: "nothing uses this definition", Hint: "did you mean " + near[0].New + "?", Fixes: near,
			})
		}
	}
	return slices.DeleteFunc(faults, func(d *diag.Diag) bool {
		return slices.ContainsFunc(known, func(k *diag.Diag) bool { return k.Path == d.Path && k.Code == d.Code })
	})
}

// declarations returns the conjuncts of v that a stack writes.
func (e *evaluation) declarations(v cue.Value) []cue.Value {
	return slices.DeleteFunc(diag.Conjuncts(v), func(c cue.Value) bool {
		p := labelPos(c)
		return !p.IsValid() || e.layerOf(p) != ""
	})
}

// namesType reports whether a stack writes v as the name of a type, which has all
// parameters, and not as a struct, to which layers may add fields.
func namesType(v cue.Value) bool {
	switch expression(v).(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return v.IsClosed()
	}
	return false
}

// undeclared reports the fields of v, at any depth, that no declaration allows.
func (e *evaluation) undeclared(path string, v cue.Value, declared []cue.Value) diag.List {
	var faults diag.List
	for _, f := range fieldsIn(v) {
		sel := cue.Str(f.name)
		var inner []cue.Value
		var names []string
		allowed := false
		for _, d := range declared {
			allowed = allowed || d.Allows(sel)
			if part := d.LookupPath(cue.MakePath(sel)); part.Exists() {
				inner = append(inner, part)
			}
			for it, _ := d.Fields(cue.Optional(true)); it != nil && it.Next(); {
				names = append(names, it.Selector().Unquoted())
			}
		}
		at := path + "." + sel.String()
		switch {
		case !allowed && len(e.declarations(f.v)) == 0:
			faults.Add(&diag.Diag{
				Code: diag.CodeUnknownField, At: []diag.Pos{e.fieldPos(f.v)}, Path: at,
				Msg: "field not allowed", Hint: diag.OneOf(f.name, names), Fixes: diag.Respell(f.name, names),
			})
		case len(inner) > 0:
			faults = append(faults, e.undeclared(at, f.v, inner)...)
		}
	}
	return faults
}

// isLike reports whether declarations allow all fields of v.
func isLike(v cue.Value, declared []cue.Value) bool {
	fields := fieldsIn(v)
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(f namedValue) bool {
		return !slices.ContainsFunc(declared, func(d cue.Value) bool { return d.Allows(cue.Str(f.name)) })
	})
}

// isUsed reports whether a file of the layers uses a definition, and does not only set it.
func isUsed(in *build.Instance, name string) bool {
	uses := 0
	for _, f := range in.Files {
		ast.Walk(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if label, _, err := ast.LabelName(n.Label); err == nil && label == name {
					uses--
				}
			case *ast.Ident:
				if n.Name == name {
					uses++
				}
			}
			return true
		}, nil)
	}
	return uses > 0
}
