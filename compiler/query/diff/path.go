package diff

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A step is the last step of a path, linked to its parent. Paths are formatted
// on demand, because most are never shown.
type step struct {
	parent *step
	text   string // a key without quotes, or a selector without brackets
	item   bool   // whether the step selects a list element
	depth  int    // number of steps
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

// field returns the name of the field, or "" for a list element and the object
// itself.
func (s *step) field() string {
	if s == nil || s.item {
		return ""
	}
	return s.text
}

// plainKey matches keys that need no quotes in a path.
var plainKey = regexp.MustCompile(`^[a-zA-Z0-9_$][a-zA-Z0-9_$-]*$`)

func quoteKey(k string) string {
	if plainKey.MatchString(k) {
		return k
	}
	return strconv.Quote(k)
}

// String returns the path. It contains only printable characters.
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

// plainText matches strings that may be shown without quotes, see bare.
var plainText = regexp.MustCompile(`^[a-zA-Z0-9_./:@+%-]+$`)

// bare reports whether a string cannot be confused with another JSON value
// when it is not quoted.
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

// comparePaths orders paths by bytes, with numbers in them ordered by value.
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

// digits returns the number of leading digits.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
