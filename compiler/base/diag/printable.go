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

// brokenCommands has the commands of CI systems that may stand anywhere in a line,
// those of GitHub, Azure and TeamCity, with what keeps them from being one.
var brokenCommands = strings.NewReplacer("##[", "## [", "##vso[", "##vso [", "##teamcity[", "##teamcity [")

// Printable returns text from outside as a terminal and a log may show it: with
// its lines and tabs, without other control characters, and without what a CI
// system takes for a command.
func Printable(s string) string {
	s = printableRunes(s)
	if !strings.Contains(s, "::") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		// GitHub's runner looks behind the spaces in front.
		if strings.HasPrefix(strings.TrimSpace(l), "::") {
			lines[i] = "| " + l
		}
	}
	return strings.Join(lines, "\n")
}

// printableRunes is Printable for text that has commands at the beginning of lines.
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

// isPlain reports whether a text has printable characters of ASCII alone, with lines
// and tabs, as most have.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// OneLine is Printable for text that has one line, such as a name.
func OneLine(s string) string {
	return Printable(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s))
}

// PrintableJSON returns a document of JSON with escapes for the characters that are
// not printable and those that begin a command of a CI system. It decodes as before.
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

// A Form is what a [Writer] writes.
type Form int

// The forms.
const (
	PlainText    Form = iota // as of [Printable]
	CommandsText             // text with commands for a CI system at the beginning of lines
	JSONText                 // as of [PrintableJSON]
)

// A Writer writes text from outside line by line, as a terminal and a log may show
// it. It is safe for several goroutines.
type Writer struct {
	W       io.Writer
	Form    Form
	Colours []string // the escape sequences that the text may have

	mu   sync.Mutex
	line []byte // without its end
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

// Flush writes a line that has not ended, such as a question.
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

// printable returns lines as they are written.
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
