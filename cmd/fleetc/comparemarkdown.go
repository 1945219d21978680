package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// compareMarkdown writes a comparison as a comment on a change request.
func compareMarkdown(w io.Writer, c *query.Comparison, name func(string) string, style diff.Style) error {
	style.Colour = false
	var b bytes.Buffer
	fmt.Fprintf(&b, "**%s**\n", diff.MarkdownText(compareSummary(c)))
	for _, t := range compareTables(c, name) {
		row := func(cells []string) {
			for _, cell := range cells {
				b.WriteString("| " + diff.MarkdownText(cell) + " ")
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
		fmt.Fprintf(&b, "\n<details><summary>Objects of %s</summary>\n\n%s\n%s%s\n\n</details>\n", diff.MarkdownText(s.title), fence, s.text, fence)
	}
	_, err := w.Write(b.Bytes())
	return err
}
