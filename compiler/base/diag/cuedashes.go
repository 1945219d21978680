package diag

import (
	"regexp"
	"strings"
)

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
