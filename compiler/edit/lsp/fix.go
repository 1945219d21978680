package lsp

import (
	"path"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// fixer makes the edits of a fix in the current texts.
type fixer struct {
	c     *checker
	texts *texts
	fault *diag.Diag
	diag.Fix
}

// maxTitle limits the length of a name in the title of an action.
const maxTitle = 60

// title returns the title of the action.
func (f *fixer) title() string {
	text := diag.Visible(f.New, maxTitle)
	switch f.Kind {
	case diag.FixName, diag.FixValue, diag.FixSource:
		return "Write " + text
	case diag.FixImport:
		return `Add import "` + text + `"`
	case diag.FixWaiver:
		return "Add a waiver: " + diag.Visible(f.Path, 2*maxTitle)
	case diag.FixDefault:
		return "Move the value of the upper layer to defaults"
	case diag.FixChart:
		return "Run fleetc chart add " + diag.Visible(f.Old, maxTitle) + " again"
	}
	return ""
}

// edits returns the replacements by file. They are empty without the text to replace, and for
// a stale file: the positions of the fault are those of a text before the last changes.
func (f *fixer) edits(stale map[string]bool) map[string][]replacement {
	out := f.replacements()
	if stale[f.c.path(place(f.fault).File)] {
		return nil
	}
	for file := range out {
		if stale[file] {
			return nil
		}
	}
	return out
}

func (f *fixer) replacements() map[string][]replacement {
	file := f.c.path(place(f.fault).File)
	text := f.texts.text(file)
	var r *replacement
	switch f.Kind {
	case diag.FixName:
		r = f.name(file, text)
	case diag.FixValue:
		r = f.value(file, text)
	case diag.FixSource:
		r = f.source(text)
	case diag.FixImport:
		r = f.addImport(file, text)
	case diag.FixWaiver:
		return f.waiver()
	case diag.FixDefault:
		return f.moveDefault()
	}
	if r == nil {
		return nil
	}
	return map[string][]replacement{file: {*r}}
}

// offsetOf returns the offset of a position whose line and column, in bytes, count from 1; -1
// when the text is shorter.
func offsetOf(text string, at diag.Pos) int {
	from := 0
	for range at.Line - 1 {
		n := strings.IndexByte(text[from:], '\n')
		if n < 0 {
			return -1
		}
		from += n + 1
	}
	if from += max(at.Col, 1) - 1; from > len(text) {
		return -1
	}
	return from
}

// parse returns the syntax of a CUE file, as far as the parser can read it.
func parse(file, text string) *ast.File {
	parsed, _ := parseBroken(file, text)
	return parsed
}

// name replaces the misspelt key or text: the one at the fault, or else the nearest around
// it.
func (f *fixer) name(file, text string) *replacement {
	at := offsetOf(text, place(f.fault))
	var found ast.Node
	ast.Walk(parse(file, text), func(n ast.Node) bool {
		if _, ok := n.(*ast.File); ok {
			return true
		}
		if !n.Pos().IsValid() || n.Pos().Offset() > at || endOf(n) >= 0 && endOf(n) < at {
			return false
		}
		switch n := n.(type) {
		case *ast.Field:
			if name, _, err := ast.LabelName(n.Label); err == nil && name == f.Old {
				found = n.Label
			} else if isText(n.Value, f.Old) {
				found = n.Value
			}
		case *ast.ImportSpec:
			if isText(n.Path, f.Old) {
				found = n.Path
			}
			return false
		case *ast.BasicLit:
			if isText(n, f.Old) {
				found = n
			}
		case *ast.Ident:
			if n.Name == f.Old {
				found = n
			}
		}
		return true
	}, nil)
	if found == nil {
		return nil
	}
	from, to := found.Pos().Offset(), endOf(found)
	as := literal.String.Quote(f.New)
	if _, ok := found.(*ast.Ident); ok && !ast.StringLabelNeedsQuoting(f.New) {
		as = f.New
	}
	return &replacement{from, to, as}
}

// isText reports whether an expression is the literal of a text.
func isText(e ast.Expr, text string) bool {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return false
	}
	got, err := literal.Unquote(lit.Value)
	return err == nil && got == text
}

// value replaces the literal at the fault, or that of the field there.
func (f *fixer) value(file, text string) *replacement {
	at := offsetOf(text, place(f.fault))
	var found ast.Expr
	ast.Walk(parse(file, text), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Label.Pos().Offset() == at && isScalar(n.Value) {
				found = n.Value
			}
		case ast.Expr:
			if found == nil && n.Pos().IsValid() && n.Pos().Offset() == at && isScalar(n) {
				found = n
			}
		}
		return true
	}, nil)
	if found == nil || text[found.Pos().Offset():endOf(found)] == f.New {
		return nil
	}
	return &replacement{found.Pos().Offset(), endOf(found), f.New}
}

// isScalar reports whether an expression is a literal or a name.
func isScalar(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit, *ast.Ident:
		return true
	case *ast.UnaryExpr:
		_, ok := e.X.(*ast.BasicLit)
		return ok
	}
	return false
}

// source replaces source text at the fault, or in its line if it is there once.
func (f *fixer) source(text string) *replacement {
	at := offsetOf(text, place(f.fault))
	if at < 0 || f.Old == "" {
		return nil
	}
	if !strings.HasPrefix(text[at:], f.Old) {
		from := strings.LastIndexByte(text[:at], '\n') + 1
		line, _, _ := strings.Cut(text[from:], "\n")
		if strings.Count(line, f.Old) != 1 {
			return nil
		}
		at = from + strings.Index(line, f.Old)
	}
	return &replacement{at, at + len(f.Old), f.New}
}

// addImport adds an import below the last one, or below the package clause.
func (f *fixer) addImport(file, text string) *replacement {
	parsed := parse(file, text)
	quoted := literal.String.Quote(f.New)
	var above ast.Node
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.ImportDecl:
			if n := len(d.Specs); n > 0 && d.Lparen.IsValid() {
				return lineBelow(text, endOf(d.Specs[n-1]), "\t"+quoted+"\n")
			}
			above = d
		case *ast.Package:
			if above == nil {
				above = d
			}
		}
	}
	if above == nil {
		return nil
	}
	if _, ok := above.(*ast.Package); ok {
		return lineBelow(text, endOf(above), "\nimport "+quoted+"\n")
	}
	return lineBelow(text, endOf(above), "import "+quoted+"\n")
}

// lineBelow inserts lines below the line of an offset.
func lineBelow(text string, at int, lines string) *replacement {
	if at < 0 {
		return nil
	}
	n := strings.IndexByte(text[at:], '\n')
	if n < 0 {
		return &replacement{len(text), len(text), "\n" + lines}
	}
	return &replacement{at + n + 1, at + n + 1, lines}
}

// waiver sets the field of the waiver in the layer of the fault.
func (f *fixer) waiver() map[string][]replacement {
	keys, isPath := fleet.ParseField(f.Path)
	layer, ok := f.layer(place(f.fault))
	if !ok || !isPath || len(keys) < 2 { //nolint:mnd // SetValue needs two keys
		return nil
	}
	edits, _ := f.c.s.edits(f.c.root)
	file, err := load.SetValue(f.c.root, layer, keys, f.New, edits)
	if err != nil {
		return nil
	}
	full := f.c.path(file)
	return map[string][]replacement{full: {difference(f.texts.text(full), string(edits[file]))}}
}

// layer returns the layer of the file of a position.
func (f *fixer) layer(at diag.Pos) (fleet.Layer, bool) {
	layers, _ := load.Layers(f.c.root)
	for _, l := range layers {
		if l.Dir == path.Dir(at.File) {
			return l.Layer, true
		}
	}
	return fleet.Layer{}, false
}
