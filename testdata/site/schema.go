package main

import (
	"fmt"
	"io/fs"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"github.com/fleetc/fleetc"
)

// schemaReference returns the page that describes each definition and field of the schema with
// its comment. Definitions are in the order of the files, the top-level fields of a fleet first.
func schemaReference() (string, error) {
	var r reference
	r.page.WriteString("---\noutline: 2\n---\n\n# Schema\n\n" +
		"This page has every field of the schema with its type and its comment. " +
		"The fields that the layers of a cluster can set come first.\n\n")
	files, err := fs.Glob(fleetc.Schema, "*.cue")
	if err != nil {
		return "", err
	}
	for _, name := range append([]string{"config.cue"}, files...) {
		if name == "config.cue" && strings.Contains(r.page.String(), "## #Config\n") {
			continue
		}
		text, err := fs.ReadFile(fleetc.Schema, name)
		if err != nil {
			return "", err
		}
		f, err := parser.ParseFile(name, text, parser.ParseComments)
		if err != nil {
			return "", err
		}
		for _, d := range f.Decls {
			if field, ok := d.(*ast.Field); ok {
				if err := r.definition(field); err != nil {
					return "", err
				}
			}
		}
	}
	return r.page.String(), nil
}

// A reference is the page while it is written.
type reference struct{ page strings.Builder }

// definition writes a definition and its fields.
func (r *reference) definition(f *ast.Field) error {
	name, _, err := ast.LabelName(f.Label)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "_") {
		return nil // hidden fields are not for users
	}
	fmt.Fprintf(&r.page, "## %s\n\n", name)
	return r.body(name, f)
}

// body writes the comment, the type and the fields of a field.
func (r *reference) body(path string, f *ast.Field) error {
	r.comment(f)
	var fields []ast.Decl
	if s, ok := f.Value.(*ast.StructLit); ok && hasNamedFields(s) {
		fields = s.Elts
	} else if err := r.valueType(f); err != nil {
		return err
	}
	for _, d := range fields {
		switch d := d.(type) {
		case *ast.EmbedDecl:
			fmt.Fprintf(&r.page, "It also has the fields of %s.\n\n", links(d.Expr))
		case *ast.Field:
			if err := r.field(path, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// field writes a field of a definition.
func (r *reference) field(parent string, f *ast.Field) error {
	name, _, err := ast.LabelName(f.Label)
	if err != nil { // a pattern
		label, err := format.Node(f.Label)
		if err != nil {
			return err
		}
		name = string(label)
	}
	if strings.HasPrefix(name, "_") {
		return nil
	}
	path := parent + "." + name
	fmt.Fprintf(&r.page, "### `%s`\n\n", path)
	if f.Constraint.String() == "!" {
		r.page.WriteString("Required. ")
	}
	return r.body(path, f)
}

// hasNamedFields reports whether a struct has fields that the page lists one by one.
func hasNamedFields(s *ast.StructLit) bool {
	for _, d := range s.Elts {
		if f, ok := d.(*ast.Field); ok {
			if _, _, err := ast.LabelName(f.Label); err == nil {
				return true
			}
		}
	}
	return false
}

// comment writes the comment of a field. Indented lines are examples.
func (r *reference) comment(f *ast.Field) {
	var text strings.Builder
	for _, group := range ast.Comments(f) {
		if group.Doc {
			text.WriteString(group.Text())
		}
	}
	example := false
	for line := range strings.Lines(text.String()) {
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ")
		if !indented && example && strings.TrimSpace(line) == "" {
			continue
		}
		if indented != example {
			r.page.WriteString(map[bool]string{true: "```cue\n", false: "```\n\n"}[indented])
		}
		if example = indented; example {
			r.page.WriteString(strings.TrimPrefix(line, "\t"))
			continue
		}
		r.page.WriteString(escape(line))
	}
	if example {
		r.page.WriteString("```\n")
	}
	r.page.WriteString("\n")
}

// valueType writes the type of a field, with links to its definitions.
func (r *reference) valueType(f *ast.Field) error {
	text, err := format.Node(f.Value, format.Simplify())
	if err != nil {
		return err
	}
	fmt.Fprintf(&r.page, "```cue\n%s\n```\n\n", strings.TrimSpace(string(text)))
	if found := links(f.Value); found != "" {
		fmt.Fprintf(&r.page, "See %s.\n\n", found)
	}
	return nil
}

// links returns links to the definitions in an expression.
func links(e ast.Node) string {
	var out []string
	ast.Walk(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "#") {
			link := fmt.Sprintf("[%s](#%s)", id.Name, strings.ToLower(strings.TrimPrefix(id.Name, "#")))
			if !strings.Contains(strings.Join(out, " "), link) {
				out = append(out, link)
			}
		}
		return true
	}, nil)
	return strings.Join(out, ", ")
}

// escape makes Markdown show text outside of code as it is.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("*", `\*`, "_", `\_`, "[", `\[`, "<", `\<`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
