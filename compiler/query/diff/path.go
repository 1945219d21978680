package diff

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A step is a part of a path with what leads to it. Most paths are never
// written, so they are put together at the end only.
type step struct {
	parent *step
	text   string // of a key as it is, of a list element as in brackets
	item   bool   // whether it is a list element
	depth  int    // how many steps lead here
}

func (s *step) key(k string) *step       { return s.next(k, false) }
func (s *step) index(i int) *step        { return s.next(strconv.Itoa(i), true) }
func (s *step) element(sel string) *step { return s.next(sel, true) }

func (s *step) next(text string, item bool) *step {
	next := &step{parent: s, text: text, item: item, depth: 1}
	if s != nil {
		next.depth = s.depth + 1
	}
	return next
}

// field returns the name of the field that the step goes to; "" for a list
// element and for the object itself.
func (s *step) field() string {
	if s == nil || s.item {
		return ""
	}
	return s.text
}

// plainKey matches keys that a path shows without quotes.
var plainKey = regexp.MustCompile(`^[a-zA-Z0-9_$][a-zA-Z0-9_$-]*$`)

func quoteKey(k string) string {
	if plainKey.MatchString(k) {
		return k
	}
	return strconv.Quote(k)
}

// String returns the path. It has no characters that a terminal would act on.
func (s *step) String() string {
	var steps []*step
	for ; s != nil; s = s.parent {
		steps = append(steps, s)
	}
	slices.Reverse(steps)
	var b strings.Builder
	for i, s := range steps {
		switch {
		case s.item:
			b.WriteString("[" + s.text + "]")
		case i > 0:
			b.WriteString("." + quoteKey(s.text))
		default:
			b.WriteString(quoteKey(s.text))
		}
	}
	return b.String()
}

// plainText matches strings that are shown without quotes: unless they could
// be taken for something else, see bare.
var plainText = regexp.MustCompile(`^[a-zA-Z0-9_./:@+%-]+$`)

// bare reports whether a string can be told from other values of JSON without
// quotes.
func bare(s string) bool {
	if !plainText.MatchString(s) || strings.HasSuffix(s, ":") {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "-":
		return false
	}
	// 1e3, 0x1f, -1, .5 and 10 are quoted, 10m and 1.2.3 are not.
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return false
	}
	_, err := strconv.ParseInt(s, 0, 64)
	return err != nil
}

func quote(s string) string {
	if bare(s) {
		return s
	}
	return strconv.Quote(s)
}

// comparePaths orders paths by their bytes, but numbers in them by value.
func comparePaths(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		m, n := digits(a[i:]), digits(b[j:])
		if m == 0 || n == 0 {
			if a[i] != b[j] {
				return int(a[i]) - int(b[j])
			}
			i, j = i+1, j+1
			continue
		}
		x, y := strings.TrimLeft(a[i:i+m], "0"), strings.TrimLeft(b[j:j+n], "0")
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		i, j = i+m, j+n
	}
	if c := (len(a) - i) - (len(b) - j); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// digits returns how many digits s starts with.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
