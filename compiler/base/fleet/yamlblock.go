package fleet

import (
	"strings"
	"unicode/utf8"
)

const (
	maxDepth = 100  // nested maps and lists
	maxKey   = 1000 // bytes of a key in the source text
)

// DecodeYAML decodes a YAML document like Kubernetes' libraries: maps have string
// keys, integers are int64 and other numbers float64. ok is false if the
// document is not in the subset, or invalid.
func DecodeYAML(text string) (v any, ok bool) {
	if !clean(text) {
		return nil, false
	}
	d := &decoder{text: text}
	d.advance()
	if d.bad || d.over {
		return nil, !d.bad // empty document
	}
	v, ok = d.node(0)
	return v, ok && !d.bad && d.over
}

// clean reports whether all characters are plain text in every context.
func clean(text string) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		const lineSeparator, paragraphSeparator, mark = 0x2028, 0x2029, 0xfeff
		switch {
		case r == utf8.RuneError, r < 0xa0, r == lineSeparator, r == paragraphSeparator, r == mark, r == 0xfffe, r == 0xffff:
			return false
		}
		i += size
	}
	return true
}

// A decoder is at the start of a line with content.
type decoder struct {
	text   string
	next   int    // offset of the next line
	indent int    // indentation of the line; more inside of a list item
	line   string // without indentation and trailing blanks
	begun  bool   // whether there was a line
	over   bool   // whether there are no more lines
	bad    bool   // whether the document is not in the subset
}

// A rawLine is a line of the text.
type rawLine struct {
	indent int
	text   string // after the indentation
	end    int    // offset of the next line
	broken bool   // whether it ends in a line break
}

// raw returns the line at the offset, which must be inside of the text.
func (d *decoder) raw(at int) rawLine {
	l := rawLine{text: d.text[at:], end: len(d.text)}
	if n := strings.IndexByte(l.text, '\n'); n >= 0 {
		l.text, l.end, l.broken = l.text[:n], at+n+1, true
	}
	for l.indent < len(l.text) && l.text[l.indent] == ' ' {
		l.indent++
	}
	l.text = l.text[l.indent:]
	return l
}

// advance moves to the next line with content.
func (d *decoder) advance() {
	for d.next < len(d.text) {
		l := d.raw(d.next)
		d.next = l.end
		content := withoutBlanks(l.text)
		if content == "" || content[0] == '#' {
			continue
		}
		if l.indent == 0 && !d.begun && content == "---" {
			d.begun = true
			continue
		}
		if !d.take(l.indent, content) {
			d.bad, d.over = true, true
			return
		}
		return
	}
	d.line, d.indent, d.over = "", -1, true
}

// take starts a line, and reports whether it may be in the subset.
func (d *decoder) take(indent int, content string) bool {
	if indent == 0 && (content[0] == '%' || isMarker(content)) {
		return false
	}
	d.begun, d.indent, d.line = true, indent, content
	return strings.IndexByte(content, '\t') < 0
}

// isMarker reports whether a line may be a document marker.
func isMarker(line string) bool {
	return strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")
}

func withoutBlanks(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

func skipBlanks(s string) string {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	return s
}

// node decodes the map or list that begins with the line.
func (d *decoder) node(depth int) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	if isItem(d.line) {
		return d.list(d.indent, depth)
	}
	return d.object(d.indent, depth)
}

func isItem(line string) bool { return line == "-" || strings.HasPrefix(line, "- ") }

// object decodes a map.
func (d *decoder) object(indent, depth int) (any, bool) {
	m := map[string]any{}
	for !d.over && d.indent == indent {
		key, rest, ok := cutKey(d.line)
		if !ok {
			return nil, false
		}
		if _, again := m[key]; again {
			return nil, false
		}
		v, ok := d.value(rest, indent, depth, true)
		if !ok {
			return nil, false
		}
		m[key] = v
	}
	return m, d.indent < indent
}

// list decodes a list.
func (d *decoder) list(indent, depth int) (any, bool) {
	out := []any{}
	for !d.over && d.indent == indent && isItem(d.line) {
		rest := skipBlanks(d.line[1:])
		var v any
		ok := false
		if _, _, isMap := cutKey(rest); isMap || isItem(rest) {
			d.indent, d.line = d.indent+len(d.line)-len(rest), rest
			v, ok = d.node(depth + 1)
		} else {
			v, ok = d.value(rest, indent, depth, false)
		}
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, d.indent <= indent
}

// value decodes the value after a key or dash of a map or list with the
// indentation. The items of a list below a key may have the same indentation as
// the key.
func (d *decoder) value(rest string, indent, depth int, ofKey bool) (any, bool) {
	if rest == "" || rest[0] == '#' {
		d.advance()
		switch {
		case d.bad:
			return nil, false
		case d.indent > indent && d.isNode():
			return d.node(depth + 1)
		case d.indent > indent:
			return d.scalar(d.line, indent)
		case ofKey && d.indent == indent && isItem(d.line):
			return d.list(indent, depth+1)
		}
		return nil, true
	}
	return d.scalar(rest, indent)
}

// isNode reports whether a map or list begins with the line.
func (d *decoder) isNode() bool {
	_, _, isMap := cutKey(d.line)
	return isMap || isItem(d.line)
}

// scalar decodes a scalar, or a flow map or list, in a map or list with the
// indentation.
func (d *decoder) scalar(rest string, indent int) (any, bool) {
	var v any
	ok := false
	switch rest[0] {
	case '|':
		v, ok = d.literal(rest, indent)
	case '"', '\'':
		v, ok = d.quoted(rest, indent)
	case '[', '{':
		if v, rest, ok = cutFlow(rest); ok {
			ok = d.end(rest)
		}
	default:
		v, ok = d.plain(rest, indent)
	}
	return v, ok && !d.bad && d.indent <= indent
}

// end advances after a value that ends on the line, and reports whether only a
// comment follows it there.
func (d *decoder) end(rest string) bool {
	comment := skipBlanks(rest)
	d.advance()
	return comment == "" || len(comment) < len(rest) && comment[0] == '#'
}

// cutKey cuts the key, its colon and the following blanks off the front of a
// line.
func cutKey(line string) (key, rest string, ok bool) {
	if line == "" {
		return "", "", false
	}
	if line[0] == '"' || line[0] == '\'' {
		if key, rest, ok = cutQuoted(line); !ok {
			return "", "", false
		}
	} else {
		n := 0
		for n < len(line) && isKeyByte(line[n]) {
			n++
		}
		if n == 0 || line[0] == '-' || isMarker(line) {
			return "", "", false
		}
		rest = line[n:]
		if rest == "" || rest[0] != ':' {
			return "", "", false
		}
		v, known := resolve(line[:n])
		if key, ok = v.(string); !known || !ok {
			return "", "", false
		}
	}
	if len(line)-len(rest) > maxKey || key == "<<" || rest == "" || rest[0] != ':' || len(rest) > 1 && rest[1] != ' ' {
		return "", "", false
	}
	return key, skipBlanks(rest[1:]), true
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '-' <= c && c <= '9' || c == '_' || c == '$'
}
