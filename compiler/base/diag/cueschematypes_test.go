package diag

import (
	"testing"

	"cuelang.org/go/cue/ast"
)

// Each rename leads from a name that the definition does not have to one that it has.
func TestRenames(t *testing.T) {
	check := func(r Rename) string {
		of := SchemaTypeOf(r.Definition)
		switch {
		case of == nil:
			return "the schema has no " + r.Definition
		case r.Since == "":
			return "it has no version"
		case !of.has(r.New):
			return r.Definition + " has no field " + r.New
		case of.has(r.Old):
			return r.Definition + " still has the field " + r.Old
		}
		return ""
	}
	for _, r := range Renames {
		if why := check(r); why != "" {
			t.Errorf("%+v: %s", r, why)
		}
	}
	for want, r := range map[string]Rename{
		"":                                   {Since: "v1", Definition: "#Release", Old: "recreate", New: "replace"},
		"the schema has no #Nothing":         {Since: "v1", Definition: "#Nothing", Old: "a", New: "b"},
		"it has no version":                  {Definition: "#Release", Old: "recreate", New: "replace"},
		"#Release has no field recreate":     {Since: "v1", Definition: "#Release", Old: "redo", New: "recreate"},
		"#Release still has the field stage": {Since: "v1", Definition: "#Release", Old: "stage", New: "replace"},
	} {
		if got := check(r); got != want {
			t.Errorf("%+v: got %q, want %q", r, got, want)
		}
	}
}

// has reports whether the type has a field of this very name.
func (t SchemaType) has(name string) bool {
	exprs, _ := t.expand()
	for _, e := range exprs {
		lit, _ := e.(*ast.StructLit)
		if lit == nil {
			continue
		}
		for _, d := range lit.Elts {
			if f, ok := d.(*ast.Field); ok {
				if label, _, err := ast.LabelName(f.Label); err == nil && label == name {
					return true
				}
			}
		}
	}
	return false
}
