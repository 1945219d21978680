package load

import (
	"bytes"
	"fmt"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// ReplaceText replaces a text in the literal at a position of a CUE file, and adds the file
// to the edits. The rest of the file stays byte for byte. A value that is not a literal with
// the text in it once is a fault.
func ReplaceText(root string, at diag.Pos, before, after string, edits Edits) error {
	f, _, lit, err := literalAt(root, at, edits)
	if err != nil {
		return err
	}
	if lit == nil {
		return &diag.Diag{
			Code: diag.CodeCannotEdit, At: []diag.Pos{at},
			Msg:  fmt.Sprintf("an expression computes the value %q here", diag.Visible(before, diag.MaxText)),
			Hint: fmt.Sprintf("write a string that contains %s", literal.String.Quote(after)),
		}
	}
	from, to := lit.Pos().Offset(), lit.End().Offset()
	text := lit.Value
	if lit.Kind == token.STRING {
		if text, err = literal.Unquote(lit.Value); err != nil {
			return &diag.Diag{Code: diag.CodeCannotEdit, At: []diag.Pos{at}, Msg: "the string cannot be read: " + diag.Brief(err), Hint: "change the image by hand"}
		}
	}
	if strings.Count(text, before) != 1 {
		return &diag.Diag{
			Code: diag.CodeCannotEdit, At: []diag.Pos{at},
			Msg:  fmt.Sprintf("the value here does not contain %q exactly once", diag.Visible(before, diag.MaxText)),
			Hint: "change the image by hand",
		}
	}
	next := strings.Replace(text, before, after, 1)
	quoted := literal.String.Quote(next)
	if plain := strings.Replace(lit.Value, before, after, 1); lit.Kind == token.STRING && strings.Count(lit.Value, before) == 1 {
		if again, err := literal.Unquote(plain); err == nil && again == next {
			quoted = plain // keeps the form of the literal
		}
	}
	edits[at.File] = f.splice(from, to, quoted)
	return nil
}

// SetBeside sets a field beside the field whose literal is at a position of a CUE file, and
// adds the file to the edits. It replaces a literal, or adds the field after the other one.
func SetBeside(root string, at diag.Pos, key, value string, edits Edits) error {
	f, parsed, lit, err := literalAt(root, at, edits)
	if err != nil {
		return err
	}
	chain := fieldsTo(parsed.Decls, lit)
	if lit == nil || len(chain) == 0 {
		return &diag.Diag{Code: diag.CodeCannotEdit, At: []diag.Pos{at}, Msg: "an expression computes the value here", Hint: fmt.Sprintf("set %s next to it by hand", key)}
	}
	quoted := literal.String.Quote(value)
	last := chain[len(chain)-1]
	if in := last.in; in != nil {
		if beside := fieldOf(in.Elts, key); beside != nil {
			if old, ok := beside.Value.(*ast.BasicLit); ok {
				edits[at.File] = f.splice(old.Pos().Offset(), old.End().Offset(), quoted)
				return nil
			}
			return &diag.Diag{Code: diag.CodeCannotEdit, At: []diag.Pos{diag.CUEPos(root, beside.Pos())}, Msg: "an expression computes the value here", Hint: "write " + quoted + " here"}
		}
	}
	// A chain key: key: value without braces is repeated from its outermost field on.
	outer := len(chain) - 1
	for outer > 0 && chain[outer].in != nil && !chain[outer].in.Lbrace.IsValid() {
		outer--
	}
	begin, end := chain[outer].field.Pos().Offset(), chain[outer].field.End().Offset()
	line := string(f.text[begin:last.field.Label.Pos().Offset()]) + labels([]string{key}) + quoted
	if in := chain[outer].in; in != nil && in.Lbrace.Line() == in.Rbrace.Line() {
		edits[at.File] = f.splice(end, end, ", "+line)
		return nil
	}
	line = f.indent(begin) + line + "\n"
	if n := bytes.IndexByte(f.text[end:], '\n'); n >= 0 {
		edits[at.File] = f.splice(end+n+1, end+n+1, line)
		return nil
	}
	edits[at.File] = f.splice(end, end, "\n"+line)
	return nil
}

// literalAt parses a file and returns the literal at a position; nil if another expression
// is there.
func literalAt(root string, at diag.Pos, edits Edits) (text fieldMatch, parsed *ast.File, found *ast.BasicLit, err error) {
	text.text, parsed, err = edits.parse(root, at.File)
	if err != nil {
		return text, nil, nil, err
	}
	isAt := func(n ast.Node) bool { return n.Pos().Line() == at.Line && n.Pos().Column() == at.Col }
	ast.Walk(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Interpolation:
			return false
		case *ast.Field:
			if lit, ok := n.Value.(*ast.BasicLit); ok && isAt(n.Label) {
				found = lit
			}
		case *ast.BasicLit:
			if isAt(n) {
				found = n
			}
		}
		return true
	}, nil)
	return text, parsed, found, nil
}

// A chainField is a field with the struct that it is in.
type chainField struct {
	field *ast.Field
	in    *ast.StructLit // nil for a field of the file
}

// fieldsTo returns the fields that lead to a literal that is the value of a field.
func fieldsTo(decls []ast.Decl, lit *ast.BasicLit) []chainField {
	for _, d := range decls {
		f, ok := d.(*ast.Field)
		if !ok || lit == nil {
			continue
		}
		if f.Value == ast.Expr(lit) {
			return []chainField{{field: f}}
		}
		for _, s := range structs(f.Value) {
			if below := fieldsTo(s.Elts, lit); below != nil {
				below[0].in = s
				return append([]chainField{{field: f}}, below...)
			}
		}
	}
	return nil
}
