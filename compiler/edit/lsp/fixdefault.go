package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// moveDefault moves the value that the highest layer sets from values to defaults, so that
// lower layers may change it.
func (f *fixer) moveDefault() map[string][]replacement {
	var at diag.Pos
	var highest fleet.Layer
	layers := map[string]bool{}
	for _, p := range f.fault.At {
		l, ok := f.layer(p)
		if !ok || filepath.Ext(p.File) != ".cue" {
			continue
		}
		layers[l.Dir] = true
		if highest.Dir == "" || strings.Count(l.Dir, "/") < strings.Count(highest.Dir, "/") {
			at, highest = p, l
		}
	}
	if len(layers) < 2 { //nolint:mnd // the lines of one layer would conflict in defaults too
		return nil
	}
	file := f.c.path(at.File)
	text := f.texts.text(file)
	m := valueMove{text: text, layer: highest.Name}
	if !m.find(parse(file, text).Decls, offsetOf(text, at), nil) {
		return nil
	}
	return map[string][]replacement{file: m.replacements()}
}

// valueMove moves a value of a release to the defaults of its layer, in one file.
type valueMove struct {
	text, layer string
	fields      []chainField // from the field releases to the value
}

// chainField is a field with the declarations beside it.
type chainField struct {
	*ast.Field
	key    string
	beside []ast.Decl
	braces bool // whether the field is in braces
}

// moveDepth is the index of the field values in the path of a value.
const moveDepth = 2

// find finds the fields that lead to the value at an offset: that of the value, or that of
// its label. It reports whether the value can be moved.
func (m *valueMove) find(decls []ast.Decl, at int, in *ast.StructLit) bool {
	for _, d := range decls {
		field, ok := d.(*ast.Field)
		if !ok || field.Pos().Offset() > at || endOf(field) < at {
			continue
		}
		key, _, err := ast.LabelName(field.Label)
		if err != nil || field.Constraint != 0 || field.Alias != nil {
			return false
		}
		m.fields = append(m.fields, chainField{field, key, decls, in != nil && in.Lbrace.IsValid()})
		n := len(m.fields)
		if field.Label.Pos().Offset() == at || field.Value.Pos().Offset() == at {
			s, isStruct := field.Value.(*ast.StructLit)
			for isStruct && !s.Lbrace.IsValid() && len(s.Elts) == 1 && n <= moveDepth { // at the label of a chain
				return m.find(s.Elts, s.Elts[0].Pos().Offset(), s)
			}
			return n > moveDepth+1 && m.fields[0].key == "releases" && m.fields[moveDepth].key == "values"
		}
		s, ok := field.Value.(*ast.StructLit)
		return ok && m.find(s.Elts, at, s)
	}
	return false
}

// replacements returns the replacements that move the value. A value alone in values takes
// the place of these; another one is removed, and is set in front of values.
func (m *valueMove) replacements() []replacement {
	label := "defaults: " + quotedKey(m.layer)
	values := m.fields[moveDepth]
	alone := !slices.ContainsFunc(m.fields[moveDepth+1:], func(f chainField) bool { return len(f.beside) > 1 })
	if alone {
		return []replacement{{values.Label.Pos().Offset(), endOf(values.Label), label}}
	}
	last := len(m.fields) - 1
	for len(m.fields[last].beside) == 1 {
		last--
	}
	first := moveDepth
	for first > 0 && !m.fields[first].braces {
		first--
	}
	line := ""
	for _, f := range m.fields[first:moveDepth] {
		line += quotedKey(f.key) + ": "
	}
	line += label + ": "
	for _, f := range m.fields[moveDepth+1:] {
		line += quotedKey(f.key) + ": "
	}
	innermost := m.fields[len(m.fields)-1].Field // with its attributes
	line += m.text[innermost.Value.Pos().Offset():endOf(innermost)]
	at := m.fields[first].Pos().Offset()
	indent := m.text[strings.LastIndexByte(m.text[:at], '\n')+1 : at]
	removal, comment := m.removal(m.fields[last])
	switch {
	case strings.TrimSpace(indent) != "":
		line += ", "
		removal.text = comment
	case comment != "":
		line += " " + strings.TrimSpace(comment) + "\n" + indent
	default:
		line += "\n" + indent
	}
	return []replacement{{at, at, line}, removal}
}

// quotedKey returns a key as a label.
func quotedKey(key string) string {
	if ast.StringLabelNeedsQuoting(key) {
		return literal.Label.Quote(key)
	}
	return key
}

// removal returns the replacement that removes a field: with its lines, or with one of the
// commas around it. comment is the comment behind the field that it removes too, as a line.
func (m *valueMove) removal(f chainField) (r replacement, comment string) {
	from, to := f.Pos().Offset(), endOf(f.Field)
	begin := strings.LastIndexByte(m.text[:from], '\n') + 1
	rest, _, _ := strings.Cut(m.text[to:], "\n")
	after := strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, " \t"), ","), " \t")
	switch {
	case strings.TrimSpace(m.text[begin:from]) == "" && (strings.TrimSpace(after) == "" || strings.HasPrefix(after, "//")):
		r = replacement{begin, min(to+len(rest)+1, len(m.text)), ""}
		if strings.HasPrefix(after, "//") {
			comment = m.text[begin:from] + strings.TrimRight(after, " \t\r") + "\n"
		}
		return r, comment
	case f.Field != f.beside[len(f.beside)-1]:
		return replacement{from, to + len(rest) - len(after), ""}, ""
	}
	before := strings.TrimRight(m.text[:from], " \t")
	return replacement{len(strings.TrimSuffix(before, ",")), to, ""}, ""
}
