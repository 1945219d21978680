package diag

import (
	"strings"
	"unicode"
)

// MaxText is how much of anybody's text a message shows, in bytes.
const MaxText = 300

// Visible returns text that is fit for a message: at most so many bytes of it,
// and printable.
func Visible(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Printable returns text from outside as a terminal and a log may show it: with
// its lines and tabs, without other control characters, and without lines that a
// CI system takes for commands.
func Printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	if !strings.Contains(s, "::") && !strings.Contains(s, "##") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		// GitHub's runner looks behind the spaces in front.
		if t := strings.TrimSpace(l); strings.HasPrefix(t, "::") || strings.HasPrefix(t, "##[") || strings.HasPrefix(t, "##vso[") {
			lines[i] = "| " + l
		}
	}
	return strings.Join(lines, "\n")
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

// TypeOf names the type of a value that JSON was decoded into.
func TypeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a bool"
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	}
	return "a number"
}
