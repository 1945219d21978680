package diag

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// MaxText is the maximum length of external text in a message, in bytes.
const MaxText = 300

// Visible returns printable text of at most most bytes for a message.
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

// Line returns text of another program or of a user as one printable line of at most most
// bytes for a message: line breaks and tabs are spaces.
func Line(s string, most int) string { return Visible(strings.Join(strings.Fields(s), " "), most) }

// WithoutUserinfo returns a text without the users and passwords of URLs in it.
func WithoutUserinfo(text string) string { return userinfo.ReplaceAllString(text, "://") }

// userinfo matches user and password of a URL.
var userinfo = regexp.MustCompile(`://[^/\s]*@`)

// Start returns the first bytes of a text, and dots for the rest.
func Start(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// Ends returns a text, and of one with more bytes than most the ends, with dots between.
func Ends(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most/2], "") + " ... " + strings.ToValidUTF8(text[len(text)-most/2:], "")
}

// Count returns a number with its noun: 1 kind, 2 kinds.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// JoinFirst joins the first names, at most most, and counts the others: a, b and 3 more.
func JoinFirst(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names) - most; n > 0 {
		text += " and " + strconv.Itoa(n) + " more"
	}
	return text
}

// JoinFew is [JoinFirst] that names a single one instead of counting it.
func JoinFew(names []string, most int) string {
	if len(names) == most+1 {
		most++
	}
	return JoinFirst(names, most)
}

// Distinct sorts a list in place and returns it without duplicates.
func Distinct[E cmp.Ordered](list []E) []E {
	slices.Sort(list)
	return slices.Compact(list)
}

// Each returns the results of a function for the elements of a list, in order.
func Each[E, R any](list []E, f func(E) R) []R {
	out := make([]R, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}

// Filter returns the elements of a list for which keep returns true, in order; nil for none.
func Filter[E any](list []E, keep func(E) bool) []E {
	var out []E
	for _, e := range list {
		if keep(e) {
			out = append(out, e)
		}
	}
	return out
}

// TypeOf returns the name of a decoded JSON value's type.
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
