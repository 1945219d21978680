package diag

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
)

// fleetField matches the fields of a fleet to which layers refer.
var fleetField = regexp.MustCompile(`\b(?:cluster|environment|releases)\b`)

// ExplainShadowing explains a fault of a reference to a field that shadows the field of the
// fleet, as in labels: cluster: cluster.name.
func ExplainShadowing(root string, d *Diag) {
	if !slices.Contains([]Code{CodeCycle, CodeExpression, CodeMissingValue, CodeUnknownField}, d.Code) {
		return
	}
	x := &explanation{Diag: d, root: root}
	for i, p := range d.At {
		if line, _ := x.lineAt(p); !fleetField.MatchString(line) {
			continue
		}
		name, line := shadowing(x.sourceOf(p), p)
		if name == "" {
			continue
		}
		d.At = slices.Concat(d.At[i:i+1], d.At[:i], d.At[i+1:])
		d.Msg = fmt.Sprintf("%s refers to the field in line %d, and not to the top-level field %s", name, line, name)
		d.Hint, d.Fixes = fmt.Sprintf("write the name of the field in line %d in quotes: %q: ...", line, name), nil
		return
	}
}

// shadowing returns the name of a field of the fleet, and the line of another field of this
// name to which a reference at p refers; "" if no reference is there.
func shadowing(source string, p Pos) (name string, line int) {
	file, err := parser.ParseFile(p.File, source)
	if err != nil {
		return "", 0
	}
	ast.Walk(file, func(n ast.Node) bool {
		id := firstIdent(n)
		if id == nil || name != "" {
			return name == ""
		}
		_, atTop := id.Scope.(*ast.File)
		start, end := n.Pos().Position(), n.End().Position()
		if id.Node != nil && id.Scope != nil && !atTop && fleetField.FindString(id.Name) == id.Name &&
			start.Line == p.Line && start.Column <= p.Col && p.Col <= end.Column {
			if _, ok := id.Node.(ast.Expr); ok {
				name, line = id.Name, id.Node.Pos().Line()
			}
		}
		return true
	}, nil)
	return name, line
}

// firstIdent returns the first identifier of a chain of selectors; nil for other nodes.
func firstIdent(n ast.Node) *ast.Ident {
	for {
		switch x := n.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			n = x.X
		default:
			return nil
		}
	}
}

// unused explains an unused import.
func (x *explanation) unused(m []string) {
	name := ast.ParseImportPath(m[1]).Qualifier
	file, err := parser.ParseFile(x.place().File, x.source())
	if err == nil {
		for spec := range file.ImportSpecs() {
			if text, _ := strconv.Unquote(spec.Path.Value); text == m[1] && spec.Name != nil {
				name = spec.Name.Name
			}
		}
		if line := shadowedIn(file, name); line > 0 {
			x.Msg = "the package " + name + " is shadowed by the field of the same name"
			x.Hint = fmt.Sprintf("write the name of the field in line %d in quotes: %q: ...", line, name)
			return
		}
	}
	x.Msg, x.Hint = `the import "`+m[1]+`" is not used`, "remove the line, or refer to the package as "+name
}

// shadowedIn returns the line of a field to which name.x refers in a file; 0 without one.
func shadowedIn(file *ast.File, name string) (line int) {
	ast.Walk(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == name {
				if value, ok := id.Node.(ast.Expr); ok {
					line = value.Pos().Line()
				}
			}
		}
		return line == 0
	}, nil)
	return line
}
