package edit

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A valueType is the type of a value in a CUE file. The schema says nothing about the fields
// of a known value without a schema, such as an object of Kubernetes.
type valueType struct {
	schema diag.SchemaType
	known  bool
}

// and returns the type of a value that also has another type of the schema.
func (t valueType) and(of diag.SchemaType) valueType {
	if len(of) == 0 {
		return t
	}
	return valueType{slices.Concat(t.schema, of), true}
}

// context returns the type of structs from which an expression of the type is computed.
func (t valueType) context() valueType {
	return valueType{known: t.known && t.schema == nil}
}

// field returns the type of a field or element. The type of a hidden field or definition is
// not known.
func (t valueType) field(name string) valueType {
	if !t.known && name == "releases" { // of a stack, in another package than the layers
		return valueType{diag.SchemaTypeOf("#Releases"), true}
	}
	field := t.schema.Field(name)
	if field == nil && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#")) {
		return valueType{}
	}
	if !field.HasFields() {
		return valueType{known: t.known}
	}
	return valueType{field, true}
}

// importsOf returns the paths of imported packages by their names in the file.
func importsOf(file *ast.File) map[string]string {
	out := map[string]string{}
	for spec := range file.ImportSpecs() {
		at := ast.ParseImportPath(stringOf(spec.Path))
		name := at.Qualifier
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out[name] = at.Path
	}
	return out
}

// bareLabel returns the name or string of a label without alias and parentheses.
func bareLabel(label ast.Node) ast.Node {
	if alias, ok := label.(*ast.Alias); ok {
		label = alias.Expr
	}
	for at := label; ; {
		switch x := at.(type) {
		case *ast.ParenExpr:
			at = x.X
			continue
		case *ast.BasicLit:
			return x
		}
		return label
	}
}

// labelName returns the name of a field, and AnyName for a pattern or an expression.
func labelName(label ast.Label) string {
	switch label := bareLabel(label).(type) {
	case *ast.BasicLit:
		if label.Kind == token.STRING {
			return stringOf(label)
		}
		return label.Value
	case *ast.Ident:
		return label.Name
	}
	return diag.AnyName
}

// typeOfOperand returns the type of a reference to a definition of the schema, such as
// schema.#Release, or to the #Release of a pinned chart.
func (r *renamer) typeOfOperand(e ast.Expr) diag.SchemaType {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return slices.Concat(r.typeOfOperand(e.X), r.typeOfOperand(e.Y))
	case *ast.UnaryExpr:
		return r.typeOfOperand(e.X)
	case *ast.ParenExpr:
		return r.typeOfOperand(e.X)
	case *ast.StructLit:
		var out diag.SchemaType
		for _, d := range e.Elts {
			if embed, ok := d.(*ast.EmbedDecl); ok {
				out = slices.Concat(out, r.typeOfOperand(embed.Expr))
			}
		}
		return out
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		if !ok {
			return nil
		}
		if at := r.imports[of.Name]; at == fleetc.SchemaPath || strings.Contains(at, "/environments/charts/") {
			return diag.SchemaTypeOf(labelName(e.Sel))
		}
	}
	return nil
}

// typeOfReference returns the type of an expression that begins with a field, a let or a
// variable of a comprehension.
func (r *renamer) typeOfReference(e ast.Expr) valueType {
	if t := r.typeOfOperand(e); t != nil {
		return valueType{t, true}
	}
	switch e := e.(type) {
	case *ast.Ident:
		return r.typeOfName(e)
	case *ast.SelectorExpr:
		return r.typeOfReference(e.X).field(labelName(e.Sel))
	case *ast.IndexExpr:
		key := stringOf(e.Index)
		if key != "" {
			return r.typeOfReference(e.X).field(key)
		}
		return r.typeOfReference(e.X).element()
	case *ast.ParenExpr:
		return r.typeOfReference(e.X)
	}
	return valueType{}
}

// element returns the type of the elements of a list or the values of a map.
func (t valueType) element() valueType {
	if field := t.field(diag.AnyName); field.schema != nil {
		return field
	}
	return t.field(diag.AnyElement)
}

func (r *renamer) typeOfName(e *ast.Ident) valueType {
	switch scope := e.Scope.(type) {
	case *ast.ForClause:
		if e.Node == scope.Value {
			return r.typeOfReference(scope.Source).element()
		}
		return valueType{known: true} // a key
	case *ast.LetClause:
		return r.typeOfLet(scope, scope.Expr)
	}
	switch node := e.Node.(type) {
	case nil:
		return r.config.field(e.Name)
	case *ast.ImportSpec:
		return valueType{}
	case *ast.LetClause:
		return r.typeOfLet(node, node.Expr)
	case *ast.Alias:
		return r.typeOfLet(node, node.Expr)
	}
	return r.types[e.Node]
}

// typeOfLet returns the type of a let or alias. It is not known if they refer to each other.
func (r *renamer) typeOfLet(n ast.Node, e ast.Expr) valueType {
	if t, ok := r.types[n]; ok {
		return t
	}
	r.types[n] = valueType{}
	r.types[n] = r.typeOfReference(e)
	return r.types[n]
}

// stringOf returns the value of a string literal, else "".
func stringOf(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, err := literal.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}
