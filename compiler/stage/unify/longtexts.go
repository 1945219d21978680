package unify

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxBuilt is the maximum length in bytes of a text that layers build of others. CUE copies
// a text in one piece, and nothing interrupts a copy: thirty fields that each double the one
// before would take all memory before a limit is noticed.
const maxBuilt = 64 << 20

// checkTexts reports texts that are too long, as far as the files of an instance show.
func checkTexts(root string, in *build.Instance) diag.List {
	w, files := newWeigher(in)
	t := &textCheck{weigher: w, lengths: map[ast.Expr]float64{}}
	var faults diag.List
	for _, f := range files {
		if isOurs(diag.CUEFile(root, f.Pos())) {
			continue
		}
		ast.Walk(f, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && t.exceedsLimit(e) {
				faults.Add(&diag.Diag{
					Code: diag.CodeLimits,
					At:   []diag.Pos{diag.CUEPos(root, e.Pos())}, Msg: "the string is longer than 64 MiB",
					Hint: "shorten it: it repeats a string that already repeats other strings",
				})
			}
			return true
		}, nil)
	}
	return faults
}

// A textCheck estimates the lengths of texts in bytes.
type textCheck struct {
	*weigher
	lengths map[ast.Expr]float64 // computed lengths; 0 during estimation
}

// exceedsLimit reports whether the text of an expression is too long although none of its
// parts is.
func (t *textCheck) exceedsLimit(e ast.Expr) bool {
	parts := textParts(e)
	if len(parts) == 0 || t.length(e) <= maxBuilt {
		return false
	}
	return !slices.ContainsFunc(parts, func(part ast.Expr) bool { return t.length(part) > maxBuilt })
}

// textParts returns the operands of an expression that builds a text, or nil for other
// expressions.
func textParts(e ast.Expr) []ast.Expr {
	switch e := e.(type) {
	case *ast.Interpolation:
		return e.Elts
	case *ast.BinaryExpr:
		if e.Op == token.ADD || e.Op == token.MUL {
			return []ast.Expr{e.X, e.Y}
		}
	case *ast.CallExpr:
		if name := callee(e); name != "len" && !strings.Contains(name, ".Sum") { // sums of crypto are short
			return e.Args
		}
	}
	return nil
}

// length estimates the length of the text of an expression, or the total length of the texts
// in a list or struct.
func (t *textCheck) length(e ast.Expr) float64 {
	n, ok := t.lengths[e]
	if !ok && e != nil {
		t.lengths[e] = 0 // ends recursion
		n = min(t.newLength(e), 1e100)
		t.lengths[e] = n
	}
	return n
}

func (t *textCheck) newLength(e ast.Expr) float64 {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return float64(len(e.Value))
		}
	case *ast.Ident, *ast.SelectorExpr:
		return t.length(t.resolve(e))
	case *ast.ParenExpr:
		return t.length(e.X)
	case *ast.UnaryExpr:
		return t.length(e.X)
	case *ast.IndexExpr:
		return t.length(e.X)
	case *ast.ListLit:
		return t.total(e.Elts)
	case *ast.Comprehension:
		return t.iterations(e) * t.length(e.Value)
	case *ast.StructLit:
		return t.total(members(e))
	case *ast.BinaryExpr:
		switch x, y := t.length(e.X), t.length(e.Y); e.Op {
		case token.AND, token.OR:
			return max(x, y)
		case token.MUL:
			if n, ok := t.number(e.Y); ok {
				return n * x
			}
			n, _ := t.number(e.X)
			return n * y
		}
	case *ast.CallExpr:
		if name := callee(e); name == "strings.Repeat" || name == "list.Repeat" {
			return t.call(e) * textUnit
		}
	}
	return t.total(textParts(e))
}

func (t *textCheck) total(list []ast.Expr) (sum float64) {
	for _, e := range list {
		sum += t.length(e)
	}
	return sum
}
