package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/diff"
)

// markdownText returns a text with escapes for the characters that mean something
// in Markdown or HTML, or that would notify somebody.
func markdownText(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune("&<>|`*_[]~\\!@#", c) {
			fmt.Fprintf(&b, "&#%d;", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// compareMarkdown writes a comparison as a comment on a change request.
func compareMarkdown(w io.Writer, c *compiler.Comparison, name func(string) string, style diff.Style) error {
	style.Colour = false
	var b bytes.Buffer
	fmt.Fprintf(&b, "**%s**\n", markdownText(compareSummary(c)))
	for _, t := range compareTables(c, name) {
		row := func(cells []string) {
			for _, cell := range cells {
				b.WriteString("| " + markdownText(cell) + " ")
			}
			b.WriteString("|\n")
		}
		b.WriteByte('\n')
		row(t.head)
		b.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
		for _, r := range t.rows {
			row(r)
		}
	}
	for _, s := range compareObjects(c, style) {
		fence := "```"
		for strings.Contains(s.text, fence) {
			fence += "`"
		}
		fmt.Fprintf(&b, "\n<details><summary>Objects of %s</summary>\n\n%s\n%s%s\n\n</details>\n", markdownText(s.title), fence, s.text, fence)
	}
	_, err := w.Write(b.Bytes())
	return err
}
