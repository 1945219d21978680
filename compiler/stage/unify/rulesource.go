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

	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
)

// A rule has to leave the fleet as text. CUE can print a value by itself, but
// not every value: where a quoted label and a variable have one name, or where
// a definition refers to itself, what it prints means something else. A rule
// is therefore cut out of the files as it is written: the declarations of its
// policy, and of all that they name, file by file and package by package. What
// it reads of the cluster and the releases is final, and goes along as data.

// dataFields are the fields of a fleet that are plain data once they are final.
var dataFields = []string{"cluster", "environment", "stages", "releases"}

// A want is a name of a package that a rule needs: the whole field or, where
// it holds policies by name, one of them only.
type want struct {
	in         *build.Instance
	name, only string
}

// A cutter cuts one rule out of the files of a cluster.
type cutter struct {
	*evaluation
	in     *build.Instance
	top    map[string]cue.Value // the fields of the final value by name
	parts  map[*ast.File]*part
	data   map[string]ast.Decl   // by path
	narrow map[*ast.Ident]string // references to policies by name, of which one is needed
	texts  map[ast.Decl]string   // of whole declarations, shared by the rules of a cluster
	seen   map[want]bool
	queue  []want
}

// A part is what a rule needs of one file.
type part struct {
	in      *build.Instance
	decls   map[int][]string // by their place in the file
	imports map[string]bool  // as written
	lets    map[ast.Node]bool
}

// ruleSource returns a policy as text that means the same without the fleet: a
// txtar archive whose files are those of the fleet's package, below ./, and of
// the packages that they import, below their import paths. Its comment is the
// path of the policy, and the lines that tell where the rule is written.
func (c *cutter) ruleSource(name, lines string) string {
	c.parts, c.data = map[*ast.File]*part{}, map[string]ast.Decl{}
	c.narrow, c.seen = map[*ast.Ident]string{}, map[want]bool{}
	c.want(want{c.in, "policies", name})
	for len(c.queue) > 0 {
		w := c.queue[0]
		c.queue = c.queue[1:]
		c.cut(w)
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

func (c *cutter) want(w want) {
	if !c.seen[w] {
		c.seen[w] = true
		c.queue = append(c.queue, w)
	}
}

func (c *cutter) fileName(f *ast.File, in *build.Instance) string {
	if in == c.in {
		return "./" + strings.TrimPrefix(cuediag.Pos(c.root, f.Pos()).File, "/")
	}
	return in.ImportPath + "/" + path.Base(f.Filename)
}

// cut adds the declarations of a name, from all files of its package.
func (c *cutter) cut(w want) {
	for _, f := range w.in.Files {
		for i, d := range f.Decls {
			inner := asIs
			if w.only != "" {
				inner = func(x ast.Expr) ast.Expr { return c.policies(x, w.only) }
			}
			kept := pick([]ast.Decl{d}, w.name, inner, asIs)
			if _, isField := d.(*ast.Field); isField && len(kept) > 0 && w.only == "" {
				kept = []ast.Decl{d} // itself, whose text is known perhaps
			}
			for _, k := range kept {
				c.keep(w.in, f, i, k)
			}
		}
	}
}

// keep adds a declaration, and wants what it refers to.
func (c *cutter) keep(in *build.Instance, f *ast.File, i int, d ast.Decl) {
	p := c.parts[f]
	if p == nil {
		p = &part{in: in, decls: map[int][]string{}, imports: map[string]bool{}, lets: map[ast.Node]bool{}}
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
	uses(d, func(id *ast.Ident, chain []string) {
		switch n := id.Node.(type) {
		case *ast.ImportSpec:
			c.imported(in, p, id, n, chain)
		case *ast.LetClause:
			if j := slices.IndexFunc(f.Decls, func(d ast.Decl) bool { return d == ast.Decl(n) }); j >= 0 && !p.lets[n] {
				p.lets[n] = true
				c.keep(in, f, j, n)
			}
		default:
			if _, ofFile := id.Scope.(*ast.File); id.Node == nil || ofFile {
				c.named(in, id, chain)
			}
		}
	})
}

// imported wants what a selector takes from an imported package.
func (c *cutter) imported(in *build.Instance, p *part, id *ast.Ident, spec *ast.ImportSpec, chain []string) {
	p.imports[specText(spec)] = true
	from := instance(in, spec)
	if from == nil || len(chain) == 0 {
		return // a package of CUE's own
	}
	c.want(want{from, chain[0], c.narrow[id]})
}

// instance returns the package that the import loads; nil for one of CUE's own.
func instance(in *build.Instance, spec *ast.ImportSpec) *build.Instance {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return nil
	}
	return in.LookupImport(p)
}

// named wants a name of a package, or adds its data. Names that the package
// does not have are CUE's own.
func (c *cutter) named(in *build.Instance, id *ast.Ident, chain []string) {
	w := want{in, id.Name, c.narrow[id]}
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
	c.want(w)
}

// addData adds the value at the path when it is data, and reports whether it
// is. final says that nothing but its value counts.
func (c *cutter) addData(v cue.Value, at []string, final bool) bool {
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
			return true // with what is around it
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
	// A quoted label could not be referred to.
	c.data[key] = &ast.Field{Label: ast.NewIdent(at[0]), Value: expr}
	return true
}

// isPlain reports whether v is all that it says: concrete without a default,
// with nothing that only speaks when it is unified.
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
func (p *part) text(f *ast.File) []byte {
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

// declText returns a declaration on lines of its own.
func declText(d ast.Decl) []byte { return fileText(&ast.File{Decls: []ast.Decl{d}}) }

func fileText(f *ast.File) []byte {
	data, err := format.Node(f)
	if err != nil {
		// What cannot be printed does not compile either, and is told then.
		return fmt.Appendf(nil, "_|_ // %q\n", err)
	}
	return append(bytes.TrimRight(data, "\n"), '\n')
}

// uses calls f for every identifier in n that refers to something, with the
// names by which it is selected from: a.b["c"] is a with b and c.
func uses(n ast.Node, f func(id *ast.Ident, chain []string)) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			switch label := x.Label.(type) {
			case *ast.Ident, *ast.BasicLit:
			case *ast.Alias:
				if _, plain := label.Expr.(*ast.Ident); !plain {
					uses(label.Expr, f)
				}
			default:
				uses(label, f)
			}
			uses(x.Value, f)
			return false
		case *ast.SelectorExpr, *ast.IndexExpr:
			if id, chain := selected(x.(ast.Expr)); id != nil {
				f(id, chain)
				return false
			}
			if s, ok := x.(*ast.SelectorExpr); ok {
				uses(s.X, f) // the name behind the dot refers to nothing
				return false
			}
		case *ast.ForClause:
			uses(x.Source, f)
			return false
		case *ast.LetClause:
			uses(x.Expr, f)
			return false
		case *ast.Alias:
			uses(x.Expr, f)
			return false
		case *ast.Ident:
			f(x, nil)
		}
		return true
	}, nil)
}

// selected returns the identifier that a chain of selectors begins with, and
// the names in it; nil where the chain is another.
func selected(x ast.Expr) (*ast.Ident, []string) {
	var sel string
	var from ast.Expr
	switch x := x.(type) {
	case *ast.Ident:
		return x, nil
	case *ast.SelectorExpr:
		name, _, err := ast.LabelName(x.Sel)
		if err != nil {
			return nil, nil
		}
		sel, from = name, x.X
	case *ast.IndexExpr:
		lit, ok := x.Index.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return nil, nil
		}
		name, _, err := ast.LabelName(lit)
		if err != nil {
			return nil, nil
		}
		sel, from = name, x.X
	default:
		return nil, nil
	}
	id, chain := selected(from)
	if id == nil {
		return nil, nil
	}
	return id, append(chain, sel)
}
