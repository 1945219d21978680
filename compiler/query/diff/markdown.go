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

// MarkdownText returns a text as one line of Markdown, with special characters
// of Markdown and HTML escaped. A text that could mention a user is formatted
// as code, which prevents the mention.
func MarkdownText(s string) string {
	if strings.Contains(s, "@") {
		return markdownCode(s)
	}
	return markdownEscaped(s)
}

// markdownCode is MarkdownText as code.
func markdownCode(s string) string { return "<code>" + markdownEscaped(s) + "</code>" }

func markdownEscaped(s string) string {
	var b strings.Builder
	for _, c := range diag.OneLine(s) {
		if strings.ContainsRune("&<>|`*_[]~\\!@#$", c) {
			fmt.Fprintf(&b, "&#%d;", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// WriteMarkdown writes the result as a comment on a change request: the
// summary, findings, new and removed clusters, and a collapsible section for each group,
// of which the first is open. It writes at most [Style.Limit] bytes, and the
// last line says how much was omitted.
//
// Names and values cannot end their code block or notify users.
func WriteMarkdown(w io.Writer, r Result, s Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", r)
	for _, l := range r.predictions() {
		b.WriteString("\n" + markdownCode(l) + "\n")
	}
	if r.Rehearsed {
		b.WriteString(markdownFindings(r.Findings, s.limit()/2))
	}
	b.WriteString(fencedWholes(r.clusterLines()))
	shown, rest := s.visibleGroups(r)
	left := s.limit() - b.Len() - len(omittedText(1<<30, 1<<30)) - 6*len(rest.String()) - len("\n<code></code>\n")
	var objects, groups int // omitted ones
	for i, g := range shown {
		text, out := s.section(g, r.Summary.Of, i == 0, left)
		b.WriteString(text)
		left -= len(text)
		objects += out
		if out > 0 {
			groups++
		}
	}
	for _, l := range rest.lines() {
		b.WriteString("\n" + markdownCode(l.text) + "\n")
	}
	if objects > 0 {
		b.WriteString(omittedText(objects, groups))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fencedWholes returns new, removed and uncompared clusters as a diff.
func fencedWholes(wholes []line) string {
	const most = 100
	if len(wholes) == 0 {
		return ""
	}
	var b strings.Builder
	for _, l := range wholes[:min(len(wholes), most)] {
		b.WriteString(l.gutter() + "\n")
	}
	if n := len(wholes) - most; n > 0 {
		b.WriteString(more(n).gutter() + "\n")
	}
	return "\n" + fenced(b.String(), max(3, LongestTicks(b.String())+1))
}

// fenced returns a diff as a code block. fence is the number of backticks,
// which must exceed those in text.
func fenced(text string, fence int) string {
	ticks := strings.Repeat("`", fence)
	return ticks + "diff\n" + text + ticks + "\n"
}

func omittedText(objects, groups int) string {
	return fmt.Sprintf("\nToo long: %d changes of objects in %d groups of clusters are left out.\n", objects, groups)
}

// section returns the section of a group in at most limit bytes, and the
// number of changes that do not fit.
func (s Style) section(g visibleGroup, of int, open bool, limit int) (text string, out int) {
	head := "\n<details>"
	if open {
		head = "\n<details open>"
	}
	head += "<summary>" + g.title(of, func(id string) string { return markdownCode(clusterName(id)) }) + "</summary>\n\n"
	const foot = "\n</details>\n"
	var body strings.Builder
	fence := 3 // backticks
	texts := make([]string, 0, len(g.Changes)+1)
	for _, c := range g.Changes {
		texts = append(texts, s.change(c))
	}
	for _, l := range g.folded.lines() {
		texts = append(texts, "@@ "+l.text+" @@\n")
	}
	for _, one := range texts {
		wider := max(fence, LongestTicks(one)+1)
		if len(head)+len(foot)+body.Len()+len(one)+2*wider+len("diff\n\n") > limit {
			out++
			continue
		}
		fence = wider
		body.WriteString(one)
	}
	if body.Len() == 0 {
		return "", out
	}
	return head + fenced(body.String(), fence) + foot, out
}

// change returns the lines of one change, as a diff.
func (s Style) change(c Change) string {
	var b strings.Builder
	switch m := marks[c.Action]; m {
	case '~':
		b.WriteString("@@ " + title(c) + " @@\n")
	default:
		b.WriteString(string(m) + " " + title(c) + "\n")
	}
	for _, l := range s.body(c, true) {
		if l.mark == '~' {
			l.mark = ' '
		}
		b.WriteString(strings.TrimRight(l.gutter(), " ") + "\n")
	}
	return b.String()
}

// LongestTicks returns the length of the longest run of backticks in a text.
func LongestTicks(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

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
