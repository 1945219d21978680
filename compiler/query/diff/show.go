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
	maxShown  = 200 // maximum bytes of a shown text; the length of a longer one is added
	maxBeside = 100 // maximum columns of two values in one line
	maxInline = 60  // maximum columns of a list in one line
	maxIndent = 100 // columns
)

// visible escapes characters that control a terminal or hide the text. It also
// escapes backslashes in such a text, so that escapes are unambiguous. Other
// texts stay unchanged.
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
	return utf8.ValidString(s) && !strings.HasSuffix(s, " ") && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

// clip returns the shown part of s, which starts at or before from, and
// whether text is cut before and after it.
func clip(s string, from int) (part string, before, after bool) { return cut(s, from, maxShown) }

// cut is clip with another length limit.
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

// dots adds dots and the length to a part that clip returned.
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

// firstDifference returns the offset from which two texts are shown so that
// their difference is visible.
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

// clippedLine returns a line as it is shown; a long one is cut around from.
func clippedLine(s string, from int) string {
	part, before, after := clip(s, from)
	return dots(visible(part), before, after, len(s))
}

// inline returns a value in one line, and reports whether it fits. A long text
// is cut around from.
func inline(v any, from int) (string, bool) {
	switch v := v.(type) {
	case string:
		part, before, after := clip(v, from)
		text := strconv.Quote(part)
		// Unlike in a path, = is unambiguous here: --flag=value.
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

// A block is a value in several lines, in YAML.
type block struct {
	lines []string
	max   int // maximum number of lines
	more  int // number of omitted lines
}

// add adds a value. Its first line starts with lead, the others with indent
// spaces.
func (b *block) add(lead string, v any, indent int) {
	if len(lead) > maxIndent+maxShown {
		lead = lead[:maxIndent] // in deeply nested lists
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

// child adds the value of a key. lead is the key with a colon.
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
