package diff

import (
	"fmt"
	"strings"
)

// A line is one of the lines in which a change is shown.
type line struct {
	mark byte // '+', '-', '~' for what changes, '@' for a heading, ' ' for the rest
	text string
}

// context is how many equal lines are shown around those that differ.
const context = 3

// maxLineWork bounds what is done to compare two texts, see [maxWork].
const maxLineWork = 1 << 23

// unified returns the difference of two texts of several lines, as a unified
// diff.
func unified(was, is string) []line {
	a, b := splitLines(was), splitLines(is)
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
	x, y := number(a), number(b)
	same, ok := common(x, y, &budget)
	if !ok {
		same = ends(x, y)
	}
	var out []line
	all := gaps(same, len(a), len(b))
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].was0-all[n-1].was1 <= 2*context {
			n++
		}
		out = append(out, hunk(a, b, all[:n])...)
		all = all[n:]
	}
	return out
}

// splitLines returns the lines of s with their ends; the last may have none.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// ends pairs what is equal at the start and at the end.
func ends(a, b []int) []pair {
	var out []pair
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		out = append(out, pair{i, i})
		i++
	}
	n, m := len(a), len(b)
	for n > i && m > i && a[n-1] == b[m-1] {
		n, m = n-1, m-1
	}
	for ; n < len(a); n, m = n+1, m+1 {
		out = append(out, pair{n, m})
	}
	return out
}

// hunk returns the lines of gaps that are close to each other.
func hunk(a, b []string, gaps []gap) []line {
	first, last := gaps[0], gaps[len(gaps)-1]
	lead := min(context, first.was0)
	tail := min(context, len(a)-last.was1)
	was, is := first.was0-lead, first.is0-lead
	out := []line{{'@', fmt.Sprintf("@@ -%s +%s @@", extent(was, last.was1+tail), extent(is, last.is1+tail))}}
	for _, g := range gaps {
		for ; was < g.was0; was++ {
			out = append(out, textLine(' ', a[was], 0)...)
		}
		for i := g.was0; i < g.was1; i++ {
			out = append(out, textLine('-', a[i], fromOf(a, b, i, g.is0+i-g.was0, g))...)
		}
		for j := g.is0; j < g.is1; j++ {
			out = append(out, textLine('+', b[j], fromOf(a, b, g.was0+j-g.is0, j, g))...)
		}
		was = g.was1
	}
	for ; was < last.was1+tail; was++ {
		out = append(out, textLine(' ', a[was], 0)...)
	}
	return out
}

// fromOf returns from where a long line is shown: those of a gap are compared
// one by one.
func fromOf(a, b []string, i, j int, g gap) int {
	if i >= g.was1 || j >= g.is1 {
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

// textLine returns a line of a text, and one more when it has no end.
func textLine(mark byte, s string, from int) []line {
	text, ended := strings.CutSuffix(s, "\n")
	out := []line{{mark, clippedLine(text, from)}}
	if !ended {
		out = append(out, line{' ', `\ no line end`})
	}
	return out
}
