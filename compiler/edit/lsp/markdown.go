package lsp

import (
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// maxMarkdownText is the maximum length of a text from outside in a hover, in bytes.
const maxMarkdownText = 300

// codeSpan returns a text as code in Markdown. The text cannot end the code.
func codeSpan(text string) string {
	text = diag.OneLine(diag.Visible(text, maxMarkdownText))
	longest := diff.LongestTicks(text)
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || text == "" {
		text = " " + text + " "
	}
	return fence + text + fence
}

// escaped returns a text from outside as a line of Markdown without markup.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range diag.OneLine(diag.Visible(text, maxMarkdownText)) {
		if strings.ContainsRune("\\`*_{}[]<>()#!|&~@$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "://", "\\://") // no link
}

// quoted returns a text from outside as a quote in Markdown, without markup.
func quoted(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, "> "+escaped(strings.TrimRight(line, "\r\n")))
	}
	return strings.Join(lines, "\n")
}

// link returns a link to a position in a file of the fleet.
func (c *checker) link(at diag.Pos) string {
	text := at.File
	if at.Line > 0 {
		text = fmt.Sprintf("%s:%d", at.File, at.Line)
	}
	uri := uriOf(c.path(at.File))
	if at.Line > 0 {
		uri += fmt.Sprintf("#L%d", at.Line)
	}
	return "[" + escaped(text) + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "%0A").Replace(uri) + ">)"
}
