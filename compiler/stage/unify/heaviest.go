package unify

import (
	"math"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// An evaluation that exceeds its limits does not know its current expression.
// This file estimates the number of values of each expression from the text.

// heavy is the number of values that makes an expression a suspect.
const heavy = 20_000

// Excess returns the fault of an evaluation that exceeded a limit, for a
// cluster or, when id is empty, another instance. Its position is the
// expression with the most values, or else the last file of the instance.
func Excess(root, id string, in *build.Instance, over *par.Excess) error {
	what := "the evaluation of this cluster"
	if id == "" {
		what = "the evaluation of this file"
	}
	d := &diag.Diag{
		Code: diag.CodeLimits,
		Msg:  what + " " + over.Msg, Cause: over,
		Hint: "look for lists and comprehensions that multiply each other",
	}
	if n := len(in.Files); n > 0 {
		d.At = []diag.Pos{{File: diag.CUEFile(root, in.Files[n-1].Pos())}}
	}
	if over.Of == par.Depth {
		// Searching the text after a stack overflow takes seconds.
		d.Hint = "look for a definition that refers to itself without an end condition"
	} else if at, text := heaviest(root, in); at.IsValid() {
		d.At, d.Hint = []diag.Pos{at}, "make "+text+" smaller, which may produce too many values"
	}
	switch over.Of {
	case par.Time:
		d.Hint += ", or allow more: FLEETC_CUE_TIME=5m"
	case par.Memory:
		d.Hint += ", or allow more: FLEETC_CUE_MEMORY=4GiB"
	}
	if id == "" {
		return d
	}
	return diag.In(id, d)
}

// heaviest returns the position and a short name of the expression with the
// most values. The position is invalid when no expression stands out.
func heaviest(root string, in *build.Instance) (diag.Pos, string) {
	w, files := newWeigher(in)
	var found suspect
	for _, f := range files {
		if !isOurs(diag.CUEFile(root, f.Pos())) {
			w.search(f, &found)
		}
	}
	if found.weight < heavy {
		return diag.Pos{}, ""
	}
	return diag.CUEPos(root, found.node.Pos()), found.what
}

// isOurs reports whether the file is part of fleetc.
func isOurs(file string) bool {
	return file == "" || strings.HasPrefix(file, "schema/") || strings.HasPrefix(file, "cue.mod/pkg/github.com/fleetc/fleetc/")
}

// A suspect is an expression that may be too large to evaluate.
type suspect struct {
	node   ast.Node
	what   string
	weight float64
}

// A weigher estimates the number of values of expressions.
type weigher struct {
	named   map[string]ast.Expr  // top-level fields and let clauses by name
	weights map[ast.Expr]float64 // of named expressions; 0 during estimation
}

// newWeigher returns a weigher for an instance, and the files of the instance.
func newWeigher(in *build.Instance) (*weigher, []*ast.File) {
	w := &weigher{named: map[string]ast.Expr{}, weights: map[ast.Expr]float64{}}
	files := in.Files
	for _, of := range in.Dependencies() {
		files = append(files[:len(files):len(files)], of.Files...)
	}
	for _, f := range files {
		w.name(f)
	}
	return w, files
}

// name records the names of a file.
func (w *weigher) name(f *ast.File) {
	addTopLevel(w.named, f)
	ast.Walk(f, func(n ast.Node) bool {
		if let, ok := n.(*ast.LetClause); ok && w.named[let.Ident.Name] == nil {
			w.named[let.Ident.Name] = let.Expr
		}
		return true
	}, nil)
}

// addTopLevel adds the top-level fields of a file by name. It does not replace others.
func addTopLevel(fields map[string]ast.Expr, f *ast.File) {
	for _, field := range fieldsNamed(f.Decls, "") {
		if name, _, err := ast.LabelName(field.Label); err == nil && fields[name] == nil {
			fields[name] = field.Value
		}
	}
}

// search finds the heaviest suspect of a file: an expression that multiplies
// its parts. It prefers the inner one of nested suspects of similar weight.
func (w *weigher) search(f *ast.File, found *suspect) {
	ast.Walk(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Comprehension:
			parts := []float64{w.weigh(n.Value)}
			for _, clause := range n.Clauses {
				if f, ok := clause.(*ast.ForClause); ok {
					parts = append(parts, w.elements(f.Source))
				}
			}
			found.update(n, "the comprehension", w.weigh(n), parts)
		case *ast.CallExpr:
			found.update(n, "the call of "+callee(n), w.call(n), diag.Each(n.Args, w.weigh))
		case *ast.BinaryExpr:
			what := "the expression"
			if n.Op == token.OR || n.Op == token.AND {
				what = "the expression with | or &"
			}
			found.update(n, what, w.weigh(n), diag.Each([]ast.Expr{n.X, n.Y}, w.weigh))
		case *ast.ListLit:
			found.update(n, "the list", w.weigh(n), diag.Each(n.Elts, w.weigh))
		case *ast.Interpolation:
			found.update(n, "the text", w.weigh(n), diag.Each(n.Elts, w.weigh))
		case *ast.StructLit:
			parts := func(field *ast.Field) float64 { return w.weigh(field.Value) }
			found.update(n, "the struct", w.weigh(n), diag.Each(fieldsNamed(n.Elts, ""), parts))
		}
		return true
	}, nil)
}

// update replaces the suspect by a heavier expression, or by one inside that
// is most of it. It ignores an expression if one of its parts is nearly as
// heavy.
func (s *suspect) update(n ast.Node, what string, weight float64, parts []float64) {
	const most = 4
	for _, p := range parts {
		if weight < 1.5*p {
			return
		}
	}
	inside := s.node != nil && n.Pos().Filename() == s.node.Pos().Filename() &&
		n.Pos().Offset() >= s.node.Pos().Offset() && n.End().Offset() <= s.node.End().Offset()
	if inside && weight*most >= s.weight {
		*s = suspect{n, what, max(weight, s.weight)}
	} else if weight > s.weight {
		*s = suspect{n, what, weight}
	}
}

// weigh estimates the number of values of an expression.
func (w *weigher) weigh(e ast.Expr) float64 {
	switch e := e.(type) {
	case *ast.BasicLit:
		return float64(1 + len(e.Value)/textUnit)
	case *ast.Ident, *ast.SelectorExpr:
		return w.reference(w.resolve(e))
	case *ast.ParenExpr:
		return w.weigh(e.X)
	case *ast.UnaryExpr:
		return w.weigh(e.X)
	case *ast.ListLit:
		return 1 + w.sum(e.Elts)
	case *ast.StructLit:
		return 1 + w.sum(members(e))
	case *ast.Comprehension:
		return w.iterations(e) * w.weigh(e.Value)
	case *ast.Interpolation:
		return w.sum(e.Elts)
	case *ast.CallExpr:
		return w.call(e)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.AND:
			return min(math.MaxFloat64/4, w.weigh(e.X)+w.weigh(e.Y)+w.choices(e))
		case token.MUL:
			if n, ok := w.number(e.Y); ok {
				return n * w.weigh(e.X)
			}
			if n, ok := w.number(e.X); ok {
				return n * w.weigh(e.Y)
			}
		}
		return w.weigh(e.X) + w.weigh(e.Y)
	}
	return 1
}

func (w *weigher) sum(list []ast.Expr) (n float64) {
	for _, e := range list {
		n += w.weigh(e)
	}
	return min(n, math.MaxFloat64/4)
}

// reference returns the weight of a named expression.
func (w *weigher) reference(e ast.Expr) float64 {
	if e == nil {
		return 1
	}
	n, ok := w.weights[e]
	if !ok {
		w.weights[e] = 0 // ends recursion
		n = w.weigh(e)
		w.weights[e] = n
	}
	return max(n, 1)
}

// resolve returns the expression of a name or path, or nil when it is unknown.
func (w *weigher) resolve(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Ident:
		switch n := e.Node.(type) {
		case *ast.Field:
			return n.Value
		case ast.Expr:
			if _, ok := n.(*ast.Ident); !ok {
				return n
			}
		case *ast.ImportSpec:
			return nil
		}
		return w.named[e.Name]
	case *ast.SelectorExpr:
		label, _, err := ast.LabelName(e.Sel)
		of, ok := w.resolve(e.X).(*ast.StructLit)
		if id, isName := e.X.(*ast.Ident); isName && err == nil && !ok {
			if _, imported := id.Node.(*ast.ImportSpec); imported {
				return w.named[label]
			}
		}
		if err != nil || !ok {
			return nil
		}
		if fields := fieldsNamed(of.Elts, label); len(fields) > 0 {
			return fields[0].Value
		}
	case *ast.ParenExpr:
		return w.resolve(e.X)
	}
	return nil
}

// members returns the expressions of a struct: values of fields, embeddings and comprehensions.
func members(s *ast.StructLit) []ast.Expr {
	var out []ast.Expr
	for _, d := range s.Elts {
		switch d := d.(type) {
		case *ast.Field:
			out = append(out, d.Value)
		case *ast.EmbedDecl:
			out = append(out, d.Expr)
		case *ast.Comprehension:
			out = append(out, d)
		}
	}
	return out
}

// iterations estimates how often a comprehension yields its value.
func (w *weigher) iterations(c *ast.Comprehension) float64 {
	times := 1.0
	for _, clause := range c.Clauses {
		if f, ok := clause.(*ast.ForClause); ok {
			times = min(times*w.elements(f.Source), 1e100)
		}
	}
	return times
}

// elements estimates the length of a list or struct.
func (w *weigher) elements(e ast.Expr) float64 {
	switch e := e.(type) {
	case *ast.ListLit:
		return yielded(w, e.Elts)
	case *ast.StructLit:
		return yielded(w, e.Elts)
	case *ast.CallExpr:
		return w.call(e)
	case *ast.Ident, *ast.SelectorExpr:
		if of := w.resolve(e); of != nil {
			if _, again := w.weights[of]; !again {
				w.weights[of] = 0
				defer delete(w.weights, of)
				return max(1, w.elements(of))
			}
			return w.reference(of)
		}
	case *ast.ParenExpr:
		return w.elements(e.X)
	}
	return 1
}

// yielded counts the parts of a list or struct. A comprehension counts as its results.
func yielded[N ast.Node](w *weigher, parts []N) (n float64) {
	for _, part := range parts {
		if c, ok := ast.Node(part).(*ast.Comprehension); ok {
			n += w.weigh(c)
		} else {
			n++
		}
	}
	return n
}
