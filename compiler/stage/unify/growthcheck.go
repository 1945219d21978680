package unify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Some CUE functions allocate results that are far larger than their arguments
// in one piece, which kills the process before a limit is noticed. Calls of
// these functions are rejected unless their result is bounded by the source
// text.

const (
	maxAmount = 1 << 16   // bits of a number, or digits after the decimal point
	maxText   = 16 << 20  // bytes of a text or elements of a list that a call returns
	maxGrowth = 8         // how often a call may repeat a text of unknown length
	maxRepeat = 1_000_000 // CUE's limit of the second argument of Repeat
	maxJoined = 4 << 10   // bytes of a text that a call may join any number of times
)

// growingFuncs are the functions with large results, and their numbers of
// arguments.
var growingFuncs = map[string]int{
	"bits.Lsh": 2, "bits.Set": 3, "strconv.FormatFloat": 4,
	"strings.Repeat": 2, "list.Repeat": 2, "strings.Replace": 4, "strings.Join": 2,
}

// growingPackages are the import paths of these functions.
var growingPackages = []string{"strings", "list", "strconv", "math/bits"}

// A growthCheck computes bounds of values from the files of one package.
type growthCheck struct {
	root   string
	fields map[string]ast.Expr // top-level fields by name
	active map[ast.Expr]bool   // expressions in evaluation
	bounds map[ast.Expr]bound  // computed bounds
	faults *diag.List
}

// A bound is the largest possible length of a value; negative when unknown.
type bound float64

const unbounded bound = -1

func newGrowthCheck(root string, of *build.Instance, faults *diag.List) *growthCheck {
	g := &growthCheck{root: root, faults: faults, fields: map[string]ast.Expr{}, active: map[ast.Expr]bool{}, bounds: map[ast.Expr]bound{}}
	for _, f := range of.Files {
		addTopLevel(g.fields, f)
	}
	return g
}

// file checks the calls of a file. It also rejects functions that are used as
// values, since their calls cannot be found in the text.
func (g *growthCheck) file(f *ast.File) {
	inside := map[ast.Node]bool{} // functions of calls, packages of selectors
	ast.Walk(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := callee(n); growingFuncs[name] > 0 && isGrowingImport(n.Fun) {
				inside[n.Fun] = true
				if len(n.Args) == growingFuncs[name] {
					g.call(name, n)
				}
			}
		case *ast.SelectorExpr:
			if !isGrowingImport(n) {
				return true
			}
			inside[n.X] = true
			if name := qualifiedName(n); growingFuncs[name] > 0 && !inside[n] {
				g.fault(n, name+" is a function, not a value", "call it: "+name+"(...)")
			}
		case *ast.Ident:
			if name := importedAs(n); name != "" && !inside[n] {
				g.fault(n, "the package "+name+" is not a value", "call one of its functions, as in "+name+".Repeat")
			}
		}
		return true
	}, nil)
}

// fault adds a fault unless one exists at the same position.
func (g *growthCheck) fault(n ast.Node, msg, hint string) {
	at := diag.CUEPos(g.root, n.Pos())
	if !slices.ContainsFunc(*g.faults, func(d *diag.Diag) bool { return d.At[0] == at }) {
		g.faults.Add(&diag.Diag{Code: diag.CodeLimits, At: []diag.Pos{at}, Msg: msg, Hint: hint})
	}
}

// call checks one call.
func (g *growthCheck) call(name string, c *ast.CallExpr) {
	switch name {
	case "bits.Lsh", "bits.Set":
		g.amount(name, c.Args[1])
	case "strconv.FormatFloat":
		g.amount(name, c.Args[2])
	case "strings.Repeat", "list.Repeat":
		if b := g.repeat(c); b == unbounded {
			g.fault(c, "the size of "+name+" cannot be determined before evaluation",
				fmt.Sprintf("repeat a literal, or write a literal count of at most %d", maxGrowth))
		}
	case "strings.Join":
		g.join(c)
	case "strings.Replace":
		if n, ok := g.number(c.Args[3]); (!ok || n < 0 || n > maxGrowth) && g.replacements(c) > maxGrowth {
			g.fault(c, "the size of "+name+" cannot be determined before evaluation",
				fmt.Sprintf("write a literal of at most %d as the last argument, the number of replacements", maxGrowth))
		}
	}
}

// amount checks an argument that determines the size of a result.
func (g *growthCheck) amount(name string, e ast.Expr) {
	switch n, ok := g.number(e); {
	case !ok:
		g.fault(e, "the argument of "+name+" cannot be determined before evaluation",
			fmt.Sprintf("write a literal of at most %d, or limit it as in mod(n, 64)", maxAmount))
	case n > maxAmount:
		g.fault(e, "the argument of "+name+" is too large", fmt.Sprintf("write a number up to %d", maxAmount))
	}
}

// join checks a call of strings.Join. A text in it that does not come from the list
// must be short, unless the text of the fleet says how often it is there.
func (g *growthCheck) join(c *ast.CallExpr) {
	count, separator := g.length(c.Args[0]), g.length(c.Args[1])
	if separator == unbounded && (count == unbounded || count > maxGrowth) || separator > maxJoined && (count == unbounded || count*separator > maxText) {
		g.fault(c, "the size of strings.Join cannot be determined before evaluation", "write the separator as a short literal")
		return
	}
	list, ok := c.Args[0].(*ast.ListLit)
	if id, isName := c.Args[0].(*ast.Ident); isName {
		list, ok = g.resolve(id).(*ast.ListLit)
	}
	for i := 0; ok && i < len(list.Elts); i++ {
		if each, isEach := list.Elts[i].(*ast.Comprehension); isEach && g.length(embedded(each.Value)) > maxJoined {
			g.fault(c, "the size of strings.Join cannot be determined before evaluation", "join shorter strings, or use strings.Repeat")
		}
	}
}

// embedded returns the only thing in a struct, {x}; nil when it has fields.
func embedded(e ast.Expr) ast.Expr {
	if s, ok := e.(*ast.StructLit); ok && len(s.Elts) == 1 {
		if d, ok := s.Elts[0].(*ast.EmbedDecl); ok {
			return d.Expr
		}
	}
	return nil
}

// repeat returns the bound of a Repeat call.
func (g *growthCheck) repeat(c *ast.CallExpr) bound {
	size := g.length(c.Args[0])
	n, ok := g.number(c.Args[1])
	switch {
	case size == unbounded && ok && n <= maxGrowth:
		return maxText
	case !ok:
		n = maxRepeat
	}
	if size == unbounded || float64(size)*n > maxText {
		return unbounded
	}
	return size * bound(n)
}

// replacements returns the maximum growth factor of a Replace call.
func (g *growthCheck) replacements(c *ast.CallExpr) float64 {
	in, old, to := g.length(c.Args[0]), g.length(c.Args[1]), g.length(c.Args[2])
	lit, ok := c.Args[1].(*ast.BasicLit)
	if old <= 0 || !ok || lit.Kind != token.STRING {
		return maxGrowth + 1 // the actual length may be smaller
	}
	least := float64(maxGrowth + 1)
	if in != unbounded {
		least = min(least, float64(in/old))
	}
	if to != unbounded {
		least = min(least, float64(to/old))
	}
	return least
}

// length returns the bound of a text or list.
func (g *growthCheck) length(e ast.Expr) bound {
	if b, ok := g.bounds[e]; ok {
		return b
	}
	if e == nil || g.active[e] {
		return unbounded
	}
	g.active[e] = true
	b := g.newLength(e)
	delete(g.active, e)
	g.bounds[e] = b
	return b
}

func (g *growthCheck) newLength(e ast.Expr) bound {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := literal.Unquote(e.Value); err == nil {
			return bound(len(text))
		}
		return bound(len(e.Value))
	case *ast.ParenExpr:
		return g.length(e.X)
	case *ast.Ident:
		return g.length(g.resolve(e))
	case *ast.Interpolation:
		return g.total(e.Elts)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return g.total([]ast.Expr{e.X, e.Y})
		}
	case *ast.ListLit:
		for _, elt := range e.Elts {
			switch elt.(type) {
			case *ast.Comprehension, *ast.Ellipsis:
				return unbounded
			}
		}
		return bound(len(e.Elts))
	case *ast.CallExpr:
		if name := callee(e); (name == "strings.Repeat" || name == "list.Repeat") && isGrowingImport(e.Fun) && len(e.Args) == growingFuncs[name] {
			return g.repeat(e)
		}
	}
	return unbounded
}

func (g *growthCheck) total(list []ast.Expr) (sum bound) {
	for _, e := range list {
		b := g.length(e)
		if b == unbounded || sum+b > maxText {
			return unbounded
		}
		sum += b
	}
	return sum
}

// number returns the value of an expression, or its upper bound.
func (g *growthCheck) number(e ast.Expr) (float64, bool) {
	if e == nil || g.active[e] {
		return 0, false
	}
	g.active[e] = true
	defer delete(g.active, e)
	switch e := e.(type) {
	case *ast.BasicLit:
		return literalNumber(e)
	case *ast.ParenExpr:
		return g.number(e.X)
	case *ast.UnaryExpr:
		if x, ok := e.X.(*ast.BasicLit); ok && e.Op == token.SUB {
			n, ok := g.number(x)
			return -n, ok
		}
	case *ast.Ident:
		return g.number(g.resolve(e))
	case *ast.BinaryExpr:
		return g.arithmetic(e)
	case *ast.CallExpr:
		if fun, ok := e.Fun.(*ast.Ident); ok && fun.Name == "mod" && g.resolve(fun) == nil && len(e.Args) == 2 {
			return g.number(e.Args[1])
		}
	}
	return 0, false
}

// arithmetic returns the bound of a sum, difference or product.
func (g *growthCheck) arithmetic(e *ast.BinaryExpr) (float64, bool) {
	x, ok1 := g.number(e.X)
	y, ok2 := g.number(e.Y)
	if !ok1 || !ok2 || x < 0 || y < 0 {
		return 0, false
	}
	switch e.Op {
	case token.ADD:
		return x + y, true
	case token.SUB:
		return x, true // y may be less than its bound
	case token.MUL:
		return x * y, true
	}
	return 0, false
}

// resolve returns the expression of the field, let clause or alias that a name
// refers to. Other declarations of the field must equal it if it is a text or
// number.
func (g *growthCheck) resolve(e *ast.Ident) ast.Expr {
	switch n := e.Node.(type) {
	case nil:
		return g.fields[e.Name]
	case *ast.Field:
		return n.Value
	case *ast.LetClause:
		return n.Expr
	case ast.Expr:
		if _, ok := n.(*ast.Ident); !ok {
			return n
		}
	}
	return nil
}

// importedAs returns the name of the package of a growing function that an
// identifier refers to, or an empty string.
func importedAs(e *ast.Ident) string {
	spec, ok := e.Node.(*ast.ImportSpec)
	if !ok || e == spec.Name {
		return ""
	}
	return growingPackage(spec)
}

// growingPackage returns the name of the package with growing functions that is
// imported, or an empty string.
func growingPackage(spec *ast.ImportSpec) string {
	text, _ := literal.Unquote(spec.Path.Value)
	if p, _, _ := strings.Cut(text, ":"); slices.Contains(growingPackages, p) {
		return path.Base(p)
	}
	return ""
}

// isGrowingImport reports whether an expression selects from a package with
// growing functions.
func isGrowingImport(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && importedAs(id) != ""
}
