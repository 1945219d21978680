package objects

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// traits are the properties of a string that decide how it is quoted.
type traits uint8

const (
	newline traits = 1 << iota // several lines
	tab                        // not allowed in plain text
	quote                      // contains ", so that ' is easier to read
	hidden                     // characters that need an escape
	special                    // has another meaning without quotes
)

// inspect returns the traits of s.
func inspect(s string) (traits, error) {
	var t traits
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n':
			t |= newline
		case c == '\t':
			t |= tab
		case c < ' ' || c == 0x7f:
			t |= hidden
		case c == '"' || c == '\\':
			t |= quote
		case c == ':' && (i+1 == len(s) || s[i+1] == ' '), c == '#' && i > 0 && s[i-1] == ' ':
			t |= special
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, &diag.Diag{
					Code: diag.CodeManifestValue,
					Msg:  fmt.Sprintf("the string is not UTF-8 at byte %d", i),
					Hint: "write the text as UTF-8; put binary data in binaryData of a ConfigMap, or in data of a Secret, in base64",
				}
			}
			if !isVisible(r) {
				t |= hidden
			}
			i += size - 1
		}
	}
	if t&(newline|tab|hidden|special) == 0 && !plainScalar(s) {
		t |= special
	}
	return t, nil
}

// isVisible reports whether a character outside of ASCII may be written without
// an escape. Some YAML readers treat the others as line ends or refuse them;
// some hide text from reviewers. The ranges are written out, since Go's Unicode
// tables change with its version, and the digest must not.
func isVisible(r rune) bool {
	switch {
	case r <= 0xa0, r == 0xad, // control characters with NEL, no-break space, soft hyphen
		0x200b <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202e, // no width, other line ends, direction
		0x2060 <= r && r <= 0x206f,   // invisible operators, direction
		0xe0000 <= r && r <= 0xe0fff, // tags
		r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// plainScalar reports whether a single-line string can be written without quotes. In
// doubt, it returns false.
func plainScalar(s string) bool {
	if s == "" || s[len(s)-1] == ' ' {
		return false
	}
	switch s[0] {
	case ' ', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '=', '~':
		return false
	case '-':
		if len(s) == 1 || s[1] == ' ' || strings.HasPrefix(s, "---") {
			return false
		}
	case '.':
		if strings.HasPrefix(s, "...") {
			return false
		}
	case '<':
		if s == "<<" {
			return false
		}
	}
	return !word(s) && !numeric(s)
}

// word reports whether some version of YAML reads s as a bool, null or a number
// without digits.
func word(s string) bool {
	if len(s) > len("false") {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", ".inf", "+.inf", "-.inf", ".nan":
		return true
	}
	return false
}

// numeric reports whether some reader could read s as a number of any base,
// with or without underscores, as sexagesimal, or as a time. None of these has
// two points, so versions and addresses stay plain.
func numeric(s string) bool {
	digits := strings.TrimLeft(s, "+-.")
	if len(s)-len(digits) > 2 || digits == "" || digits[0] < '0' || '9' < digits[0] {
		return false
	}
	points := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
			points++
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F',
			strings.IndexByte("xXoOpP_:+-tTzZ ", c) >= 0:
		default:
			return false
		}
	}
	return points < 2
}

// text writes a string. The lines of a literal block start in the given column.
func (e *encoder) text(s string, col int) error {
	t, err := inspect(s)
	switch {
	case err != nil:
		return err
	case t&hidden != 0:
		e.escaped(s)
	case t&newline != 0 && strings.Trim(s, " \t\n") != "":
		e.literal(s, col)
	default:
		e.line(s, t)
	}
	return nil
}

// key writes a string on one line.
func (e *encoder) key(s string) error {
	t, err := inspect(s)
	if err == nil {
		e.line(s, t)
	}
	return err
}

func (e *encoder) line(s string, t traits) {
	switch {
	case t&(newline|tab|hidden) != 0, t&special != 0 && t&quote == 0:
		e.escaped(s)
	case t&special != 0:
		e.buf = append(e.buf, '\'')
		e.buf = append(e.buf, strings.ReplaceAll(s, "'", "''")...)
		e.buf = append(e.buf, '\'')
	default:
		e.buf = append(e.buf, s...)
	}
}

// literal writes a block of lines, without the last line end.
func (e *encoder) literal(s string, col int) {
	e.buf = append(e.buf, '|')
	if s[0] == ' ' || s[0] == '\t' || s[0] == '\n' {
		// The first line does not show the indentation of the block.
		e.buf = append(e.buf, '2')
	}
	body, ended := strings.CutSuffix(s, "\n")
	switch {
	case !ended:
		e.buf = append(e.buf, '-')
	case strings.HasSuffix(body, "\n"):
		e.buf = append(e.buf, '+')
	}
	for line := range strings.SplitSeq(body, "\n") {
		e.buf = append(e.buf, '\n')
		if line != "" {
			e.indent(col)
			e.buf = append(e.buf, line...)
		}
	}
}

// escaped writes a string in double quotes.
func (e *encoder) escaped(s string) {
	e.buf = append(e.buf, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			e.buf = append(e.buf, '\\', byte(r))
		case r == '\n':
			e.buf = append(e.buf, `\n`...)
		case r == '\t':
			e.buf = append(e.buf, `\t`...)
		case r == '\r':
			e.buf = append(e.buf, `\r`...)
		case ' ' <= r && r < 0x7f, r > 0x7f && isVisible(r):
			e.buf = utf8.AppendRune(e.buf, r)
		case r < 0x100:
			e.buf = fmt.Appendf(e.buf, `\x%02x`, r)
		case r > 0xffff:
			e.buf = fmt.Appendf(e.buf, `\U%08x`, r)
		default:
			e.buf = fmt.Appendf(e.buf, `\u%04x`, r)
		}
	}
	e.buf = append(e.buf, '"')
}
