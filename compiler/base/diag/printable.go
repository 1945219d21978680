package diag

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
)

// brokenCommands breaks the commands of GitHub, Azure and TeamCity that are
// recognized anywhere in a line.
var brokenCommands = strings.NewReplacer("##[", "## [", "##vso[", "##vso [", "##teamcity[", "##teamcity [")

// Printable makes external text safe for a terminal and a log: it keeps lines
// and tabs, replaces other control characters, and breaks commands of CI
// systems.
func Printable(s string) string {
	s = printableRunes(s)
	if !strings.Contains(s, "::") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		// GitHub's runner ignores leading spaces.
		if strings.HasPrefix(strings.TrimSpace(l), "::") {
			lines[i] = "| " + l
		}
	}
	return strings.Join(lines, "\n")
}

// printableRunes is Printable for text that may contain commands at the
// beginning of lines.
func printableRunes(s string) string {
	if !isPlain(s) {
		s = strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' || unicode.IsPrint(r) {
				return r
			}
			return unicode.ReplacementChar
		}, strings.ReplaceAll(s, "\r\n", "\n"))
	}
	if strings.Contains(s, "##") {
		s = brokenCommands.Replace(s)
	}
	return s
}

// isPlain reports whether a text contains only printable ASCII characters,
// line ends and tabs.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// OneLine is Printable for a text of one line, such as a name.
func OneLine(s string) string {
	return Printable(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s))
}

// PrintableJSON escapes characters of a JSON document that are not printable
// or start a command of a CI system. The decoded document is the same.
func PrintableJSON(document string) string {
	if isPlain(document) && !strings.Contains(document, "##") {
		return document
	}
	var b strings.Builder
	var last rune
	for _, r := range document {
		switch {
		case r == '#' && last == '#':
			b.WriteString(`\u0023`)
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		last = r
	}
	return b.String()
}

// A Form is the kind of text that a [Writer] writes.
type Form int

// The forms.
const (
	PlainText    Form = iota // see [Printable]
	CommandsText             // text that may contain CI commands at the beginning of lines
	JSONText                 // see [PrintableJSON]
)

// A Writer writes external text line by line in a form that is safe for a
// terminal and a log. It may be used by several goroutines.
type Writer struct {
	W       io.Writer
	Form    Form
	Colours []string // allowed escape sequences

	mu   sync.Mutex
	line []byte // an incomplete line
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := bytes.LastIndexByte(p, '\n') + 1
	if end > 0 {
		lines := string(append(w.line, p[:end]...))
		w.line = w.line[:0]
		if _, err := io.WriteString(w.W, w.printable(lines)); err != nil {
			return 0, err
		}
	}
	w.line = append(w.line, p[end:]...)
	return len(p), nil
}

// Flush writes an incomplete line, such as a question.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := string(w.line)
	w.line = w.line[:0]
	if line == "" {
		return nil
	}
	_, err := io.WriteString(w.W, w.printable(line))
	return err
}

// printable returns lines in the form that is written.
func (w *Writer) printable(lines string) string {
	switch w.Form {
	case JSONText:
		return PrintableJSON(lines)
	case CommandsText:
		lines = printableRunes(lines)
	default:
		lines = Printable(lines)
	}
	for _, c := range w.Colours {
		lines = strings.ReplaceAll(lines, printableRunes(c), c)
	}
	return lines
}
