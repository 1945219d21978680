package edit

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// A setting holds the fields of a layer at a path of a release's values: literals, or
// expressions that cannot be moved. Settings are a tree of keys.
type setting struct {
	key      string
	below    []*setting     // in the order of the files
	literals []literalField // literal values here, one for each field of the files
	isOther  bool           // whether a field here has another value than literals and structs
}

// A literalField is a field of a file with a literal value.
type literalField struct {
	file  *sourceFile
	field *ast.Field
	value string // canonical, equal for equal data
}

// get returns the setting at a path, nil for none.
func (s *setting) get(path []string) *setting {
	for _, key := range path {
		i := slices.IndexFunc(s.below, func(b *setting) bool { return b.key == key })
		if i < 0 {
			return nil
		}
		s = s.below[i]
	}
	return s
}

// at returns the setting at a key below, and adds it if there is none.
func (s *setting) at(key string) *setting {
	if b := s.get([]string{key}); b != nil {
		return b
	}
	b := &setting{key: key}
	s.below = append(s.below, b)
	return b
}

// literal returns the literal value of the setting. There is none if the layer sets nothing,
// different texts, or an expression here, or anything below.
func (s *setting) literal() (string, bool) {
	if s == nil || s.isOther || len(s.below) > 0 || len(s.literals) == 0 {
		return "", false
	}
	for _, l := range s.literals {
		if l.value != s.literals[0].value || l.file.isLink {
			return "", false
		}
	}
	return s.literals[0].value, true
}

// leaves calls f for the path of each setting with a literal.
func (s *setting) leaves(path []string, f func(path []string)) {
	if len(s.literals) > 0 {
		f(path)
	}
	for _, b := range s.below {
		b.leaves(append(slices.Clone(path), b.key), f)
	}
}

// Fields of a release with values, and the number of keys before those of values in
// settings: releases, the name, and one of these.
const (
	releasesField = "releases"
	valuesField   = "values"
	defaultsField = "defaults"
	prefixLength  = 3
)

// read adds the values of releases that a file of the layer sets. Defaults of other layers
// are left out, which are faults.
func (l *layer) read(file *sourceFile) {
	l.eachField(file.parsed.Decls, nil, func(path []string, f *ast.Field) {
		s := l.settings
		for _, key := range settingPath(path) {
			s = s.at(key)
		}
		value, ok := literalOf(f.Value)
		switch {
		case ok && isPlain(f):
			s.literals = append(s.literals, literalField{file, f, value})
		case !isPlain(f) || len(structsIn(f.Value)) == 0:
			s.isOther = true
		}
	})
}

// eachField calls f for each field of values that is set without a condition, with its path
// in the file.
func (l *layer) eachField(decls []ast.Decl, path []string, f func(path []string, field *ast.Field)) {
	for _, d := range decls {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		key, ok := keyOf(field)
		at := append(slices.Clone(path), key)
		if !ok || !l.leadsToValues(at) {
			continue
		}
		if len(settingPath(at)) >= prefixLength && len(at) > prefixLength {
			f(at, field)
		}
		if !isPlain(field) {
			continue
		}
		for _, lit := range structsIn(field.Value) {
			l.eachField(lit.Elts, at, f)
		}
	}
}

// leadsToValues reports whether a path in a file is above, at or below values of a release.
func (l *layer) leadsToValues(path []string) bool {
	switch len(path) {
	case 1:
		return path[0] == releasesField
	case prefixLength:
		return path[2] == valuesField || path[2] == defaultsField
	case prefixLength + 1:
		return path[2] == valuesField || path[3] == l.Name
	}
	return true
}

// settingPath returns the path in settings of a path in a file: without the name of the
// layer in defaults.
func settingPath(path []string) []string {
	if len(path) <= prefixLength || path[prefixLength-1] != defaultsField {
		return path
	}
	return slices.Delete(slices.Clone(path), prefixLength, prefixLength+1)
}

// filePath returns the path in the files of the layer of a path in settings.
func (l *layer) filePath(path []string) []string {
	if len(path) < prefixLength || path[prefixLength-1] != defaultsField {
		return path
	}
	return slices.Insert(slices.Clone(path), prefixLength, l.Name)
}

// keyOf returns the key of a regular field; not that of a pattern, a definition or a hidden
// field.
func keyOf(f *ast.Field) (string, bool) {
	name, isIdent, err := ast.LabelName(f.Label)
	if err != nil || isIdent && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#")) {
		return "", false
	}
	return name, true
}

// isPlain reports whether a field has nothing but a key and a value.
func isPlain(f *ast.Field) bool {
	return f.Constraint == token.ILLEGAL && f.Alias == nil && len(f.Attrs) == 0
}

// fieldsTo returns the fields on a path to the first field that matches, all without aliases,
// attributes and constraints; nil if there is none.
func fieldsTo(decls []ast.Decl, path []string, matches func(f *ast.Field) bool) []*ast.Field {
	for _, d := range decls {
		f, ok := d.(*ast.Field)
		if !ok || !isPlain(f) {
			continue
		}
		if key, ok := keyOf(f); !ok || key != path[0] {
			continue
		}
		if len(path) == 1 {
			if matches(f) {
				return []*ast.Field{f}
			}
			continue
		}
		for _, lit := range structsIn(f.Value) {
			if found := fieldsTo(lit.Elts, path[1:], matches); found != nil {
				return append([]*ast.Field{f}, found...)
			}
		}
	}
	return nil
}

// structsIn returns the struct literals that an expression unifies.
func structsIn(e ast.Expr) []*ast.StructLit {
	var out []*ast.StructLit
	for _, operand := range operands(e) {
		if lit, ok := operand.(*ast.StructLit); ok {
			out = append(out, lit)
		}
	}
	return out
}

// operands returns the expressions that an expression unifies.
func operands(e ast.Expr) []ast.Expr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return operands(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.AND {
			return slices.Concat(operands(e.X), operands(e.Y))
		}
	}
	return []ast.Expr{e}
}

// literalOf returns the canonical text of a literal scalar, a list of literals, or an empty
// struct.
func literalOf(e ast.Expr) (string, bool) {
	if lit, ok := e.(*ast.StructLit); ok && len(lit.Elts) > 0 {
		return "", false
	}
	return dataOf(e)
}

// dataOf returns the canonical text of literal data.
func dataOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return scalarOf(e)
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.BasicLit)
		if !ok || e.Op != token.SUB || lit.Kind != token.INT && lit.Kind != token.FLOAT {
			return "", false
		}
		text, ok := scalarOf(lit)
		return "-" + text, ok
	case *ast.ListLit:
		var parts []string
		for _, x := range e.Elts {
			text, ok := dataOf(x)
			if !ok {
				return "", false
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ",") + "]", true
	case *ast.StructLit:
		var parts []string
		for _, d := range e.Elts {
			f, ok := d.(*ast.Field)
			if !ok || !isPlain(f) {
				return "", false
			}
			key, ok := keyOf(f)
			text, ok2 := dataOf(f.Value)
			if !ok || !ok2 {
				return "", false
			}
			parts = append(parts, fmt.Sprintf("%q:%s", key, text))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}", true
	}
	return "", false
}

// scalarOf returns the canonical text of a literal scalar.
func scalarOf(lit *ast.BasicLit) (string, bool) {
	switch lit.Kind {
	case token.NULL, token.TRUE, token.FALSE:
		return lit.Value, true
	case token.INT, token.FLOAT:
		var n literal.NumInfo
		if literal.ParseNum(lit.Value, &n) != nil {
			return "", false
		}
		return n.String(), true
	case token.STRING:
		text, err := literal.Unquote(lit.Value)
		return fmt.Sprintf("%q", text), err == nil && strings.HasSuffix(strings.TrimRight(lit.Value, "#"), `"`)
	}
	return "", false
}
