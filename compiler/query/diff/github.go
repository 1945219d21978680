package diff

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes the result for the log of a GitHub Actions step, and an
// error of w's: the summary as a notice, which is shown on the page of the run,
// and the lines of [WriteText] in one section to unfold for each group.
//
// Nothing in a name or a value is taken for a command of the runner.
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
	var wholes []string
	for _, l := range r.wholes() {
		wholes = append(wholes, paint(l.mark, l.gutter()))
	}
	section(out, "whole clusters", wholes)
	groups, rest := s.shown(r)
	for _, g := range groups {
		var lines []string
		for _, c := range g.Changes {
			lines = append(lines, s.text(c, paint)...)
		}
		for _, l := range g.folded.lines() {
			lines = append(lines, paint(l.mark, l.gutter()))
		}
		section(out, g.title(r.Summary.Of, clusterName), lines)
	}
	var last []string
	for _, l := range rest.lines() {
		last = append(last, paint(l.mark, l.gutter()))
	}
	section(out, "version labels and checksums", last)
	return out.Flush()
}

// section writes lines as a section of the log, in which the runner looks for
// no commands until it sees a word that the lines, whose hash it is, cannot
// have.
func section(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	text := strings.Join(lines, "\n")
	word := fmt.Sprintf("fleetc-%x", sha256.Sum256([]byte(text)))
	fmt.Fprintf(w, "::group::%s\n::stop-commands::%s\n%s\n::%s::\n::endgroup::\n", escapeCommand(title), word, text, word)
}

// escapeCommand returns a text as the argument of a command of the runner.
func escapeCommand(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}
