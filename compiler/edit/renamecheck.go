package edit

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// checkReferences returns a fault for each reference that refers to another field, let, alias
// or variable after the renames: an inner one has the new name.
func checkReferences(root, name string, before *ast.File, renamed *renamedFile) error {
	if len(renamed.changes) == 0 {
		return nil
	}
	after, err := parser.ParseFile(name, renamed.text, parser.ParseComments)
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
