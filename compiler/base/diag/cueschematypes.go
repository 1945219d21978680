package diag

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"github.com/fleetc/fleetc"
)

// AnyName is a name for [SchemaType.Field] that selects the fields of any name, and
// AnyElement the elements of a list.
const (
	AnyName    = "\x00name"
	AnyElement = "\x00element"
)

// A SchemaType describes a value in the schema: expressions that are unified, or of which
// one applies. The zero value says nothing.
type SchemaType []ast.Expr

// definitions returns the definitions of the schema by name.
var definitions = sync.OnceValue(func() map[string][]ast.Expr {
	out := map[string][]ast.Expr{}
	names, err := fs.Glob(fleetc.Schema, "*.cue")
	if err != nil {
		return out
	}
	for _, name := range names {
		text, err := fs.ReadFile(fleetc.Schema, name)
		if err != nil {
			continue
		}
		file, err := parser.ParseFile(name, text)
		if err != nil {
			continue
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.Field); ok {
				if label, ok := f.Label.(*ast.Ident); ok && strings.HasPrefix(label.Name, "#") {
					out[label.Name] = append(out[label.Name], f.Value)
				}
			}
		}
	}
	return out
})

// SchemaTypeOf returns the type of values of a definition, such as "#Config". It is the zero
// value if the schema does not have the definition.
func SchemaTypeOf(definition string) SchemaType {
	if definitions()[definition] == nil {
		return nil
	}
	return SchemaType{&ast.Ident{Name: definition}}
}

// SchemaDefinition returns the name of the definition in the imported schema that an expression
// of a loaded file is, such as #Releases for schema.#Releases, or "".
func SchemaDefinition(x ast.Expr) string {
	selector, ok := x.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	from, _ := selector.X.(*ast.Ident)
	name, _ := selector.Sel.(*ast.Ident)
	if from == nil || name == nil {
		return ""
	}
	if spec, ok := from.Node.(*ast.ImportSpec); ok && spec.Path.Value == strconv.Quote(fleetc.SchemaPath) {
		return name.Name
	}
	return ""
}

// expand returns the expressions of a type without references and operators, and the names
// of its definitions.
func (t SchemaType) expand() (exprs []ast.Expr, names []string) {
	todo := slices.Clone(t)
	for len(todo) > 0 {
		e := todo[0]
		todo = todo[1:]
		switch e := e.(type) {
		case *ast.Ident:
			if values := definitions()[e.Name]; values != nil && !slices.Contains(names, e.Name) {
				names = append(names, e.Name)
				todo = append(todo, values...)
			}
		case *ast.BinaryExpr:
			todo = append(todo, e.X, e.Y)
		case *ast.UnaryExpr:
			todo = append(todo, e.X)
		case *ast.ParenExpr:
			todo = append(todo, e.X)
		case *ast.StructLit:
			exprs = append(exprs, e)
			for _, d := range e.Elts {
				if embed, ok := d.(*ast.EmbedDecl); ok {
					todo = append(todo, embed.Expr)
				}
			}
		case *ast.ListLit:
			exprs = append(exprs, e)
		}
	}
	return exprs, names
}

// Field returns the type of a field or element.
func (t SchemaType) Field(name string) SchemaType {
	if r, ok := t.Renamed(name); ok {
		name = r.New
	}
	var exact, pattern SchemaType
	exprs, _ := t.expand()
	for _, e := range exprs {
		switch e := e.(type) {
		case *ast.StructLit:
			for _, d := range e.Elts {
				f, ok := d.(*ast.Field)
				if !ok {
					continue
				}
				switch label, _, err := ast.LabelName(f.Label); {
				case err == nil && label == name:
					exact = append(exact, f.Value)
				case err != nil:
					pattern = append(pattern, f.Value)
				}
			}
		case *ast.ListLit:
			for _, element := range e.Elts {
				if rest, ok := element.(*ast.Ellipsis); ok {
					element = rest.Type
				}
				if element != nil && isElement(name) {
					exact = append(exact, element)
				}
			}
		}
	}
	if exact != nil {
		return exact
	}
	return pattern
}

// HasFields reports whether the type describes fields or elements. It is false for a value
// that the schema leaves to the user.
func (t SchemaType) HasFields() bool {
	exprs, _ := t.expand()
	return slices.ContainsFunc(exprs, func(e ast.Expr) bool {
		lit, isStruct := e.(*ast.StructLit)
		return !isStruct || slices.ContainsFunc(lit.Elts, func(d ast.Decl) bool {
			_, isField := d.(*ast.Field)
			return isField
		})
	})
}

// isElement reports whether a name is the index of an element.
func isElement(name string) bool {
	return name == AnyElement || name != "" && strings.Trim(name, "0123456789") == ""
}

// Renamed returns the rename of a field of the type by its old name.
func (t SchemaType) Renamed(name string) (Rename, bool) {
	_, names := t.expand()
	for _, r := range slices.Backward(Renames) {
		if r.Old == name && slices.Contains(names, r.Definition) {
			return r, true
		}
	}
	return Rename{}, false
}

// renamed returns the rename of the field at a path of the fleet.
func renamed(at string) (Rename, bool) {
	p := cue.ParsePath(at)
	if p.Err() != nil || len(Renames) == 0 {
		return Rename{}, false
	}
	t, last := SchemaTypeOf("#Config"), ""
	for i, sel := range p.Selectors() {
		if i > 0 {
			t = t.Field(last)
		}
		last = sel.String()
		if sel.IsString() {
			last = sel.Unquoted()
		}
	}
	return t.Renamed(last)
}

// wrongTypeHint returns the hint if a layer declares a top-level field with the type of another
// field, and "" otherwise.
func wrongTypeHint(v cue.Value, name string) string {
	_, names := SchemaTypeOf("#Config").Field(name).expand()
	for _, c := range Conjuncts(v.LookupPath(cue.ParsePath(name))) {
		f, _ := c.Source().(*ast.Field)
		if f == nil {
			continue
		}
		if def := SchemaDefinition(f.Value); len(names) > 0 && SchemaTypeOf(def) != nil && !slices.Contains(names, def) {
			return "declare " + name + " as schema." + names[0] + ", not as schema." + def
		}
	}
	return ""
}

// siblings returns the names of the fields that parent may have, except but: fields
// of its types and optional fields, because other fields of an erroneous struct may
// be misspelt too. With all, it returns every field.
func siblings(root string, parent cue.Value, but cue.Selector, all bool) []string {
	var names []string
	for _, c := range Conjuncts(parent) {
		it, err := c.Fields(cue.Optional(true))
		if err != nil {
			continue
		}
		for it.Next() {
			sel := it.Selector()
			if sel.LabelType() == cue.StringLabel && sel != but && (all || sel.ConstraintType() != 0 || isTyped(root, it.Value())) {
				names = append(names, sel.Unquoted())
			}
		}
	}
	return Distinct(names)
}

// isTyped reports whether a type constrains v.
func isTyped(root string, v cue.Value) bool {
	return slices.ContainsFunc(Conjuncts(v), func(c cue.Value) bool {
		s := c.Source()
		return s != nil && IsTypeFile(CUEPos(root, s.Pos()).File)
	})
}

// kindName returns the name of a CUE type with its article.
func kindName(kind string) string {
	if strings.Contains(kind, "|") {
		var names []string
		for k := range strings.SplitSeq(strings.Trim(kind, "()"), "|") {
			names = append(names, kindName(strings.TrimSpace(k)))
		}
		return strings.Join(Distinct(names), " or ")
	}
	names := map[string]string{"struct": "a map", "_|_": "a map", "bytes": "bytes", "null": "null", "int": "an integer", "float": "a number"}
	return cmp.Or(names[kind], "a "+kind)
}
