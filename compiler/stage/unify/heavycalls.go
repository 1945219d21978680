package unify

import (
	"cmp"
	"fmt"
	"strconv"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	textUnit = 16       // bytes of text per unit of weight
	maxCall  = 16 << 20 // maximum weight of a call's result
)

// checkCalls reports calls and texts whose result is so large that its allocation
// kills the process before a limit is noticed.
func checkCalls(root string, in *build.Instance) error {
	var w *weigher
	var faults diag.List
	for _, of := range append(in.Dependencies(), in) {
		var g *growthCheck
		for _, f := range of.Files {
			if !importsGrowing(f) {
				continue
			}
			ast.Walk(f, func(n ast.Node) bool {
				c, ok := n.(*ast.CallExpr)
				if !ok || !multiplies(callee(c)) {
					return true
				}
				if w == nil {
					w, _ = newWeigher(in)
				}
				if w.call(c) <= maxCall {
					return true
				}
				faults.Add(&diag.Diag{
					Code: diag.CodeLimits,
					At:   []diag.Pos{diag.CUEPos(root, c.Pos())}, Msg: fmt.Sprintf("the result of %s is too large", callee(c)),
					Hint: "repeat a shorter value, or repeat it less often",
				})
				return false
			}, nil)
			if g == nil {
				g = newGrowthCheck(root, of, &faults)
			}
			g.file(f)
		}
	}
	if len(faults) == 0 {
		faults = checkTexts(root, in)
	}
	return faults.Err()
}

// importsGrowing reports whether a file imports a package with growing functions.
func importsGrowing(f *ast.File) bool {
	for spec := range f.ImportSpecs() {
		if growingPackage(spec) != "" {
			return true
		}
	}
	return false
}

// multiplies reports whether the result size of a function may be the product
// of its arguments.
func multiplies(function string) bool {
	return function == "strings.Repeat" || function == "list.Repeat" || function == "strings.Replace" || function == "strings.Join"
}

// call estimates the size of a function's result.
func (w *weigher) call(c *ast.CallExpr) float64 {
	switch name := callee(c); {
	case name == "list.Range" && len(c.Args) == 3:
		from, ok1 := w.number(c.Args[0])
		to, ok2 := w.number(c.Args[1])
		step, ok3 := w.number(c.Args[2])
		if ok1 && ok2 && ok3 && step != 0 {
			return max(1, (to-from)/step)
		}
	case (name == "list.Repeat" || name == "strings.Repeat") && len(c.Args) == 2:
		if n, ok := w.number(c.Args[1]); ok {
			return n * w.weigh(c.Args[0])
		}
	case name == "strings.Replace" && len(c.Args) == 4:
		return w.weigh(c.Args[0]) * textUnit * w.weigh(c.Args[2])
	case name == "strings.Join" && len(c.Args) == 2:
		return w.weigh(c.Args[0]) * max(1, w.weigh(c.Args[1]))
	}
	return 1 + w.sum(c.Args)
}

func callee(c *ast.CallExpr) string {
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
		if name := qualifiedName(sel); name != "" {
			return name
		}
	}
	if id, ok := c.Fun.(*ast.Ident); ok {
		return id.Name
	}
	return "a function"
}

// qualifiedName returns the package and name of a selector, as in
// "strings.Repeat". It resolves import aliases.
func qualifiedName(sel *ast.SelectorExpr) string {
	pkg, ok := sel.X.(*ast.Ident)
	name, _, err := ast.LabelName(sel.Sel)
	if !ok || err != nil {
		return ""
	}
	return cmp.Or(importedAs(pkg), pkg.Name) + "." + name
}

// choices returns the number of combinations of unified disjunctions.
func (w *weigher) choices(e ast.Expr) float64 {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.choices(e.X)
	case *ast.UnaryExpr:
		return w.choices(e.X)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.AND:
			return min(w.choices(e.X)*w.choices(e.Y), 1e100)
		case token.OR:
			return min(w.choices(e.X)+w.choices(e.Y), 1e100)
		}
	case *ast.Ident, *ast.SelectorExpr:
		if of, ok := w.resolve(e).(*ast.BinaryExpr); ok && w.weights[of] == 0 {
			if _, again := w.weights[of]; !again {
				w.weights[of] = 0
				defer delete(w.weights, of)
				return w.choices(of)
			}
		}
	}
	return 1
}

func literalNumber(e *ast.BasicLit) (float64, bool) {
	var n literal.NumInfo
	if literal.ParseNum(e.Value, &n) != nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	return f, err == nil
}

// number returns the constant value of an expression.
func (w *weigher) number(e ast.Expr) (float64, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return literalNumber(e)
	case *ast.ParenExpr:
		return w.number(e.X)
	case *ast.Ident, *ast.SelectorExpr:
		if of, ok := w.resolve(e).(*ast.BasicLit); ok {
			return w.number(of)
		}
	case *ast.BinaryExpr:
		x, ok1 := w.number(e.X)
		y, ok2 := w.number(e.Y)
		switch {
		case !ok1 || !ok2:
		case e.Op == token.MUL:
			return x * y, true
		case e.Op == token.ADD:
			return x + y, true
		case e.Op == token.SUB:
			return x - y, true
		}
	}
	return 0, false
}
