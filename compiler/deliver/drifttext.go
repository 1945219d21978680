package deliver

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// WriteDriftText writes the report for people: the clusters with findings, and a summary.
func WriteDriftText(w io.Writer, r *DriftReport) error {
	var b strings.Builder
	for _, c := range r.Clusters {
		if len(c.Findings) == 0 && c.Checked {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", c.ID, c.state())
		b.WriteString(findingsText(c.Findings, "  ") + "\n")
	}
	b.WriteString(r.Summary.String() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// findingsText returns findings as lines with an indentation.
func findingsText(findings []DriftFinding, indent string) string {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(indent + f.line() + "\n")
		for _, field := range f.Fields {
			b.WriteString(indent + "  " + field.line() + "\n")
		}
	}
	return b.String()
}

// state returns the result of a cluster as a clause. It is only for clusters with findings, and
// for those that could not be checked.
func (c *DriftCluster) state() string {
	if len(c.Findings) == 0 {
		return "the check failed"
	}
	text := diag.Count(c.objects(), "object", "objects") + " drifted"
	if c.Behind {
		text += "; the cluster does not run the fleet's bundle, so an apply is due"
	}
	if !c.Checked {
		text += "; not everything could be checked"
	}
	return text
}

// line returns the finding without its fields in one line.
func (f DriftFinding) line() string {
	text := f.ID
	if f.Release != "" {
		text += " (release " + f.Release + ")"
	}
	return text + " " + f.details()
}

// details returns the reason of a finding as a clause.
func (f DriftFinding) details() string {
	text := "is " + string(f.Reason)
	if f.Reason == DriftConflict {
		text = "is in conflict"
	}
	if f.Why != "" {
		text += ": " + f.Why
	}
	return text
}

// line returns the field in one line.
func (f DriftField) line() string {
	text := fmt.Sprintf("%s: %s in the cluster, %s in the fleet", f.Path, valueText(f.Live), valueText(f.Fleet))
	if by := f.authors(); by != "" {
		text += " (" + by + ")"
	}
	return text
}

// authors returns the managers of the field, each with the time of its last write to the object.
func (f DriftField) authors() string {
	var all []string
	for _, a := range f.By {
		text := diag.Visible(a.Manager, diag.MaxText)
		if a.Subresource != "" {
			text += " (" + diag.Visible(a.Subresource, diag.MaxText) + ")"
		}
		if !a.Time.IsZero() {
			text += " at " + a.Time.Format(time.RFC3339)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return ""
	}
	return "set by " + strings.Join(all, ", ")
}

// valueText returns a value in one short line.
func valueText(v any) string {
	const most = 80
	if v == nil {
		return "absent"
	}
	if s, ok := v.(string); ok && s != "" && !strings.ContainsAny(s, "\n\"") {
		return diag.Visible(s, most)
	}
	return diag.Visible(cmp.Or(diag.AsJSON(v), "a value"), most)
}

// DriftSARIFRule is the class of findings in SARIF.
var DriftSARIFRule = diag.Rule{ID: "drift", Summary: "An object in a cluster differs from the fleet."}

// Diags returns the findings for [diag.Report]. Their positions are those of the releases,
// since code scanners reject results without one.
func (r *DriftReport) Diags() []*diag.Diag {
	var out []*diag.Diag
	for _, c := range r.Clusters {
		for _, f := range c.Findings {
			lines := []string{f.details()}
			for _, field := range f.Fields {
				lines = append(lines, field.line())
			}
			out = append(out, &diag.Diag{Code: "", At: []diag.Pos{c.place(f.Release)}, Clusters: []string{c.ID}, Path: f.ID, Msg: strings.Join(lines, "; ")})
		}
	}
	return out
}

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
