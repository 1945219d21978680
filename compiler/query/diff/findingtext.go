package diff

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// beforeYouMerge is the heading of findings.
const beforeYouMerge = "before you merge"

// maxFindingText is the maximum length of a text of a finding as it is shown.
const maxFindingText = 700

// WriteFindings writes findings for a terminal below a heading:
//
//	before you merge: 1 breaks, 2 to check
//	  breaks: StatefulSet.apps web/db (release db): spec.serviceName cannot change
//	    do: change it back, or list its kind under replace of the release to have it recreated
//	    in prod/a, prod/b
func WriteFindings(w io.Writer, findings []Finding, s Style) error {
	out := bufio.NewWriter(w)
	paint := s.painter()
	fmt.Fprintln(out, paint('@', beforeYouMerge+": "+countFindings(findings)))
	for _, l := range findingLines(findings) {
		fmt.Fprintln(out, paint(l.mark, l.text))
	}
	return out.Flush()
}

// countFindings returns the numbers of findings by severity.
func countFindings(findings []Finding) string {
	var parts []string
	for _, s := range []struct {
		severity  Severity
		one, many string
	}{{Breaks, "breaks", "break"}, {Check, "to check", "to check"}, {Note, "to know", "to know"}} {
		n, text := 0, s.many
		for _, f := range findings {
			if f.Severity == s.severity {
				n++
			}
		}
		if n == 1 {
			text = s.one
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	if len(parts) == 0 {
		return "nothing found"
	}
	return strings.Join(parts, ", ")
}

// withoutFaults returns the findings with those of new faults as one, since faults are shown
// with their source positions elsewhere.
func withoutFaults(findings []Finding) []Finding {
	var out []Finding
	faults := Finding{Reason: NewFault, Severity: Breaks, Hint: "fix them, see above"}
	n := 0
	for _, f := range findings {
		if f.Reason != NewFault {
			out = append(out, f)
			continue
		}
		n++
		faults.Clusters = append(faults.Clusters, f.Clusters...)
	}
	if n == 0 {
		return out
	}
	faults.Clusters = diag.Distinct(faults.Clusters)
	faults.Text = fmt.Sprintf("the fleet has %d new faults", n)
	if n == 1 {
		faults.Text, faults.Hint = "the fleet has a new fault", "fix it, see above"
	}
	return append([]Finding{faults}, out...)
}

// findingLines returns the lines of findings.
func findingLines(findings []Finding) []line {
	var out []line
	for _, f := range withoutFaults(findings) {
		mark := map[Severity]byte{Breaks: '-', Check: '~'}[f.Severity]
		out = append(out, line{mark, "  " + string(f.Severity) + ": " + f.subject() + shownText(f.Text)})
		if f.Hint != "" {
			out = append(out, line{0, "    do: " + shownText(f.Hint)})
		}
		if len(f.Clusters) > 0 {
			out = append(out, line{0, "    in " + clusterList(f.Clusters, clusterName)})
		}
	}
	return out
}

func shownText(s string) string { return diag.Visible(s, maxFindingText) }

// subject returns what the finding is about, as the start of a line.
func (f Finding) subject() string {
	var about []string
	if f.Chart != "" {
		about = append(about, "chart "+clippedLine(path.Base(f.Chart), 0))
	}
	if f.Release != "" {
		about = append(about, "release "+clippedLine(f.Release, 0))
	}
	list := strings.Join(about, ", ")
	switch {
	case f.Object == "" && list == "":
		return ""
	case f.Object == "":
		return list + ": "
	case list == "":
		return clippedLine(f.Object, 0) + ": "
	}
	return clippedLine(f.Object, 0) + " (" + list + "): "
}

// clusterList returns the first clusters and the number of the others; name formats an ID.
func clusterList(clusters []string, name func(string) string) string {
	names := diag.Each(clusters, name)
	return diag.JoinFirst(names, maxClusters)
}

// markdownFindings returns findings as a list in Markdown of at most limit bytes.
func markdownFindings(findings []Finding, limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n**Before you merge: %s**\n\n", countFindings(findings))
	for i, f := range findings {
		text := "- **" + string(f.Severity) + "** " + MarkdownText(f.subject()+shownText(f.Text))
		if f.Hint != "" {
			text += "<br>do: " + MarkdownText(shownText(f.Hint))
		}
		text += "<br>in " + clusterList(f.Clusters, func(id string) string { return markdownCode(clusterName(id)) }) + "\n"
		if b.Len()+len(text) > limit {
			fmt.Fprintf(&b, "- and %d more\n", len(findings)-i)
			break
		}
		b.WriteString(text)
	}
	return b.String()
}
