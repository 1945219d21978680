package diff

import (
	"fmt"
	"strings"
)

// A line is a line of a shown change.
type line struct {
	mark byte // '+', '-', '~' for changes, '@' for a heading, ' ' for other lines
	text string
}

// context is the number of equal lines shown around a difference.
const context = 3

// maxLineWork limits the work to compare two texts, see [maxWork].
const maxLineWork = 1 << 23

// unified returns the unified diff of two texts.
func unified(before, after string) []line {
	a, b := splitLines(before), splitLines(after)
	ids := make(map[string]int, len(a))
	number := func(lines []string) []int {
		out := make([]int, len(lines))
		for i, l := range lines {
			id, ok := ids[l]
			if !ok {
				id = len(ids)
				ids[l] = id
			}
			out[i] = id
		}
		return out
	}
	budget := maxLineWork
	same := common(number(a), number(b), &budget)
	var out []line
	all := gaps(same, len(a), len(b))
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].before0-all[n-1].before1 <= 2*context {
			n++
		}
		out = append(out, hunk(a, b, all[:n])...)
		all = all[n:]
	}
	return out
}

// splitLines returns the lines of s with their line ends; the last may have
// none.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// hunk returns the lines of adjacent gaps.
func hunk(a, b []string, gaps []gap) []line {
	first, last := gaps[0], gaps[len(gaps)-1]
	lead := min(context, first.before0)
	tail := min(context, len(a)-last.before1)
	before, after := first.before0-lead, first.after0-lead
	out := []line{{'@', fmt.Sprintf("@@ -%s +%s @@", extent(before, last.before1+tail), extent(after, last.after1+tail))}}
	for _, g := range gaps {
		for ; before < g.before0; before++ {
			out = append(out, textLine(' ', a[before], 0)...)
		}
		for i := g.before0; i < g.before1; i++ {
			out = append(out, textLine('-', a[i], fromOf(a, b, i, g.after0+i-g.before0, g))...)
		}
		for j := g.after0; j < g.after1; j++ {
			out = append(out, textLine('+', b[j], fromOf(a, b, g.before0+j-g.after0, j, g))...)
		}
		before = g.before1
	}
	for ; before < last.before1+tail; before++ {
		out = append(out, textLine(' ', a[before], 0)...)
	}
	return out
}

// fromOf returns the offset from which a long line is shown. The lines of a
// gap are compared by index.
func fromOf(a, b []string, i, j int, g gap) int {
	if i >= g.before1 || j >= g.after1 {
		return 0
	}
	return firstDifference(a[i], b[j])
}

func extent(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

// textLine returns a line of a text, and a note when it has no line end.
func textLine(mark byte, s string, from int) []line {
	text, ended := strings.CutSuffix(s, "\n")
	out := []line{{mark, clippedLine(text, from)}}
	if !ended {
		out = append(out, line{' ', `\ no line end`})
	}
	return out
}
