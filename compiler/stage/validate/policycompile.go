package validate

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A form is the form of a rule.
type form int

const (
	ofNothing form = iota // the rule is invalid
	ofObject
	ofViolations
)

// A compiledRule is a rule in the CUE context of an engine.
type compiledRule struct {
	policy cue.Value
	form   form
	fault  string
	kinds  []string            // kinds that the rule selects from objects
	lines  map[string]diag.Pos // positions of the fields of the rule, by path
}

// compile compiles the source of a rule: CUE with the field object, or objects
// and violations. The source is a file, or a txtar archive of packages whose
// comment begins with the path of the policy in the package ./, followed by
// lines with the positions of its fields.
func compile(cctx *cue.Context, source string) *compiledRule {
	c := &compiledRule{lines: map[string]diag.Pos{}}
	a := txtar.Parse([]byte(source))
	var at cue.Path
	if len(a.Files) == 0 {
		a.Files = []txtar.File{{Name: "./rule.cue", Data: a.Comment}}
	} else {
		head, lines, _ := strings.Cut(string(a.Comment), "\n")
		at = cue.ParsePath(head)
		c.readLines(lines)
	}
	packages := map[string][]*ast.File{}
	for _, f := range a.Files {
		parsed, err := parser.ParseFile(f.Name, f.Data)
		if err != nil {
			c.fault = first(err)
			return c
		}
		c.noteKinds(parsed)
		packages[path.Dir(f.Name)] = append(packages[path.Dir(f.Name)], parsed)
	}
	var main []*ast.File
	imported := map[string][]*ast.File{}
	for dir, files := range packages {
		if strings.HasPrefix(files[0].Filename, "./") {
			main = append(main, files...)
		} else {
			imported[importKey(dir)] = files
		}
	}
	slices.SortFunc(main, func(a, b *ast.File) int { return strings.Compare(a.Filename, b.Filename) })
	c.build(cctx, main, imported, at)
	return c
}

// build evaluates the packages of the rule and looks up its policy.
func (c *compiledRule) build(cctx *cue.Context, main []*ast.File, imported map[string][]*ast.File, at cue.Path) {
	var bctx *build.Context
	bctx = build.NewContext(build.Loader(func(_ token.Pos, p string) *build.Instance {
		files := imported[importKey(p)]
		if files == nil {
			return nil // a package of CUE's standard library
		}
		in := bctx.NewInstance(p, nil)
		addAll(in, files)
		return in
	}))
	in := bctx.NewInstance("", nil)
	addAll(in, main)
	all := cctx.BuildInstance(in)
	if err := in.Err; err != nil {
		c.fault = first(err)
		return
	}
	c.policy = all.LookupPath(at)
	object, violations := c.policy.LookupPath(cue.MakePath(cue.Str("object"))), c.policy.LookupPath(cue.MakePath(cue.Str("violations")))
	switch {
	case object.Exists() && !violations.Exists():
		c.form = ofObject
		if err := object.Validate(); err != nil {
			c.form, c.fault = ofNothing, first(err)
		}
	case violations.Exists() && !object.Exists():
		c.form = ofViolations
	case all.Err() != nil:
		c.fault = first(all.Err())
	default:
		c.fault = "it must have exactly one of object and violations"
	}
}

// addAll adds the files of a package and completes it. The package keeps its
// errors.
func addAll(in *build.Instance, files []*ast.File) {
	for _, f := range files {
		if err := in.AddSyntax(f); err != nil {
			return
		}
	}
	_ = in.Complete() // sets in.Err
}

// importKey returns an import path without the version and with the name of the
// package, since it has several notations.
func importKey(p string) string {
	ip := ast.ParseImportPath(p)
	return ip.Path + ":" + ip.Qualifier
}

// readLines reads the positions of the rule's fields.
func (c *compiledRule) readLines(text string) {
	for line := range strings.Lines(text) {
		field, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		parts := strings.Split(at, ":")
		if len(parts) < 3 {
			continue
		}
		n := len(parts)
		row, err1 := strconv.Atoi(parts[n-2])
		col, err2 := strconv.Atoi(parts[n-1])
		if err1 == nil && err2 == nil {
			c.lines[field] = diag.Pos{File: strings.Join(parts[:n-2], ":"), Line: row, Col: col}
		}
	}
}

// noteKinds records the kinds that a file selects from objects: they must exist in
// the evaluation.
func (c *compiledRule) noteKinds(f *ast.File) {
	note := func(x ast.Expr, label ast.Node) {
		id, ok := x.(*ast.Ident)
		l, isLabel := label.(ast.Label)
		if !ok || !isLabel || id.Name != "objects" {
			return
		}
		if name, _, err := ast.LabelName(l); err == nil {
			c.kinds = append(c.kinds, name)
		}
	}
	ast.Walk(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			note(n.X, n.Sel)
		case *ast.IndexExpr:
			note(n.X, n.Index)
		}
		return true
	}, nil)
}
