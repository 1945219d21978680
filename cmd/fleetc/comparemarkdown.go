package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// compareMarkdown writes a comparison as a comment on a change request.
func compareMarkdown(w io.Writer, c *query.Comparison, name func(string) string, style diff.Style) {
	style.Colour = false
	fmt.Fprintf(w, "**%s**\n", diff.MarkdownText(compareSummary(c)))
	for _, t := range compareTables(c, name) {
		fmt.Fprintln(w)
		writeMarkdownTable(w, t)
	}
	for _, s := range compareObjects(c, style) {
		fence := "```"
		for strings.Contains(s.text, fence) {
			fence += "`"
		}
		fmt.Fprintf(w, "\n<details><summary>Objects of %s</summary>\n\n%s\n%s%s\n\n</details>\n", diff.MarkdownText(s.title), fence, s.text, fence)
	}
}
