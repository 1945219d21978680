package diag

import (
	"regexp"
	"strings"
)

// unparsed matches syntax errors of CUE's parser and compiler.
var unparsed = regexp.MustCompile(`^(missing ',' |expected |illegal |string literal not|unknown escape|non-matching whitespace|` +
	`else requires|optional marker|invalid (field|label|string|character)|unexpected |escape |comment not terminated|BOM |NUL|import declaration)`)

// foundToken matches the unexpected token in a message of the parser.
var foundToken = regexp.MustCompile(`found (?:'(?:IDENT|STRING|INT|FLOAT)' (.+)|'(.+)'|(newline))$`)

// syntax explains a syntax error.
func (x *explanation) syntax() {
	line, col := x.line()
	d, msg := x.Diag, x.Msg
	d.Code = CodeSyntax
	switch {
	case strings.HasPrefix(msg, "illegal UTF-8"):
		d.Msg, d.Hint = notUTF8, saveAsUTF8
	case strings.HasPrefix(msg, "string literal not"):
		d.Msg = "this string has no closing quotation mark on its line"
		d.Hint = `end the string with ", or put a multi-line string between """ and """`
	case strings.Contains(msg, "newline after multiline"):
		d.Msg, d.Hint = `a multi-line string must begin on the line after """`, `start a new line after """`
	case strings.HasPrefix(msg, "non-matching whitespace"):
		d.Msg, d.Hint = `a line of the string is indented less than the closing """`, `indent all lines of the string at least as far as the closing """`
	case strings.Contains(msg, "escape"):
		d.Msg, d.Hint = escapeAt(line, col)+" is not a valid escape sequence", `write \\ for a backslash, or #"..."# around a string with many`
	case strings.HasPrefix(msg, "BOM "), strings.Contains(line, "\ufeff"):
		d.Msg, d.Hint = "this line contains an invisible byte order mark", "delete the line and type it again"
	case x.colonInText():
	case x.slip(true):
	case strings.Contains(msg, "found 'EOF'") && x.unclosed():
	case strings.HasPrefix(msg, "expected 'EOF', found '}'"):
		d.Msg, d.Hint = "this } has no matching {", "remove it, or add the missing {"
	case x.emptyAbove(line, col):
	case x.dashedText(line, col):
	case unquotedText(line, col) != "":
		text := unquotedText(line, col)
		d.Msg, d.Hint = "a string must be in quotes", `write "`+Visible(text, MaxText)+`"`
	case x.wrongBracket():
	case strings.HasPrefix(msg, "missing ','"):
		d.Msg, d.Hint = "missing comma or new line", "add a comma, or start a new line"
	default:
		d.Msg, d.Hint = "this is not valid CUE", "write NAME: VALUE, with strings in quotes, fields in {}, and lists in []"
		if m := foundToken.FindStringSubmatch(msg); m != nil && m[3] == "" && m[2] != "EOF" {
			d.Msg = "unexpected " + m[1] + m[2]
			if m[2] == "ATTRIBUTE" {
				d.Msg, d.Hint = "an attribute such as @embed is not allowed here", "write it after the value of a field, as in values: _ @embed(file=values.yaml)"
			}
		}
	}
}

// escapeAt returns the escape sequence at a column.
func escapeAt(line string, col int) string {
	if i := strings.LastIndexByte(line[:min(col, len(line))], '\\'); i >= 0 && i+1 < len(line) {
		return line[i : i+2]
	}
	return "this escape"
}

// emptyAbove explains a field without a value, or an operator without its right
// operand, before the fault.
func (x *explanation) emptyAbove(line string, col int) bool {
	d := x.Diag
	if !strings.HasPrefix(d.Msg, "expected operand") {
		return false
	}
	before, n := line, x.place().Line
	if strings.TrimSpace(line[:max(0, min(col-1, len(line)))]) == "" {
		before, n = x.lineAbove()
	} else if col-1 < len(line) {
		return false
	}
	text := strings.TrimRight(withoutStrings(before), " \t")
	if text == "" {
		return false
	}
	place := func() { x.move(n, indentation(before)+1) }
	switch {
	case strings.HasSuffix(text, ":"):
		place()
		x.noValueAbove(before, text)
		return true
	case unquotedText(before, 0) != "":
		place()
		d.Msg, d.Hint = "a string must be in quotes", `write "`+unquotedText(before, 0)+`"`
		return true
	}
	return false
}

// A bracket is an opening bracket with its position.
type bracket struct {
	char      byte
	line, col int
}

// closing maps opening to closing brackets.
var closing = map[byte]byte{'{': '}', '[': ']', '(': ')'}

// brackets returns the open brackets at a line, or the bracket that the wrong kind
// closes there.
func brackets(source string, upTo int) (open []bracket, wrong *bracket, by byte) {
	for n, line := range strings.Split(source, "\n") {
		if upTo > 0 && n+1 > upTo {
			break
		}
		text := withoutStrings(line)
		for i := range len(text) {
			switch c := text[i]; c {
			case '{', '[', '(':
				open = append(open, bracket{c, n + 1, i + 1})
			case '}', ']', ')':
				if len(open) == 0 {
					return open, nil, 0
				}
				last := open[len(open)-1]
				if closing[last.char] != c {
					return open, &last, c
				}
				open = open[:len(open)-1]
			}
		}
	}
	return open, nil, 0
}

// unclosed explains a bracket without a closing one. It moves the fault to the
// opening bracket.
func (x *explanation) unclosed() bool {
	d := x.Diag
	open, _, _ := brackets(x.source(), 0)
	if len(open) == 0 {
		return false
	}
	last := open[len(open)-1]
	x.move(last.line, last.col)
	d.Msg, d.Hint = "this "+string(last.char)+" is not closed", "add the missing "+string(closing[last.char])
	return true
}

// wrongBracket explains a bracket closed by one of another kind.
func (x *explanation) wrongBracket() bool {
	d := x.Diag
	_, wrong, by := brackets(x.source(), x.place().Line)
	if wrong == nil {
		return false
	}
	d.At = append(d.At, Pos{File: d.At[0].File, Line: wrong.line, Col: wrong.col})
	d.Msg, d.Hint = "expected "+string(closing[wrong.char])+", got "+string(by), "write "+string(closing[wrong.char])
	return true
}
