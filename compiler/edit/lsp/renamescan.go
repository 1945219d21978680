package lsp

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// scan collects the mentions of the name in all files of the fleet. The texts of open files
// are those of the editor.
func (r *renamer) scan() error {
	return filepath.WalkDir(r.root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "cue.mod" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if filepath.Ext(file) != ".cue" || !d.Type().IsRegular() {
			return nil
		}
		r.file, r.text = file, r.texts.text(file)
		if !strings.Contains(r.text, r.before) && r.kind != namedRelease && r.kind != namedLayer {
			return nil
		}
		parsed := parse(file, r.text)
		r.decls(parsed.Decls, nil)
		for spec := range parsed.ImportSpecs() {
			if name, err := literal.Unquote(spec.Path.Value); err == nil && r.kind == namedLayer {
				r.layerText(spec.Path, name, false)
			}
		}
		if r.kind != namedStage {
			r.references(parsed)
		}
		slices.SortFunc(r.edits[file], func(a, b replacement) int { return a.from - b.from })
		return nil
	})
}

// pos returns the position of a node.
func (r *renamer) pos(n ast.Node) diag.Pos {
	return diag.Pos{File: r.rel(r.file), Line: n.Pos().Line(), Col: n.Pos().Column()}
}

// replace replaces a label or a text by a name, in quotes if it has or needs them.
func (r *renamer) replace(n ast.Node, name string) {
	as := name
	if _, ok := n.(*ast.BasicLit); ok {
		as = literal.String.Quote(name)
	} else if ast.StringLabelNeedsQuoting(name) {
		as = literal.Label.Quote(name)
	}
	r.edits[r.file] = append(r.edits[r.file], replacement{n.Pos().Offset(), endOf(n), as})
}

// decls reads declarations below a path.
func (r *renamer) decls(decls []ast.Decl, at []string) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			r.label(d.Label, at)
			key, _, err := ast.LabelName(d.Label)
			if err != nil {
				key = "[]"
			}
			r.expr(d.Value, append(slices.Clone(at), key))
		case *ast.EmbedDecl:
			r.expr(d.Expr, at)
		case *ast.Comprehension:
			r.expr(d.Value, at)
		case *ast.LetClause:
			r.expr(d.Expr, []string{"let"})
		}
	}
}

// label replaces a label that is the name.
func (r *renamer) label(l ast.Label, at []string) {
	key, _, err := ast.LabelName(l)
	_, isPattern := l.(*ast.ListLit)
	p := append(slices.Clone(at), key)
	switch {
	case err != nil && !isPattern && r.isNameOf(append(slices.Clone(at), r.before)):
		r.computed = append(r.computed, r.pos(l))
	case err == nil && key == r.before && r.isNameOf(p):
		r.replace(l, r.after)
	}
}

// isNameOf reports whether a label at a path is a name of the renamed kind.
func (r *renamer) isNameOf(p []string) bool {
	switch r.kind {
	case namedRelease:
		return len(p) == 2 && p[0] == "releases" || isDepends(p)
	case namedLayer:
		return isLayerLabel(p) && r.isInLayer(p[2])
	}
	return false
}

// expr reads an expression that is the value at a path.
func (r *renamer) expr(e ast.Expr, at []string) {
	switch e := e.(type) {
	case *ast.StructLit:
		r.decls(e.Elts, at)
	case *ast.ListLit:
		for i, elem := range e.Elts {
			r.expr(elem, append(slices.Clone(at), strconv.Itoa(i)))
		}
	case *ast.BinaryExpr:
		r.expr(e.X, at)
		r.expr(e.Y, at)
	case *ast.UnaryExpr:
		r.expr(e.X, at)
	case *ast.ParenExpr:
		r.expr(e.X, at)
	case *ast.Comprehension:
		r.expr(e.Value, at)
	case *ast.BasicLit:
		if text, err := literal.Unquote(e.Value); err == nil {
			r.value(e, text, at)
		}
	case *ast.Interpolation, *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr:
		if r.isMention(at) || len(at) > 0 && r.isMention(append(slices.Clone(at), "0")) {
			r.computed = append(r.computed, r.pos(e))
		}
	}
}

// isMention reports whether the text at a path is a name of the renamed kind, or a pattern.
func (r *renamer) isMention(at []string) bool {
	switch r.kind {
	case namedRelease:
		return isReleaseList(at)
	case namedStage:
		return isStage(at)
	case namedLayer:
		n := len(at)
		return n >= 2 && (at[n-2] == "ids" && isSelector(at, n-2) || at[n-2] == "between")
	}
	return false
}

// value replaces a text that is the name.
func (r *renamer) value(lit *ast.BasicLit, text string, at []string) {
	switch {
	case r.kind == namedLayer:
		r.layerText(lit, text, r.isMention(at))
	case !r.isMention(at):
	case text == r.before:
		r.replace(lit, r.after)
	case r.kind == namedRelease:
		pattern := text
		if isAllowed(at) {
			pattern, _, _ = strings.Cut(text, ".")
		}
		switch {
		case pattern == r.before:
			r.replace(lit, r.after+text[len(pattern):])
		case fleet.PathPattern{pattern}.Matches(r.before) != fleet.PathPattern{pattern}.Matches(r.after):
			r.patterns = append(r.patterns, r.pos(lit))
		}
	}
}
