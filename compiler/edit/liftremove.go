package edit

import (
	"bytes"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// comments are the comments of removed fields by the key of their path in settings.
type comments map[string]*comment

// A comment is the comments of a field.
type comment struct {
	above []string // groups of lines with their markers
	after string   // at the end of the line
}

// add adds the comments of a field, each text once.
func (c comments) add(path []string, above []string, after string) {
	if len(above) == 0 && after == "" {
		return
	}
	key := strings.Join(path, "\x00")
	if c[key] == nil {
		c[key] = &comment{}
	}
	here := c[key]
	if here.after == "" {
		here.after = after
	} else if after != here.after && after != "" {
		above = append(above, after)
	}
	for _, group := range above {
		if !slices.Contains(here.above, group) {
			here.above = append(here.above, group)
		}
	}
}

// get returns the comments of a path.
func (c comments) get(path []string) comment {
	if found := c[strings.Join(path, "\x00")]; found != nil {
		return *found
	}
	return comment{}
}

// A remover removes fields from the text of a file.
type remover struct {
	text     []byte
	parsed   *ast.File
	comments comments
}

// remove removes the fields with literals at a path of a file, and the structs and chains
// around them that are then empty.
func (r *remover) remove(path []string) {
	chain := fieldsTo(r.parsed.Decls, path, func(f *ast.Field) bool { _, ok := literalOf(f.Value); return ok })
	if chain == nil {
		return
	}
	level := len(chain) - 1
	for level > 0 {
		lit := structOf(chain[level-1], chain[level])
		if len(lit.Elts) > 1 || chain[level-1].Value != ast.Expr(lit) || r.hasInnerComment(lit, chain[level]) {
			break
		}
		level--
	}
	for i := level; i < len(chain); i++ {
		r.keepComments(chain[i], path[:i+1])
	}
	if level == 0 || !r.removeOperand(chain[level-1], chain[level]) {
		r.removeField(chain[level])
	}
}

// structOf returns the struct literal of a field that contains another field.
func structOf(above, f *ast.Field) *ast.StructLit {
	for _, lit := range structsIn(above.Value) {
		if slices.Contains(lit.Elts, ast.Decl(f)) {
			return lit
		}
	}
	return nil
}

// hasInnerComment reports whether the braces of a struct contain comments that are not those
// of the field.
func (r *remover) hasInnerComment(lit *ast.StructLit, f *ast.Field) bool {
	if !lit.Lbrace.IsValid() {
		return false
	}
	from, to := r.extent(f)
	rest := slices.Concat(r.text[lit.Lbrace.Offset()+1:from], r.text[to:lit.Rbrace.Offset()])
	return len(bytes.Trim(rest, " \t\r\n,")) > 0
}

// removeOperand removes the last field of a struct with the struct itself, when the field
// above unifies it with something else: X & {f} becomes X.
func (r *remover) removeOperand(above, f *ast.Field) bool {
	e, ok := above.Value.(*ast.BinaryExpr)
	if !ok || e.Op != token.AND {
		return false
	}
	lit, ok := e.Y.(*ast.StructLit)
	if !ok || len(lit.Elts) != 1 || lit.Elts[0] != ast.Decl(f) || r.hasInnerComment(lit, f) {
		return false
	}
	r.cut(e.X.End().Offset(), lit.End().Offset())
	return true
}

// extent returns the range of a field with its comments.
func (r *remover) extent(f *ast.Field) (from, to int) {
	from, to = f.Pos().Offset(), f.End().Offset()
	for _, g := range ast.Comments(f) {
		if at := g.Pos().Offset(); at < from && r.startsLine(at) {
			from = at
		}
	}
	if rest := bytes.TrimLeft(r.text[to:], " \t"); bytes.HasPrefix(rest, []byte(",")) {
		to = len(r.text) - len(rest) + 1
	}
	for _, g := range ast.Comments(f) {
		if at := g.Pos().Offset(); at >= to && len(bytes.Trim(r.text[to:at], " \t")) == 0 {
			to = g.End().Offset()
		}
	}
	return from, to
}

// startsLine reports whether only white space is before a place in its line.
func (r *remover) startsLine(at int) bool {
	return len(bytes.TrimSpace(r.text[bytes.LastIndexByte(r.text[:at], '\n')+1:at])) == 0
}

// keepComments records the comments of a removed field. Those of a chain of fields belong to
// its last one.
func (r *remover) keepComments(f *ast.Field, path []string) {
	from, to := r.extent(f)
	var above []string
	after := ""
	for _, g := range ast.Comments(f) {
		at := g.Pos().Offset()
		switch {
		case at < from || at >= to:
		case at < f.Pos().Offset():
			above = append(above, commentText(g))
		default:
			after = commentText(g)
		}
	}
	path = slices.Clone(path)
	for at := f; ; {
		lit, ok := at.Value.(*ast.StructLit)
		if !ok || lit.Lbrace.IsValid() || len(lit.Elts) != 1 {
			break
		}
		if at, ok = lit.Elts[0].(*ast.Field); !ok {
			break
		}
		key, _ := keyOf(at)
		path = append(path, key)
	}
	r.comments.add(settingPath(path), above, after)
}

func commentText(g *ast.CommentGroup) string {
	return strings.Join(diag.Each(g.List, func(c *ast.Comment) string { return c.Text }), "\n")
}

// removeField removes a field with its comments, and the line if nothing else is in it.
func (r *remover) removeField(f *ast.Field) {
	from, to := r.extent(f)
	end := to
	for end < len(r.text) && (r.text[end] == ' ' || r.text[end] == '\t' || r.text[end] == '\r') {
		end++
	}
	endsLine := end == len(r.text) || r.text[end] == '\n'
	switch {
	case r.startsLine(from) && endsLine:
		from = bytes.LastIndexByte(r.text[:from], '\n') + 1
		to = min(end+1, len(r.text))
		if r.blankAround(from, to) {
			to = skipBlank(r.text, to)
		}
	case endsLine || r.text[end] == '}':
		// The last field of a line: its separator goes, too.
		before := bytes.TrimRight(r.text[:from], " \t")
		if trimmed := bytes.TrimSuffix(before, []byte(",")); len(trimmed) < len(before) || endsLine {
			from = len(trimmed)
		}
	default:
		to = end
	}
	r.cut(from, to)
}

// blankAround reports whether a blank line, a brace or the beginning of the file is before a
// range of lines, so that blank lines after it are not needed.
func (r *remover) blankAround(from, to int) bool {
	before := bytes.TrimRight(r.text[:from], " \t\r")
	before = bytes.TrimSuffix(before, []byte("\n"))
	before = bytes.TrimRight(before, " \t\r")
	isBlank := len(before) == 0 || before[len(before)-1] == '\n' || before[len(before)-1] == '{'
	return isBlank && skipBlank(r.text, to) > to
}

// skipBlank returns the end of the blank lines at a place.
func skipBlank(text []byte, at int) int {
	for at < len(text) {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 || len(bytes.TrimSpace(text[at:at+end])) > 0 {
			break
		}
		at += end + 1
	}
	return at
}

func (r *remover) cut(from, to int) { r.text = slices.Concat(r.text[:from], r.text[to:]) }
