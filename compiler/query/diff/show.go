package diff

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxShown  = 200 // bytes of a text that are shown, of a longer one its length is said
	maxBeside = 100 // columns that two values take in one line
	maxInline = 60  // columns of a list in one line
	maxIndent = 100 // columns
)

// visible returns s with escapes in place of characters that would act on a
// terminal, or that hide what the text is. A text without them is as it was;
// in one with them, backslashes are escaped too, so that nothing passes for an
// escape that is none.
func visible(s string) string {
	if isVisible(s) {
		return s
	}
	quoted := strconv.Quote(s)
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if strings.HasSuffix(quoted, " ") {
		quoted = quoted[:len(quoted)-1] + `\x20`
	}
	return quoted
}

func isVisible(s string) bool {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			return false
		}
		i += size
	}
	return !strings.HasSuffix(s, " ")
}

// clip returns the part of s that is shown, which begins at from or before,
// and whether something is left out before and after it.
func clip(s string, from int) (part string, before, after bool) { return cut(s, from, maxShown) }

// cut is clip with another number of bytes that are shown.
func cut(s string, from, most int) (part string, before, after bool) {
	if len(s) <= most {
		return s, false, false
	}
	from = min(from, len(s)-most)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	to := min(from+most, len(s))
	for to < len(s) && !utf8.RuneStart(s[to]) && to > from+most-utf8.UTFMax {
		to--
	}
	return s[from:to], from > 0, to < len(s)
}

// dots returns a text with what it says about the part that clip returned.
func dots(text string, before, after bool, size int) string {
	if !before && !after {
		return text
	}
	if before {
		text = "..." + text
	}
	if after {
		text += "..."
	}
	return text + fmt.Sprintf(" (%d bytes)", size)
}

// firstDifference returns where two texts are to be shown from, so that one
// sees where they differ.
func firstDifference(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	const lead = maxShown / 4
	if i < maxShown-lead {
		return 0
	}
	return i - lead
}

// clippedLine returns a line of a text as it is shown, a long one from the
// given byte on.
func clippedLine(s string, from int) string {
	part, before, after := clip(s, from)
	return dots(visible(part), before, after, len(s))
}

// inline returns a value as it is shown in one line, a long text from the
// given byte on, and reports whether it fits there.
func inline(v any, from int) (string, bool) {
	switch v := v.(type) {
	case string:
		part, before, after := clip(v, from)
		text := strconv.Quote(part)
		// Unlike in a path, an = cannot be mistaken here: --flag=value.
		if !before && !after && bare(strings.ReplaceAll(v, "=", "-")) {
			text = v
		}
		return dots(text, before, after, len(v)), !strings.Contains(v, "\n")
	case map[string]any:
		return "{}", v != nil && len(v) == 0
	case []any:
		if len(v) > maxInline {
			return "", false
		}
		texts := make([]string, len(v))
		size := 2
		for i, e := range v {
			switch e := e.(type) {
			case map[string]any, []any:
				return "", false
			case string:
				if len(e) > maxInline || strings.Contains(e, "\n") {
					return "", false
				}
			}
			texts[i], _ = inline(e, 0)
			if size += len(texts[i]) + 2; size > maxInline {
				return "", false
			}
		}
		return "[" + strings.Join(texts, ", ") + "]", true
	}
	if isNull(v) {
		return "null", true
	}
	text, ok := scalar(v)
	if !ok {
		text = strconv.Quote(fmt.Sprint(v))
	}
	part, before, after := clip(text, 0)
	return dots(part, before, after, len(text)), true
}

// A block is a value as it is shown in several lines, as YAML has it.
type block struct {
	lines []string
	max   int // lines
	more  int // lines that are left out
}

// add adds a value. Its first line begins with lead, the others are indented
// by so many columns.
func (b *block) add(lead string, v any, indent int) {
	if len(lead) > maxIndent+maxShown {
		lead = lead[:maxIndent] // deep in lists of lists
	}
	if text, ok := inline(v, 0); ok {
		b.line(lead + text)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.child(lead+clippedKey(k)+":", v[k], indent)
			lead = spaces(indent)
		}
	case []any:
		for _, e := range v {
			b.add(lead+"- ", e, indent+2)
			lead = spaces(indent)
		}
	case string:
		b.text(lead, v, indent)
	}
}

// child adds the value of a key, which lead ends with.
func (b *block) child(lead string, v any, indent int) {
	if text, ok := inline(v, 0); ok {
		b.line(lead + " " + text)
		return
	}
	if s, ok := v.(string); ok {
		b.text(lead+" ", s, indent+2)
		return
	}
	b.line(lead)
	if _, ok := v.(map[string]any); ok {
		indent += 2
	}
	b.add(spaces(indent), v, indent)
}

// text adds a text of several lines.
func (b *block) text(lead, s string, indent int) {
	body, ended := strings.CutSuffix(s, "\n")
	if ended {
		b.line(lead + "|")
	} else {
		b.line(lead + "|-")
	}
	for l := range strings.SplitSeq(body, "\n") {
		b.line(spaces(indent) + clippedLine(l, 0))
	}
}

func (b *block) line(s string) {
	if len(b.lines) >= b.max {
		b.more++
		return
	}
	b.lines = append(b.lines, s)
}

func spaces(n int) string { return strings.Repeat(" ", min(n, maxIndent)) }

// clippedKey returns a key as it is shown.
func clippedKey(k string) string {
	part, before, after := clip(k, 0)
	if before || after {
		return dots(strconv.Quote(part), before, after, len(k))
	}
	return quoteKey(k)
}
