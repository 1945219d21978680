package unify

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Rules are evaluated outside of the fleet, so they are exported as text. CUE
// cannot print every value correctly: quoted labels with the name of a
// variable and recursive definitions change their meaning. The exported text
// is therefore taken from the source files: the declarations of the policy and
// of everything they refer to, by file and package. Final data of the cluster
// and releases is added as values.

// dataFields are the fields of a fleet whose final values are plain data.
var dataFields = []string{"cluster", "environment", "stages", "releases"}

// A requirement is a name of a package that a rule needs: the whole field or, with
// only, one policy of it.
type requirement struct {
	in         *build.Instance
	name, only string
}

// A ruleExtractor extracts one rule from the files of a cluster.
type ruleExtractor struct {
	*evaluation
	in     *build.Instance
	top    map[string]cue.Value // fields of the final value, by name
	parts  map[*ast.File]*filePart
	data   map[string]ast.Decl   // by path
	narrow map[*ast.Ident]string // references to policies of which only one is needed
	texts  map[ast.Decl]string   // of whole declarations, shared by all rules of a cluster
	seen   map[requirement]bool
	queue  []requirement
}

// A filePart is the part of a file that a rule needs.
type filePart struct {
	in      *build.Instance
	decls   map[int][]string // by index in the file
	imports map[string]bool  // import specs as written
	lets    map[ast.Node]bool
}

// ruleSource returns a policy as self-contained text: a txtar archive with the
// files of the fleet's package below ./ and those of imported packages below
// their import paths. The comment is the path of the policy and the given
// position lines.
func (c *ruleExtractor) ruleSource(name, lines string) string {
	c.parts, c.data = map[*ast.File]*filePart{}, map[string]ast.Decl{}
	c.narrow, c.seen = map[*ast.Ident]string{}, map[requirement]bool{}
	c.require(requirement{c.in, "policies", name})
	for len(c.queue) > 0 {
		w := c.queue[0]
		c.queue = c.queue[1:]
		c.extract(w)
	}
	a := &txtar.Archive{Comment: []byte(cue.MakePath(cue.Str("policies"), cue.Str(name)).String() + "\n" + lines)}
	if len(c.data) > 0 {
		f := &ast.File{Decls: []ast.Decl{&ast.Package{Name: ast.NewIdent(c.in.PkgName)}}}
		for _, k := range slices.Sorted(maps.Keys(c.data)) {
			f.Decls = append(f.Decls, c.data[k])
		}
		a.Files = append(a.Files, txtar.File{Name: "./.data.cue", Data: fileText(f)})
	}
	for f, p := range c.parts {
		if len(p.decls) > 0 {
			a.Files = append(a.Files, txtar.File{Name: c.fileName(f, p.in), Data: p.text(f)})
		}
	}
	slices.SortFunc(a.Files, func(a, b txtar.File) int { return cmp.Compare(a.Name, b.Name) })
	return string(txtar.Format(a))
}

func (c *ruleExtractor) require(w requirement) {
	if !c.seen[w] {
		c.seen[w] = true
		c.queue = append(c.queue, w)
	}
}

func (c *ruleExtractor) fileName(f *ast.File, in *build.Instance) string {
	if in == c.in {
		return "./" + strings.TrimPrefix(diag.CUEPos(c.root, f.Pos()).File, "/")
	}
	return in.ImportPath + "/" + path.Base(f.Filename)
}

// extract adds the declarations of a name from all files of its package.
func (c *ruleExtractor) extract(w requirement) {
	for _, f := range w.in.Files {
		for i, d := range f.Decls {
			inner := unchanged
			if w.only != "" {
				inner = func(x ast.Expr) ast.Expr { return c.policies(x, w.only) }
			}
			kept := selectDecls([]ast.Decl{d}, w.name, inner, unchanged)
			if _, isField := d.(*ast.Field); isField && len(kept) > 0 && w.only == "" {
				kept = []ast.Decl{d} // the original, whose text may be cached
			}
			for _, k := range kept {
				c.addDecl(w.in, f, i, k)
			}
		}
	}
}

// addDecl adds a declaration and requires its references.
func (c *ruleExtractor) addDecl(in *build.Instance, f *ast.File, i int, d ast.Decl) {
	p := c.parts[f]
	if p == nil {
		p = &filePart{in: in, decls: map[int][]string{}, imports: map[string]bool{}, lets: map[ast.Node]bool{}}
		c.parts[f] = p
	}
	text, ok := c.texts[d]
	if !ok {
		text = string(declText(d))
		c.texts[d] = text
	}
	if slices.Contains(p.decls[i], text) {
		return
	}
	p.decls[i] = append(p.decls[i], text)
	walkReferences(d, func(id *ast.Ident, chain []string) {
		switch n := id.Node.(type) {
		case *ast.ImportSpec:
			c.requireImported(in, p, id, n, chain)
		case *ast.LetClause:
			if j := slices.IndexFunc(f.Decls, func(d ast.Decl) bool { return d == ast.Decl(n) }); j >= 0 && !p.lets[n] {
				p.lets[n] = true
				c.addDecl(in, f, j, n)
			}
		default:
			if _, ofFile := id.Scope.(*ast.File); id.Node == nil || ofFile {
				c.requireName(in, id, chain)
			}
		}
	})
}

// requireImported requires the name that a selector takes from an imported
// package.
func (c *ruleExtractor) requireImported(in *build.Instance, p *filePart, id *ast.Ident, spec *ast.ImportSpec, chain []string) {
	p.imports[specText(spec)] = true
	from := instance(in, spec)
	if from == nil || len(chain) == 0 {
		return // a package of CUE
	}
	c.require(requirement{from, chain[0], c.narrow[id]})
}

// instance returns the imported package, or nil for one of CUE.
func instance(in *build.Instance, spec *ast.ImportSpec) *build.Instance {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return nil
	}
	return in.LookupImport(p)
}

// requireName requires a name of a package, or adds its data. Unknown names
// are predeclared by CUE.
func (c *ruleExtractor) requireName(in *build.Instance, id *ast.Ident, chain []string) {
	w := requirement{in, id.Name, c.narrow[id]}
	v, ok := c.top[id.Name]
	switch {
	case in != c.in || !ok:
	case id.Name == "policies" && len(chain) > 0:
		w.only = chain[0]
	case id.Name != "policies":
		final := slices.Contains(dataFields, id.Name)
		for i := len(chain); i >= 0; i-- {
			if c.addData(v, append([]string{id.Name}, chain[:i]...), final) {
				return
			}
		}
	}
	c.require(w)
}

// addData adds the value at the path if it is data, and reports whether it is.
// final means that only the value matters, not constraints.
func (c *ruleExtractor) addData(v cue.Value, at []string, final bool) bool {
	for _, s := range at[1:] {
		v = v.LookupPath(cue.MakePath(cue.Str(s)))
	}
	if !v.Exists() || v.Err() != nil || strings.HasPrefix(at[0], "#") {
		return false
	}
	key := ""
	for _, s := range at {
		key += strconv.Quote(s)
		if _, ok := c.data[key]; ok {
			return true // an enclosing value is added
		}
	}
	if final && v.Validate(cue.Concrete(true)) != nil || !final && !isPlain(v) {
		return false
	}
	t := c.reader().tree(v)
	if t == nil {
		return false
	}
	maps.DeleteFunc(c.data, func(k string, _ ast.Decl) bool { return strings.HasPrefix(k, key) })
	expr := (&reader{evaluation: c.evaluation}).syntax(t)
	for _, s := range slices.Backward(at[1:]) {
		expr = &ast.StructLit{Elts: []ast.Decl{&ast.Field{Label: ast.NewString(s), Value: expr}}}
	}
	// Identifiers cannot refer to a quoted label.
	c.data[key] = &ast.Field{Label: ast.NewIdent(at[0]), Value: expr}
	return true
}

// isPlain reports whether v is concrete data without defaults and constraints.
func isPlain(v cue.Value) bool {
	switch v.IncompleteKind() {
	case cue.StructKind:
		it, err := v.Fields(cue.All())
		if err != nil || !v.Allows(cue.AnyString) || v.LookupPath(cue.MakePath(cue.AnyString)).Exists() {
			return false
		}
		for it.Next() {
			if s := it.Selector(); s.ConstraintType() != 0 || s.LabelType() != cue.StringLabel || !isPlain(it.Value()) {
				return false
			}
		}
		return true
	case cue.ListKind:
		it, err := v.List()
		if err != nil || v.Allows(cue.AnyIndex) {
			return false
		}
		for it.Next() {
			if !isPlain(it.Value()) {
				return false
			}
		}
		return v.IsConcrete()
	}
	return v.IsConcrete()
}

// text returns the part as a file.
func (p *filePart) text(f *ast.File) []byte {
	var b bytes.Buffer
	for _, d := range f.Decls {
		if a, ok := d.(*ast.Attribute); ok {
			b.Write(declText(a)) // @experiment
		}
	}
	fmt.Fprintf(&b, "package %s\n", p.in.PkgName)
	for _, i := range slices.Sorted(maps.Keys(p.imports)) {
		b.WriteString("import " + i + "\n")
	}
	for _, i := range slices.Sorted(maps.Keys(p.decls)) {
		for _, text := range p.decls[i] {
			b.WriteString(text)
		}
	}
	return b.Bytes()
}

func specText(s *ast.ImportSpec) string {
	if s.Name != nil {
		return s.Name.Name + " " + s.Path.Value
	}
	return s.Path.Value
}

// declText returns a declaration on its own lines.
func declText(d ast.Decl) []byte { return fileText(&ast.File{Decls: []ast.Decl{d}}) }

func fileText(f *ast.File) []byte {
	data, err := format.Node(f)
	if err != nil {
		// Syntax that cannot be formatted does not compile; the error appears
		// then.
		return fmt.Appendf(nil, "_|_ // %q\n", err)
	}
	return append(bytes.TrimRight(data, "\n"), '\n')
}

// walkReferences calls f for every identifier in n that is a reference, with
// the selectors on it: a.b["c"] is a with b and c.
func walkReferences(n ast.Node, f func(id *ast.Ident, chain []string)) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			switch label := x.Label.(type) {
			case *ast.Ident, *ast.BasicLit:
			case *ast.Alias:
				if _, plain := label.Expr.(*ast.Ident); !plain {
					walkReferences(label.Expr, f)
				}
			default:
				walkReferences(label, f)
			}
			walkReferences(x.Value, f)
			return false
		case *ast.SelectorExpr, *ast.IndexExpr:
			if id, chain := selectorChain(x.(ast.Expr)); id != nil {
				f(id, chain)
				return false
			}
			if s, ok := x.(*ast.SelectorExpr); ok {
				walkReferences(s.X, f) // the selected name is not a reference
				return false
			}
		case *ast.ForClause:
			walkReferences(x.Source, f)
			return false
		case *ast.LetClause:
			walkReferences(x.Expr, f)
			return false
		case *ast.Alias:
			walkReferences(x.Expr, f)
			return false
		case *ast.Ident:
			f(x, nil)
		}
		return true
	}, nil)
}

// selectorChain returns the first identifier of a chain of selectors, and the
// selected names. It returns nil for other expressions.
func selectorChain(x ast.Expr) (*ast.Ident, []string) {
	var label ast.Label
	var from ast.Expr
	switch x := x.(type) {
	case *ast.Ident:
		return x, nil
	case *ast.SelectorExpr:
		label, from = x.Sel, x.X
	case *ast.IndexExpr:
		lit, ok := x.Index.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return nil, nil
		}
		label, from = lit, x.X
	default:
		return nil, nil
	}
	name, _, err := ast.LabelName(label)
	id, chain := selectorChain(from)
	if err != nil || id == nil {
		return nil, nil
	}
	return id, append(chain, name)
}
