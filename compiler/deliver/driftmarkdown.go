package deliver

import (
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// maxMarkdown is the maximum length of a Markdown report in bytes, which fits a comment
// or a summary of a CI job.
const maxMarkdown = 60000

// WriteDriftMarkdown writes the report as a table, for a comment or the summary of a CI job.
// It leaves out rows that do not fit, and says how many.
func WriteDriftMarkdown(w io.Writer, r *DriftReport) error {
	const head = "\n| cluster | object | release | reason | details |\n|---|---|---|---|---|\n"
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", r.Summary)
	var rows []string
	for _, c := range r.Clusters {
		if !c.Checked {
			rows = append(rows, driftRow(c.ID, "", "", "not checked", c.Faults))
		}
		for _, f := range c.Findings {
			details := []string{}
			if f.Why != "" {
				details = append(details, f.Why)
			}
			for _, field := range f.Fields {
				details = append(details, field.line())
			}
			rows = append(rows, driftRow(c.ID, f.ID, f.Release, string(f.Reason), details))
		}
	}
	if len(rows) > 0 {
		b.WriteString(head)
	}
	for i, text := range rows {
		if b.Len()+len(text) > maxMarkdown-100 {
			fmt.Fprintf(&b, "\n%s left out\n", diag.Count(len(rows)-i, "row", "rows"))
			break
		}
		b.WriteString(text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// driftRow returns a row of the table.
func driftRow(cluster, object, release, reason string, details []string) string {
	lines := diag.Each(details, diff.MarkdownText)
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", diff.MarkdownText(cluster), diff.MarkdownText(object), diff.MarkdownText(release), reason, strings.Join(lines, "<br>"))
}
