package diff

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// WriteGitHub writes the result for the log of a GitHub Actions step: the
// summary as a notice on the page of the run, and the lines of [WriteText] in
// one collapsible section per group.
//
// Names and values cannot inject workflow commands.
func WriteGitHub(w io.Writer, r Result, s Style) error {
	out := bufio.NewWriter(w)
	paint := s.painter()
	for _, l := range r.predictions() {
		fmt.Fprintln(out, l)
	}
	if r.Empty() && len(r.NotCompared) == 0 {
		fmt.Fprintln(out, r)
	} else {
		fmt.Fprintln(out, "::notice title=fleetc diff::"+escapeCommand(r.String()))
	}
	if r.Rehearsed {
		lines := diag.Each(findingLines(r.Findings), func(l line) string { return paint(l.mark, l.text) })
		fmt.Fprintln(out, "::notice title="+beforeYouMerge+"::"+escapeCommand(countFindings(r.Findings)))
		section(out, beforeYouMerge, lines)
	}
	section(out, "whole clusters", s.painted(r.clusterLines()))
	groups, rest := s.visibleGroups(r)
	for _, g := range groups {
		lines := slices.Concat(diag.Each(g.Changes, func(c Change) []string { return s.text(c, paint) })...)
		section(out, g.title(r.Summary.Of, clusterName), append(lines, s.painted(g.folded.lines())...))
	}
	section(out, "version labels and checksums", s.painted(rest.lines()))
	return out.Flush()
}

// section writes lines as a section of the log. The runner ignores commands
// until a stop word, which is the hash of the lines and so cannot be in them.
func section(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	text := strings.Join(lines, "\n")
	word := fmt.Sprintf("fleetc-%x", sha256.Sum256([]byte(text)))
	fmt.Fprintf(w, "::group::%s\n::stop-commands::%s\n%s\n::%s::\n::endgroup::\n", escapeCommand(title), word, text, word)
}

// escapeCommand escapes the argument of a workflow command.
func escapeCommand(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}
