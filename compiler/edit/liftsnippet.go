package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// A branch is a field to insert.
type branch struct {
	label     string // as in the file that the field comes from
	key       string
	below     []*branch
	value     string // formatted text of a value; empty for a struct
	isSpaced  bool   // whether a blank line is before the field
	isOneLine bool   // whether the struct is written in one line
	comment
}

// branchOf returns the fields of moves to one layer as a tree, with the labels and the form of
// the files that set them.
func branchOf(moves []*liftMove, comments comments) (*branch, error) {
	top := &branch{}
	for _, m := range moves {
		from, placed := m.origin()
		value, err := format.Node(placed.field.Value)
		if err != nil {
			return nil, err
		}
		path := m.to.filePath(m.path)
		chain := fieldsTo(placed.file.parsed.Decls, from.filePath(m.path), func(f *ast.Field) bool { return f == placed.field })
		at := top
		for i, key := range path {
			at = at.child(key)
			if at.label == "" && i < len(chain) {
				at.take(chain[i], key)
				if isLayerName := i == prefixLength && path[prefixLength-1] == defaultsField; !isLayerName {
					at.comment = comments.get(settingPath(path[:i+1]))
				}
			}
		}
		at.value = string(bytes.TrimSpace(value))
		for _, text := range m.innerComments(value) {
			at.above = append(slices.Clone(at.above), text)
		}
	}
	return top, nil
}

// origin returns the layer and the field whose text is moved: the first with most comments
// inside of the value.
func (m *liftMove) origin() (*layer, literalField) {
	var from *layer
	var best literalField
	most := -1
	for _, l := range m.from {
		for _, p := range l.settings.get(m.path).literals {
			if n := len(commentsIn(p.field.Value)); n > most {
				from, best, most = l, p, n
			}
		}
	}
	return from, best
}

// innerComments returns the comments inside of the values of all files that are not in a text.
func (m *liftMove) innerComments(text []byte) []string {
	var out []string
	for _, l := range m.from {
		for _, p := range l.settings.get(m.path).literals {
			for _, c := range commentsIn(p.field.Value) {
				if !bytes.Contains(text, []byte(c)) && !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// commentsIn returns the lines of comments inside of an expression.
func commentsIn(e ast.Expr) []string {
	var out []string
	ast.Walk(e, func(n ast.Node) bool {
		for _, g := range ast.Comments(n) {
			for _, c := range g.List {
				out = append(out, c.Text)
			}
		}
		return true
	}, nil)
	return out
}

// child returns the branch of a key, and adds it if there is none.
func (b *branch) child(key string) *branch {
	i := slices.IndexFunc(b.below, func(c *branch) bool { return c.key == key })
	if i >= 0 {
		return b.below[i]
	}
	c := &branch{key: key}
	b.below = append(b.below, c)
	return c
}

// take gives the branch the form of a field.
func (b *branch) take(f *ast.Field, key string) {
	b.label = labelText(f.Label, key)
	first := f.Pos()
	for _, g := range ast.Comments(f) {
		if g.Pos().Offset() < first.Offset() {
			first = g.Pos()
		}
	}
	b.isSpaced = first.RelPos() == token.NewSection
	for _, lit := range structsIn(f.Value) {
		if lit.Lbrace.IsValid() {
			b.isOneLine = lit.Lbrace.Line() == lit.Rbrace.Line()
		}
	}
}

// labelText returns a label with a key, in quotes if the label is in quotes or must be.
func labelText(label ast.Label, key string) string {
	if lit, ok := label.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"`) || ast.StringLabelNeedsQuoting(key) {
		return literal.Label.Quote(key)
	}
	return key
}

// text returns the field as text, with a tab before each line inside of it for each level.
// extra are comments above it from fields that are not written.
func (b *branch) text(extra []string) string {
	var out strings.Builder
	for _, group := range slices.Concat(extra, b.chainComments()) {
		out.WriteString(group + "\n")
	}
	out.WriteString(b.chain())
	return out.String()
}

// chainComments returns the comments above the fields of a chain.
func (b *branch) chainComments() []string {
	if b.isChain() {
		return slices.Concat(b.above, b.below[0].chainComments())
	}
	return b.above
}

// isChain reports whether the field is written as key: key: value.
func (b *branch) isChain() bool { return len(b.below) == 1 }

// chain returns the field without comments above it.
func (b *branch) chain() string {
	after := ""
	if b.after != "" {
		after = " " + b.after
	}
	switch {
	case b.isChain():
		return b.label + ": " + b.below[0].chain() + after
	case len(b.below) == 0:
		return b.label + ": " + b.value + after
	case b.isOneLine:
		if line := b.oneLine(); line != "" {
			return line + after
		}
	}
	var out strings.Builder
	out.WriteString(b.label + ": {\n")
	for i, c := range b.below {
		if c.isSpaced && i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(indented(c.text(nil), "\t") + "\n")
	}
	return out.String() + "}" + after
}

// oneLine returns the field in one line; "" if it does not fit.
func (b *branch) oneLine() string {
	const most = 100
	if len(b.below) == 0 || b.isChain() {
		if line := b.chain(); !strings.Contains(line, "\n") && b.after == "" && len(b.chainComments()) == 0 {
			return line
		}
		return ""
	}
	var parts []string
	for _, c := range b.below {
		line := c.oneLine()
		if line == "" || len(c.above) > 0 || c.after != "" {
			return ""
		}
		parts = append(parts, line)
	}
	if line := fmt.Sprintf("%s: {%s}", b.label, strings.Join(parts, ", ")); len(line) <= most {
		return line
	}
	return ""
}

// indented returns a text with an indentation before each line that is not empty.
func indented(text, indent string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			out.WriteString(indent)
		}
		out.WriteString(line)
	}
	return out.String()
}
