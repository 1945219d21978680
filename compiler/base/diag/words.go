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
