package edit

import (
	"cmp"
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
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

// A renamedFile is a CUE file with the new names of fields.
type renamedFile struct {
	text    []byte
	changes []RenamedField
	unsure  []RenamedField // names that may be old: the type of the struct is not known
}

// renameFields returns a CUE file with the new names of fields of the schema. It changes
// nothing but the names of fields and references to them.
func renameFields(root, name string, text []byte) (*renamedFile, error) {
	file, err := load.ParseFile(name, text, parser.ParseComments)
	if err != nil {
		return nil, diag.CUEFaults(root, err, cue.Value{}).Err()
	}
	r := newRenamer(root, name, file)
	r.decls(file.Decls, r.config)
	r.references(file)
	if err := r.faults.Err(); err != nil {
		return nil, err
	}
	out := &renamedFile{changes: inOrder(r.changes), unsure: inOrder(r.unsure)}
	end := 0
	for _, f := range out.changes {
		out.text = append(append(out.text, text[end:f.offset]...), f.text...)
		end = f.offset + f.length
	}
	out.text = append(out.text, text[end:]...)
	return out, checkReferences(root, name, file, out)
}

// inOrder sorts names by their places, each once.
func inOrder(names []RenamedField) []RenamedField {
	slices.SortFunc(names, func(a, b RenamedField) int { return cmp.Compare(a.offset, b.offset) })
	return slices.CompactFunc(names, func(a, b RenamedField) bool { return a.offset == b.offset })
}

// A renamer collects the old names in a file.
type renamer struct {
	root    string
	name    string
	imports map[string]string        // paths of imported packages by their names in the file
	config  valueType                // type of the fields at the top of the file
	values  map[ast.Node]diag.Rename // by the value of the renamed field, to which references refer
	types   map[ast.Node]valueType   // types of fields, by the node to which references refer
	changes []RenamedField
	unsure  []RenamedField
	faults  diag.List
}

func newRenamer(root, name string, file *ast.File) *renamer {
	r := &renamer{root: root, name: name, imports: importsOf(file), values: map[ast.Node]diag.Rename{}, types: map[ast.Node]valueType{}}
	if file.PackageName() == "fleet" {
		r.config = valueType{diag.SchemaTypeOf("#Config"), true}
	}
	return r
}

// add records an old name: an identifier or a string.
func (r *renamer) add(to *[]RenamedField, label ast.Node, rename diag.Rename) {
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
	*to = append(*to, f)
}

// addName records the name of a field of a struct, if it is or may be an old one.
func (r *renamer) addName(label ast.Node, name string, of valueType) (diag.Rename, bool) {
	rename, ok := of.schema.Renamed(name)
	if ok {
		r.add(&r.changes, label, rename)
	} else if !of.known {
		for _, x := range slices.Backward(diag.Renames) {
			if x.Old == name {
				r.add(&r.unsure, label, x)
				break
			}
		}
	}
	return rename, ok
}

func (r *renamer) decls(decls []ast.Decl, of valueType) {
	names := map[string]bool{}
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.EmbedDecl:
			of = of.and(r.typeOfOperand(d.Expr))
		case *ast.Field:
			names[labelName(d.Label)] = true
		}
	}
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			r.field(d, of, names)
		case *ast.EmbedDecl:
			r.expr(d.Expr, of)
		case *ast.Comprehension:
			r.comprehension(d, of)
		case *ast.LetClause:
			r.expr(d.Expr, of.context())
		case *ast.Alias:
			r.expr(d.Expr, of.context())
		}
	}
}

// field visits a field of a struct that has the given names.
func (r *renamer) field(d *ast.Field, of valueType, names map[string]bool) {
	name, value := labelName(d.Label), d.Value
	if alias, ok := value.(*ast.Alias); ok {
		value = alias.Expr
	}
	if rename, ok := r.addName(bareLabel(d.Label), name, of); ok {
		r.values[value] = rename
		if names[rename.New] {
			r.faults.Add(&diag.Diag{
				Code: diag.CodeCannotEdit, At: []diag.Pos{diag.CUEPos(r.root, d.Label.Pos())},
				Msg:  "both " + rename.Old + " and " + rename.New + " are set, which are names of the same field",
				Hint: "remove one of the two",
			})
		}
	}
	field := of.field(name)
	reference := field.and(r.typeOfOperand(value))
	r.types[value], r.types[d], r.types[d.Value] = reference, reference, reference
	r.expr(value, field)
}

// comprehension visits the clauses and the struct of a comprehension in a struct or list.
func (r *renamer) comprehension(c *ast.Comprehension, of valueType) {
	for _, clause := range c.Clauses {
		switch clause := clause.(type) {
		case *ast.ForClause:
			r.expr(clause.Source, of.context())
		case *ast.LetClause:
			r.expr(clause.Expr, of.context())
		}
	}
	r.expr(c.Value, of)
	if c.Fallback != nil {
		r.expr(c.Fallback.Body, of)
	}
}

// expr visits the structs of an expression that has a type.
func (r *renamer) expr(e ast.Expr, of valueType) {
	switch e := e.(type) {
	case *ast.StructLit:
		r.decls(e.Elts, of)
	case *ast.BinaryExpr:
		of = of.and(r.typeOfOperand(e))
		r.expr(e.X, of)
		r.expr(e.Y, of)
	case *ast.UnaryExpr:
		r.expr(e.X, of)
	case *ast.ParenExpr:
		r.expr(e.X, of)
	case *ast.SelectorExpr:
		r.expr(e.X, of.context())
	case *ast.IndexExpr:
		if list, ok := e.X.(*ast.ListLit); ok { // [if x {...}, {...}][0]
			r.elements(list, of)
			return
		}
		r.expr(e.X, of.context())
	case *ast.CallExpr:
		for _, arg := range e.Args {
			r.expr(arg, of.context())
		}
	case *ast.ListLit:
		r.elements(e, of.field(diag.AnyElement))
	}
}

// elements visits the elements of a list, which have a type.
func (r *renamer) elements(list *ast.ListLit, of valueType) {
	for _, element := range list.Elts {
		switch element := element.(type) {
		case *ast.Comprehension:
			r.comprehension(element, of)
		case *ast.Ellipsis:
			if element.Type != nil {
				r.expr(element.Type, of)
			}
		default:
			r.expr(element, of)
		}
	}
}

// references records references to renamed fields.
func (r *renamer) references(file *ast.File) {
	names := map[ast.Node]bool{} // identifiers that are no references
	ast.Walk(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			names[bareLabel(n.Label)] = true
		case *ast.PostfixAlias:
			names[n.Label], names[n.Field] = true, true
		case *ast.Alias:
			names[n.Ident] = true
		case *ast.LetClause:
			names[n.Ident] = true
		case *ast.ForClause:
			names[n.Key], names[n.Value] = true, true
		case *ast.SelectorExpr:
			names[n.Sel] = true
			r.addName(n.Sel, labelName(n.Sel), r.typeOfReference(n.X))
		case *ast.IndexExpr:
			if key := stringOf(n.Index); key != "" {
				r.addName(n.Index, key, r.typeOfReference(n.X))
			}
		case *ast.Ident:
			if names[n] {
				return true
			}
			if rename, ok := r.values[n.Node]; ok && n.Node != nil {
				r.add(&r.changes, n, rename)
			} else if rename, ok := r.config.schema.Renamed(n.Name); ok && n.Node == nil {
				r.add(&r.changes, n, rename) // a field in another file of the package
			}
		}
		return true
	}, nil)
}

// checkReferences returns a fault for each reference that refers to another field, let, alias
// or variable after the renames: an inner one has the new name.
func checkReferences(root, name string, before *ast.File, renamed *renamedFile) error {
	if len(renamed.changes) == 0 {
		return nil
	}
	after, err := load.ParseFile(name, renamed.text, parser.ParseComments)
	if err != nil {
		at := diag.CUEPos(root, errors.Positions(err)[0])
		return &diag.Diag{
			Code: diag.CodeCannotEdit, At: []diag.Pos{{File: name, Line: at.Line}}, Cause: err,
			Msg:  "with the new names, the file is not valid: " + err.Error(),
			Hint: "give the other field, let or alias another name",
		}
	}
	var faults diag.List
	old, targets := references(before)
	next, newTargets := references(after)
	for i, ident := range old {
		if i < len(next) && targets[i] == newTargets[i] {
			continue
		}
		d := &diag.Diag{
			Code: diag.CodeCannotEdit, At: []diag.Pos{diag.CUEPos(root, ident.Pos())},
			Msg:  "after the renames, this reference to " + ident.Name + " would mean another value",
			Hint: "give the inner field, let, alias or variable another name, or write the whole path in place of " + ident.Name,
		}
		if i < len(next) {
			d.Msg += " that is called " + next[i].Name
		}
		faults.Add(d)
	}
	return faults.Err()
}

// references returns the identifiers of a file, and for each the number of the node to which
// it refers: 0 for a field at the top of the package, or none.
func references(file *ast.File) (idents []*ast.Ident, targets []int) {
	numbers := map[ast.Node]int{}
	ast.Walk(file, func(n ast.Node) bool {
		numbers[n] = len(numbers) + 1
		if ident, ok := n.(*ast.Ident); ok {
			idents = append(idents, ident)
		}
		return true
	}, nil)
	for _, ident := range idents {
		number := 0
		_, top := ident.Scope.(*ast.File)
		switch ident.Node.(type) {
		case nil:
		case *ast.ImportSpec, *ast.LetClause, *ast.Alias, *ast.Field:
			number = numbers[ident.Node]
		default:
			if !top {
				number = numbers[ident.Node]
			}
		}
		targets = append(targets, number)
	}
	return idents, targets
}
