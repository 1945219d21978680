package diag

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A pattern matches a line in the syntax of another language. The line is matched
// without the content of its strings, or unchanged with raw.
type pattern struct {
	line      *regexp.Regexp
	raw       bool
	always    bool   // also if the line is valid CUE
	above     bool   // also if the fault is in the next line
	msg, hint string // $1 is replaced with a match
	fix       string // the source text that replaces $1; empty when it is not known
}

// patterns are compiled when a fault needs them: most commands have none.
var patterns = sync.OnceValue(func() []pattern {
	return []pattern{
		{line: regexp.MustCompile(`^(?:<{7}|={7}|>{7})(?:\s|$)`), raw: true, above: true, msg: "the file has a conflict of git", hint: "choose one of the two texts, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"},
		{line: regexp.MustCompile(`(?:^|\s)#(?:\s+|$)(.*)$`), raw: true, always: true, msg: "CUE comments begin with //, not with #", hint: "write // $1"},
		{line: regexp.MustCompile(`^\s*#([\w-]+)\s*$`), always: true, msg: "CUE comments begin with //, not with #", hint: "write // $1"},
		{line: regexp.MustCompile(`/\*|\*/`), msg: "CUE has no /* */ comments", hint: "begin each line of the comment with //"},
		{line: regexp.MustCompile(`^\s*---`), above: true, msg: "CUE has no document separator ---: a file is one document", hint: "remove the line"},
		{line: regexp.MustCompile(`\{\{-?\s*[.$\w"]`), raw: true, always: true, msg: "CUE does not evaluate templates in {{ }}", hint: `refer to a field by its name, as in message: cluster.name, or in a string: "\(cluster.name)"`},
		{line: regexp.MustCompile(`\$\{?(\w+)`), always: true, msg: "CUE does not read the environment variable $1", hint: "write the value, or set a field in the layer of each cluster and refer to that field"},
		{line: regexp.MustCompile(`^\s*<<\s*:|:\s*&[A-Za-z]\w*\s*$|:\s*\*[A-Za-z]\w*\s*$`), always: true, msg: "CUE has no YAML anchors and aliases", hint: "name the shared part, as in _shared: {...}, and refer to _shared"},
		{line: regexp.MustCompile(`:\s*[|>][-+]?\s*$`), above: true, msg: "CUE has no YAML multi-line strings with | or >", hint: `write """ after the colon, the string on the lines below, and """ alone on the last line`},
		{line: regexp.MustCompile(`[^\s+*/&|<>=!,:-]\s*([+*/&])\s*$`), above: true, msg: "expected a value after the $1 at the end of the line", hint: "add the missing value, or remove the $1"},
		{line: regexp.MustCompile(`:\s*!!?\w+\s`), msg: "CUE has no YAML tags", hint: `write only the value: 3 is a number, "3" a string`},
		{line: regexp.MustCompile(`^\s*\?\s`), msg: "CUE has no YAML keys that begin with ?", hint: "write KEY: VALUE"},
		{line: regexp.MustCompile(`@embed\(.*file=\S*\.\./`), msg: "@embed can read only files in its own directory and below", hint: "copy the file next to this one, and write @embed(file=values.yaml)"},
		{line: regexp.MustCompile(`\[\s*\.\.\.\s*,`), msg: "... must be at the end of a list", hint: `write the whole list, or import "list" and write list.Concat([A, B])`},
		{line: regexp.MustCompile(`,\s*,`), msg: "there are two commas in a row", hint: "remove one"},
		{line: regexp.MustCompile(`:\s*~\s*$`), msg: "~ is not a CUE value", hint: "write null"},
		{line: regexp.MustCompile(`^\s*-\s`), always: true, msg: "a list in CUE has brackets, not dashes", hint: `write it in brackets, as in ["a", "b"] or [{name: "a"}, {name: "b"}]`},
		{line: regexp.MustCompile(`[“”„‘’]([^“”„‘’"]*)[“”‘’]?`), raw: true, msg: "CUE does not accept curly quotation marks", hint: `write "$1"`},
		{line: regexp.MustCompile("`([^`]*)`?"), msg: "CUE does not accept backticks around strings", hint: `write "$1"`},
		{line: regexp.MustCompile(`^\s*("?[\w.-]+"?)\s*=\s*([^=~].*)?$`), raw: true, msg: "CUE sets fields with a colon, not with =", hint: "write $1: $Q2"},
		{line: regexp.MustCompile(`;\s*$`), msg: "CUE lines do not end with ;", hint: "remove it"},
		{line: regexp.MustCompile(`\?\?`), msg: "CUE has no operator ??", hint: "write *A | B for A where it is set, and otherwise B"},
		{line: regexp.MustCompile(`\bif\s[^{]*[^=!<>{]=[^=~{][^{]*\{`), msg: "= does not compare values in CUE", hint: "write == in the condition"},
		{line: regexp.MustCompile(`\s\?\s+\S.*\s:\s`), msg: "CUE has no operator ? :", hint: "write [if CONDITION {A}, B][0]"},
		{line: regexp.MustCompile(`([\w-]+|"[^"]*"):\s*if\b`), raw: true, msg: "if is not a value in CUE: it encloses fields", hint: "write if CONDITION {$1: A}, or choose between two values: $1: [if CONDITION {A}, B][0]"},
		{line: regexp.MustCompile(`[<>=]=?\s*\S+\s+(and|or)\s`), msg: "$1 is not a CUE operator", hint: "between types and bounds, write & or |, as in >=2 & <=5; between conditions, write && or ||"},
		{line: regexp.MustCompile(`\b(if|for)\b[^{]*$`), above: true, msg: "the body of $1 must be in braces", hint: "end the line of $1 with {, and write } below its fields"},
		{line: regexp.MustCompile(`\}\s*else\b`), always: true, msg: "CUE has no else", hint: "write a second if with the opposite condition: if !(CONDITION) {...}"},
		{line: regexp.MustCompile(`^import\s+([^"(\s][^\s]*)\s*$`), msg: "an import path must be in quotes", hint: `write import "$1"`, fix: `"$1"`},
		{line: regexp.MustCompile(`^import\b`), msg: "imports must be at the top of a file", hint: "move the line below the package clause, above all fields"},
		{line: regexp.MustCompile(`^package\s+"(\w+)"`), raw: true, msg: "a package name must not be in quotes", hint: "write package $1"},
		{line: regexp.MustCompile(`^package\s`), msg: "a file must have exactly one package clause, at the top", hint: "remove the line, or move it to the top"},
		{line: regexp.MustCompile(`[:\s]\d+,\d{3}\b`), msg: "a number must not contain a comma", hint: "remove the comma, as in 8080"},
		{line: regexp.MustCompile(`:\s*0(\d+)\s*$`), msg: "a number must not begin with 0", hint: `write "0$1" for a string, or 0o$1 for an octal number`},
		{line: regexp.MustCompile(`[–—−]`), raw: true, msg: "CUE does not accept this dash", hint: "write -"},
		{line: regexp.MustCompile(`:\s*"[^"]*"[\w.]`), raw: true, msg: "the string ends at its second quotation mark", hint: `write \" for a quotation mark inside a string`},
		{line: regexp.MustCompile(`(?:^|[{,]|:\s)\s*([\w#]+(?:\.[A-Za-z_]\w*)+)\s*:`), msg: "the name $1 needs quotes: it contains a dot", hint: `write "$1": for one name, or $C1: for nested fields`, fix: `"$1"`},
		{line: regexp.MustCompile(`(?:^|[{,]|:\s)\s*([A-Za-z_][\w]*(?:[-./][\w]+)+)\s*:(?:[^/]|$)`), msg: "the name $1 needs quotes: it contains characters other than letters, digits and _", hint: `write "$1":`, fix: `"$1"`},
		{line: regexp.MustCompile(`(?:^|[{,]|:\s)\s*(\d[\w./-]*)\s*:(?:[^/]|$)`), msg: "the name $1 needs quotes: it begins with a digit", hint: `write "$1":`, fix: `"$1"`},
		{line: regexp.MustCompile(`^\s*("[^"]*"|[\w#]+)\s+(".*|\{.*)$`), raw: true, msg: "missing colon after $1", hint: "write $1: $2"},
		{line: regexp.MustCompile(`:\s*((?:\w+\.)?#\w+)\s*\{`), msg: "missing & after $1", hint: "write $1 & {"},
		{line: regexp.MustCompile(`:\s*("[^"]*")\s*\{`), raw: true, msg: "missing colon after $1", hint: "write $1: {"},
		{line: regexp.MustCompile(`("[^"]*"|\d)\s+("?[\w-]+"?\s*:|"[^"]*"|\d+)`), raw: true, msg: "missing comma after $1", hint: "write $1, $2"},
	}
})

// slip applies the first pattern that matches the line of a fault, or for some
// patterns the line above. Most patterns apply only to files that CUE cannot parse.
// It reports whether a pattern matched.
func (x *explanation) slip(syntax bool) bool {
	line, _ := x.line()
	above, n := x.lineAbove()
	for _, p := range patterns() {
		if !p.always && !syntax {
			continue
		}
		if p.apply(x.Diag, line) {
			return true
		}
		if p.above && p.apply(x.Diag, above) {
			x.move(n, indentation(above)+1)
			return true
		}
	}
	return false
}

// apply sets message, hint and position if the pattern matches.
func (p *pattern) apply(d *Diag, line string) bool {
	text := line
	if !p.raw {
		text = withoutStrings(line)
	}
	m := p.line.FindStringSubmatchIndex(text)
	if m == nil {
		return false
	}
	parts := make([]string, len(m)/2)
	for i := range parts {
		if m[2*i] >= 0 {
			parts[i] = strings.TrimSpace(line[m[2*i]:m[2*i+1]])
		}
	}
	fill := func(s string) string { return Visible(strings.TrimSpace(filled(s, parts)), MaxText) }
	d.Code, d.Msg, d.Hint = CodeSyntax, fill(p.msg), fill(p.hint)
	if p.fix != "" && len(d.At) > 0 {
		d.Fixes = []Fix{{Kind: FixSource, Old: line[m[2]:m[3]], New: fill(p.fix)}}
	}
	return true
}

// word matches a text that is neither a number nor a CUE keyword.
var word = regexp.MustCompile(`^[A-Za-z][\w-]*$`)

// quotedWord quotes a word and returns other text unchanged.
func quotedWord(s string) string {
	if word.MatchString(s) && !literal.MatchString(s) {
		return strconv.Quote(s)
	}
	return s
}

// move moves the fault to another position in its file.
func (x *explanation) move(line, col int) {
	if len(x.At) > 0 {
		x.At = append([]Pos{{File: x.At[0].File, Line: line, Col: col}}, x.At[1:]...)
	}
}

// lineAbove returns the last non-empty line above the fault and its number.
func (x *explanation) lineAbove() (string, int) {
	lines := strings.Split(x.source(), "\n")
	for n := min(x.place().Line-1, len(lines)); n >= 1; n-- {
		if strings.TrimSpace(withoutStrings(lines[n-1])) != "" {
			return strings.TrimSuffix(lines[n-1], "\r"), n
		}
	}
	return "", 0
}

// withoutStrings removes the comment of a line and replaces each byte of its strings with x.
func withoutStrings(line string) string {
	b := []byte(line)
	inside := false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\' && inside && i+1 < len(b):
			b[i], b[i+1] = 'x', 'x'
			i++
		case b[i] == '"':
			inside = !inside
		case inside:
			b[i] = 'x'
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '/' && (i == 0 || b[i-1] != ':'):
			return string(b[:i])
		}
	}
	return string(b)
}

// plainValue matches a value that is invalid CUE and a string in YAML.
var plainValue = regexp.MustCompile(`:\s*([^\s"{}\[\](),#&|'][^"{}\[\],]*?)\s*(?:[,}\]].*)?$`)

// unquotedText returns the unquoted field value at a column of a line, or "".
func unquotedText(line string, col int) string {
	text := withoutStrings(line)
	m := plainValue.FindStringSubmatchIndex(text)
	// The pattern matches at the first colon. The value follows the last one before the column.
	for m != nil {
		inner := plainValue.FindStringSubmatchIndex(text[m[2]:])
		if inner == nil || strings.HasPrefix(text[m[2]+inner[0]:], "://") || col > 0 && m[2]+inner[2] > col-1 || inner[2] > 0 && text[m[2]+inner[2]-1] == ':' {
			break
		}
		for i := range inner {
			if inner[i] >= 0 {
				inner[i] += m[2]
			}
		}
		m = inner
	}
	if m == nil || col > 0 && col-1 < m[2] {
		return ""
	}
	return line[m[2]:m[3]]
}

// reference matches a reference with selectors, whose names may have dashes.
var reference = regexp.MustCompile(`[A-Za-z_#][\w#$]*(?:\.(?:"[^"]*"|[A-Za-z_#][\w#$-]*)|\["[^"]*"\])+`)

// dashedSelector matches a name with a dash and the dot before it.
var dashedSelector = regexp.MustCompile(`\.(\w+(?:-\w+)+)`)

// subtrahend matches a number at the end of a reference, which is subtracted.
var subtrahend = regexp.MustCompile(`(?:-\d*)+$`)

// dashedName explains a name without quotes that CUE reads as a subtraction, as in
// releases.cert-manager.namespace. The column is that of a name behind a dash.
func (x *explanation) dashedName(line string, col int) bool {
	if col < 2 || col > len(line) || line[col-2] != '-' {
		return false
	}
	for _, m := range reference.FindAllStringIndex(line, -1) {
		if m[0] < col && col <= m[1] {
			return x.quoteNames(subtrahend.ReplaceAllString(line[m[0]:m[1]], ""), m[0]+1)
		}
	}
	return false
}

// fleetReference matches a reference to a part of a fleet.
var fleetReference = regexp.MustCompile(`^(?:releases|cluster|secrets|_\w+)(?:\.[\w-]+)+$`)

// dashedText is dashedName for a value that is not CUE, as in releases.redis-2.namespace.
func (x *explanation) dashedText(line string, col int) bool {
	text := unquotedText(line, col)
	if !fleetReference.MatchString(text) {
		return false
	}
	from := max(0, min(col, len(line))-len(text)) // the fault is in the text, or before it
	at := strings.Index(line[from:], text)
	return at >= 0 && x.quoteNames(text, from+at+1)
}

// quoteNames explains the names with dashes in a reference at a column.
func (x *explanation) quoteNames(text string, col int) bool {
	quoted := dashedSelector.ReplaceAllString(text, `."$1"`)
	if quoted == text {
		return false
	}
	x.move(x.place().Line, col)
	x.Code, x.Msg = CodeSyntax, "a name with a dash needs quotes"
	x.Hint = "write " + quoted + "; to subtract, put spaces around the -"
	x.fixSource(text, quoted)
	return true
}
