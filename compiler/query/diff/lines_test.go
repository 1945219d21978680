package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func diffText(before, after string) string {
	var b strings.Builder
	for _, l := range unified(before, after) {
		b.WriteString(l.gutter() + "\n")
	}
	return b.String()
}

func TestUnified(t *testing.T) {
	seq := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, test := range []struct{ name, before, after, want string }{
		{"changed", "a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n  a\n- b\n+ x\n  c\n"},
		{"added to nothing", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+ a\n+ b\n"},
		{"all removed", "a\n", "", "@@ -1 +0,0 @@\n- a\n"},
		{"line end removed", "a\nb\n", "a\nb", "@@ -1,2 +1,2 @@\n  a\n- b\n+ b\n  \\ no line end\n"},
		{"line ends", "a\n", "a\r\n", "@@ -1 +1 @@\n- a\n+ a\\r\n"},
		{"hidden", "a\n", "\x1b[0m\n", "@@ -1 +1 @@\n- a\n+ \\x1b[0m\n"},
		{"context", seq(1, 20), seq(1, 9) + "x\n" + seq(11, 20), "@@ -7,7 +7,7 @@\n  7\n  8\n  9\n- 10\n+ x\n  11\n  12\n  13\n"},
		{"at the ends", seq(1, 20), seq(0, 19), "@@ -1,3 +1,4 @@\n+ 0\n  1\n  2\n  3\n@@ -17,4 +18,3 @@\n  17\n  18\n  19\n- 20\n"},
		{"joined", seq(1, 10), "1\nx\n" + seq(3, 8) + "y\n10\n", "@@ -1,10 +1,10 @@\n  1\n- 2\n+ x\n  3\n  4\n  5\n  6\n  7\n  8\n- 9\n+ y\n  10\n"},
	} {
		if got := diffText(test.before, test.after); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// TestUnifiedMakesAfterOfBefore applies diffs of random texts, and locates the
// hunks by the numbers in their headings.
func TestUnifiedMakesAfterOfBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	text := func() []string {
		out := make([]string, r.IntN(40))
		for i := range out {
			out[i] = string(rune('a' + r.IntN(6)))
		}
		return out
	}
	join := func(lines []string) string { return strings.Join(append(lines[:len(lines):len(lines)], ""), "\n") }
	for range 5000 {
		before := text()
		after := append([]string{}, before...)
		for range r.IntN(4) {
			if i := r.IntN(len(after) + 1); i < len(after) && r.IntN(2) == 0 {
				after = append(after[:i:i], after[i+1:]...)
			} else {
				after = append(after[:i:i], append([]string{"x"}, after[i:]...)...)
			}
		}
		var got []string
		next := 0
		for _, l := range unified(join(before), join(after)) {
			switch l.mark {
			case '@':
				var start int
				if _, err := fmt.Sscanf(l.text, "@@ -%d", &start); err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(l.text, fmt.Sprintf("@@ -%d,0", start)) {
					start--
				}
				got = append(got, before[next:start]...)
				next = start
			case '-':
				next++
			case ' ':
				next++
				got = append(got, l.text)
			case '+':
				got = append(got, l.text)
			}
		}
		if got = append(got, before[next:]...); join(got) != join(after) {
			t.Fatalf("from %q to %q: the difference makes %q", before, after, got)
		}
	}
}

func TestUnifiedOfMuch(t *testing.T) {
	var a, b strings.Builder
	for i := range 10_000 {
		fmt.Fprintln(&a, "a", i)
		fmt.Fprintln(&b, "b", i)
	}
	// Too long to align, but equal ends are found.
	got := unified("start\n"+a.String()+"end\n", "start\n"+b.String()+"end\n")
	if len(got) != 20_003 || got[1].text != "start" || got[len(got)-1].text != "end" {
		t.Errorf("%d lines", len(got))
	}
	// Long lines are cut around the difference.
	long := strings.Repeat("x", 5000)
	got = unified("k\n"+long+"1\n", "k\n"+long+"2\n")
	for _, l := range got {
		if len(l.text) > 300 {
			t.Errorf("a line of %d bytes", len(l.text))
		}
	}
	if w, i := got[2].text, got[3].text; w == i || !strings.HasSuffix(w, "x1 (5001 bytes)") {
		t.Errorf("%s and %s", w, i)
	}
}
