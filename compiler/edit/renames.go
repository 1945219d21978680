package edit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/schema"
)

// A RenamedField is an old name of a field that a fix replaces.
type RenamedField struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Old    string `json:"old"`
	New    string `json:"new"`
	Since  string `json:"since"` // first version with the new name

	offset, length int
	text           string // in CUE syntax
}

// renameFields returns the text of a CUE file with the new names of fields of the schema.
// It changes nothing but the names of fields and references to them.
func renameFields(name string, text []byte) ([]byte, []RenamedField, error) {
	file, err := parser.ParseFile(name, text, parser.ParseComments)
	if err != nil {
		return nil, nil, err
	}
	r := &renamer{name: name, imports: importsOf(file), values: map[ast.Node]schema.Rename{}}
	if file.PackageName() == "fleet" {
		r.config = cuediag.TypeOf("#Config")
	}
	r.decls(file.Decls, r.config)
	r.references(file)
	slices.SortFunc(r.out, func(a, b RenamedField) int { return cmp.Compare(a.offset, b.offset) })
	r.out = slices.CompactFunc(r.out, func(a, b RenamedField) bool { return a.offset == b.offset })
	var edited []byte
	end := 0
	for _, f := range r.out {
		edited = append(append(edited, text[end:f.offset]...), f.text...)
		end = f.offset + f.length
	}
	return append(edited, text[end:]...), r.out, nil
}

// A renamer collects the old names in a file.
type renamer struct {
	name    string
	imports map[string]string          // paths of imported packages by their names in the file
	config  cuediag.SchemaType         // type of the fields at the top of the file
	values  map[ast.Node]schema.Rename // by the value of the renamed field, to which references refer
	out     []RenamedField
}

// add records an old name: an identifier or a string.
func (r *renamer) add(label ast.Node, rename schema.Rename) {
	f := RenamedField{
		File: r.name, Line: label.Pos().Line(), Column: label.Pos().Column(),
		Old: rename.Old, New: rename.New, Since: rename.Since, offset: label.Pos().Offset(), text: rename.New,
	}
	switch label := label.(type) {
	case *ast.Ident:
		f.length = len(label.Name)
	case *ast.BasicLit:
		f.length, f.text = len(label.Value), strconv.Quote(rename.New)
	default:
		return
	}
	r.out = append(r.out, f)
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

func (r *renamer) decls(decls []ast.Decl, types cuediag.SchemaType) {
	for _, d := range decls {
		if embed, ok := d.(*ast.EmbedDecl); ok {
			types = slices.Concat(types, r.typeOfOperand(embed.Expr))
		}
	}
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			name := labelName(d.Label)
			if rename, ok := types.Renamed(name); ok {
				r.add(d.Label, rename)
				r.values[d.Value] = rename
			}
			field := types.Field(name)
			if name == "releases" && types == nil {
				field = cuediag.TypeOf("#Releases") // of a stack, in another package than the layers
			}
			r.expr(d.Value, field)
		case *ast.EmbedDecl:
			r.expr(d.Expr, types)
		case *ast.Comprehension:
			r.expr(d.Value, types)
		case *ast.LetClause:
			r.expr(d.Expr, nil)
		}
	}
}

// labelName returns the name of a field, and AnyName for a pattern or an expression.
func labelName(label ast.Label) string {
	if name, _, err := ast.LabelName(label); err == nil {
		return name
	}
	return cuediag.AnyName
}

// expr visits the structs of an expression that has a type.
func (r *renamer) expr(e ast.Expr, types cuediag.SchemaType) {
	switch e := e.(type) {
	case *ast.StructLit:
		r.decls(e.Elts, types)
	case *ast.BinaryExpr:
		types = slices.Concat(types, r.typeOfOperand(e.X), r.typeOfOperand(e.Y))
		r.expr(e.X, types)
		r.expr(e.Y, types)
	case *ast.UnaryExpr:
		r.expr(e.X, types)
	case *ast.ParenExpr:
		r.expr(e.X, types)
	case *ast.ListLit:
		for _, element := range e.Elts {
			if c, ok := element.(*ast.Comprehension); ok {
				element = c.Value
			}
			if rest, ok := element.(*ast.Ellipsis); ok {
				element = rest.Type
			}
			if element != nil {
				r.expr(element, types.Field(cuediag.AnyElement))
			}
		}
	}
}

// typeOfOperand returns the type of a reference to a definition of the schema, such as
// schema.#Release, or to the #Release of a pinned chart.
func (r *renamer) typeOfOperand(e ast.Expr) cuediag.SchemaType {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return slices.Concat(r.typeOfOperand(e.X), r.typeOfOperand(e.Y))
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		if !ok {
			return nil
		}
		if at := r.imports[of.Name]; at == schema.ImportPath || strings.Contains(at, "/environments/charts/") {
			return cuediag.TypeOf(labelName(e.Sel))
		}
	}
	return nil
}

// references records references to renamed fields.
func (r *renamer) references(file *ast.File) {
	names := map[ast.Node]bool{} // identifiers that are no references
	ast.Walk(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			names[n.Label] = true
		case *ast.Alias:
			names[n.Ident] = true
		case *ast.LetClause:
			names[n.Ident] = true
		case *ast.ForClause:
			names[n.Key], names[n.Value] = true, true
		case *ast.SelectorExpr:
			names[n.Sel] = true
			if rename, ok := r.typeOfReference(n.X).Renamed(labelName(n.Sel)); ok {
				r.add(n.Sel, rename)
			}
		case *ast.IndexExpr:
			if key := stringOf(n.Index); key != "" {
				if rename, ok := r.typeOfReference(n.X).Renamed(key); ok {
					r.add(n.Index, rename)
				}
			}
		case *ast.Ident:
			if names[n] {
				return true
			}
			if rename, ok := r.values[n.Node]; ok && n.Node != nil {
				r.add(n, rename)
			} else if rename, ok := r.config.Renamed(n.Name); ok && n.Node == nil {
				r.add(n, rename) // a field in another file of the package
			}
		}
		return true
	}, nil)
}

// typeOfReference returns the type of a reference that begins with a field at the top.
func (r *renamer) typeOfReference(e ast.Expr) cuediag.SchemaType {
	switch e := e.(type) {
	case *ast.Ident:
		if _, isField := e.Scope.(*ast.File); e.Node == nil || isField {
			return r.config.Field(e.Name)
		}
	case *ast.SelectorExpr:
		return r.typeOfReference(e.X).Field(labelName(e.Sel))
	case *ast.IndexExpr:
		key := stringOf(e.Index)
		if key == "" {
			key = cuediag.AnyName
		}
		return r.typeOfReference(e.X).Field(key)
	case *ast.ParenExpr:
		return r.typeOfReference(e.X)
	}
	return nil
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
