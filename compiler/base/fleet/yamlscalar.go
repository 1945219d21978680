package fleet

import (
	"math"
	"strconv"
	"strings"

	goyaml "sigs.k8s.io/yaml/goyaml.v2"
)

// cutQuoted cuts a quoted scalar that ends on the line off the front.
func cutQuoted(line string) (v, rest string, ok bool) {
	inner, rest, ok := cutQuote(line[1:], line[0])
	if !ok {
		return "", "", false
	}
	v, ok = unescaped(inner, line[0])
	return v, rest, ok
}

// cutQuote cuts the text up to its closing quote off the front.
func cutQuote(text string, quote byte) (inner, rest string, ok bool) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// unescaped decodes a quoted text. It supports the most common escapes.
func unescaped(text string, quote byte) (string, bool) {
	if quote == '\'' {
		return strings.ReplaceAll(text, "''", "'"), true
	}
	if strings.IndexByte(text, '\\') < 0 {
		return text, true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			i++
			if i == len(text) {
				return "", false
			}
			n := strings.IndexByte(`"\nt `, text[i])
			if n < 0 {
				return "", false
			}
			c = "\"\\\n\t "[n]
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// quoted decodes a quoted scalar, which may continue on lines with more
// indentation.
func (d *decoder) quoted(line string, indent int) (any, bool) {
	quote := line[0]
	inner, rest, ok := cutQuote(line[1:], quote)
	if ok {
		v, ok := unescaped(inner, quote)
		return v, ok && d.end(rest)
	}
	var b strings.Builder
	inner, joined, ok := d.cutEscapedBreak(line[1:], quote)
	b.WriteString(inner)
	breaks := 0
	for ok && d.next < len(d.text) {
		l := d.raw(d.next)
		content := withoutBlanks(l.text)
		if d.next = l.end; content == "" {
			breaks++
			continue
		}
		if l.indent <= indent || strings.IndexByte(content, '\t') >= 0 {
			return nil, false
		}
		if breaks > 0 || !joined {
			fold(&b, &breaks)
		}
		if inner, rest, ok := cutQuote(content, quote); ok {
			b.WriteString(inner)
			v, ok := unescaped(b.String(), quote)
			return v, ok && d.end(rest)
		}
		inner, joined, ok = d.cutEscapedBreak(content, quote)
		b.WriteString(inner)
	}
	return nil, false
}

// cutEscapedBreak cuts the backslash off the end of the line before the next one, which
// joins the lines without a space. ok is false if an escaped blank is at the end.
func (d *decoder) cutEscapedBreak(line string, quote byte) (inner string, joined, ok bool) {
	inner = strings.TrimRight(line, `\`)
	if quote == '\'' || (len(line)-len(inner))%2 == 0 {
		return line, false, true
	}
	return line[:len(line)-1], true, strings.HasSuffix(d.text[:d.next], "\\\n")
}

// fold writes the folded form of a line break and the blank lines after it.
func fold(b *strings.Builder, blanks *int) {
	if *blanks == 0 {
		b.WriteByte(' ')
	}
	for ; *blanks > 0; *blanks-- {
		b.WriteByte('\n')
	}
}

// cutFlow cuts an empty map, or a list of simple scalars, off the front of a
// line.
func cutFlow(line string) (v any, rest string, ok bool) {
	if rest, ok := strings.CutPrefix(line, "{}"); ok {
		return map[string]any{}, rest, true
	}
	if rest, ok := strings.CutPrefix(line, "[]"); ok {
		return []any{}, rest, true
	}
	out := []any{}
	for rest = line; len(rest) > 1 && (rest[0] == ',' || rest[0] == '[' && len(out) == 0); {
		rest = skipBlanks(rest[1:])
		var v any
		if v, rest, ok = cutFlowScalar(rest); !ok {
			return nil, "", false
		}
		out = append(out, v)
		if rest = skipBlanks(rest); strings.HasPrefix(rest, "]") {
			return out, rest[1:], true
		}
	}
	return nil, "", false
}

func cutFlowScalar(line string) (v any, rest string, ok bool) {
	if line == "" {
		return nil, "", false
	}
	if line[0] == '"' || line[0] == '\'' {
		return cutQuoted(line)
	}
	n := 0
	for n < len(line) && isKeyByte(line[n]) {
		n++
	}
	if n == 0 || line[0] == '-' || isMarker(line) {
		return nil, "", false
	}
	v, ok = resolve(line[:n])
	return v, line[n:], ok
}

// literal decodes the lines after a bar.
func (d *decoder) literal(header string, indent int) (any, bool) {
	if header != "|" && header != "|-" && header != "|+" {
		return nil, false
	}
	begin, ok := d.begin(indent)
	if !ok {
		return nil, false
	}
	var b strings.Builder
	breaks := 0 // that were met and not written
	for d.next < len(d.text) {
		l := d.raw(d.next)
		if l.text != "" && l.indent < begin {
			break
		}
		if !l.broken {
			return nil, false
		}
		if l.text != "" || l.indent > begin {
			for ; breaks > 0; breaks-- {
				b.WriteByte('\n')
			}
			b.WriteString(d.text[d.next+begin : l.end-1])
		}
		breaks++
		d.next = l.end
	}
	switch header {
	case "|":
		breaks = 1
	case "|-":
		breaks = 0
	}
	for ; breaks > 0; breaks-- {
		b.WriteByte('\n')
	}
	d.advance()
	return b.String(), true
}

// begin returns the indentation of the lines after a bar: that of the first
// line that is not blank.
func (d *decoder) begin(indent int) (int, bool) {
	blanks := 0
	for at := d.next; at < len(d.text); {
		l := d.raw(at)
		if l.text != "" {
			return l.indent, l.indent > indent && l.indent >= blanks && l.text[0] != '\t'
		}
		blanks = max(blanks, l.indent)
		at = l.end
	}
	return 0, false
}

// plain decodes a scalar without quotes, which may continue on lines with more
// indentation.
func (d *decoder) plain(rest string, indent int) (any, bool) {
	if !mayBegin(rest) {
		return nil, false
	}
	first, more, ok := cutComment(rest)
	if !ok {
		return nil, false
	}
	var b strings.Builder
	breaks := 0
	for more && d.next < len(d.text) {
		l := d.raw(d.next)
		content := withoutBlanks(l.text)
		if content == "" {
			if breaks++; !l.broken {
				break
			}
			d.next = l.end
			continue
		}
		if l.indent <= indent || content[0] == '#' {
			break
		}
		if strings.IndexByte(content, '\t') >= 0 {
			return nil, false
		}
		if content, more, ok = cutComment(content); !ok {
			return nil, false
		}
		if b.Len() == 0 {
			b.WriteString(first)
		}
		fold(&b, &breaks)
		b.WriteString(content)
		d.next = l.end
	}
	d.advance()
	if b.Len() > 0 {
		// A scalar on several lines is text, unless it begins like a number.
		return b.String(), !mayBeNumber(first)
	}
	return resolve(first)
}

// mayBegin reports whether the line can only begin a plain scalar.
func mayBegin(s string) bool {
	c := s[0]
	if c == '-' {
		return len(s) > 1 && s[1] != ' ' && !isMarker(s)
	}
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80 || strings.IndexByte("_/$(.+<~^;=\\", c) >= 0 && !isMarker(s)
}

// cutComment cuts the comment off the end of a line of a plain scalar, and
// reports whether the scalar may continue on the next line. ok is false for a
// line with a key.
func cutComment(line string) (content string, more, ok bool) {
	more = true
	if n := strings.Index(line, " #"); n >= 0 {
		line, more = withoutBlanks(line[:n]), false
	}
	return line, more, !strings.HasSuffix(line, ":") && !strings.Contains(line, ": ")
}

func mayBeNumber(s string) bool {
	return s != "" && ('0' <= s[0] && s[0] <= '9' || s[0] == '-' || s[0] == '+' || s[0] == '.')
}

// resolve returns the value of a plain scalar.
func resolve(s string) (v any, ok bool) {
	switch {
	case s == "true":
		return true, true
	case s == "false":
		return false, true
	case s == "null" || s == "~":
		return nil, true
	case isWord(s):
		return nil, false
	case !mayBeNumber(s):
		return s, true
	case isInteger(s):
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	case strings.ContainsAny(s, "gGhHjJkKlLmMqQrRsSuUvVwWyY"):
		return s, true // no number or date has one of these characters
	}
	return resolveNumber(s)
}

// isWord reports whether a text may be another word for a bool, null or number.
func isWord(s string) bool {
	if s == "" || len(s) > len("false") || strings.IndexByte("yYnNtTfFoO~", s[0]) < 0 {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "yes", "n", "no", "on", "off", "true", "false", "null", "~":
		return true
	}
	return false
}

// isInteger reports whether a text is a common decimal integer.
func isInteger(s string) bool {
	if len(s) > 18 || s[0] == '0' && len(s) > 1 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// resolveNumber uses the full parser for a text that may be a number.
func resolveNumber(s string) (v any, ok bool) {
	if err := goyaml.Unmarshal([]byte(s), &v); err != nil {
		return nil, false
	}
	switch n := v.(type) {
	case string:
		return n, n == s
	case int:
		return int64(n), true
	case float64:
		return n, n != math.Trunc(n) && !math.IsNaN(n)
	}
	return nil, false
}
