package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func diffText(was, is string) string {
	var b strings.Builder
	for _, l := range unified(was, is) {
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
	for _, test := range []struct{ name, was, is, want string }{
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
		if got := diffText(test.was, test.is); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// TestUnifiedMakesAfterOfBefore applies the difference of random texts, where
// what is around it is given by the numbers in its headings.
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
		was := text()
		is := append([]string{}, was...)
		for range r.IntN(4) {
			if i := r.IntN(len(is) + 1); i < len(is) && r.IntN(2) == 0 {
				is = append(is[:i:i], is[i+1:]...)
			} else {
				is = append(is[:i:i], append([]string{"x"}, is[i:]...)...)
			}
		}
		var got []string
		next := 0
		for _, l := range unified(join(was), join(is)) {
			switch l.mark {
			case '@':
				var start int
				if _, err := fmt.Sscanf(l.text, "@@ -%d", &start); err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(l.text, fmt.Sprintf("@@ -%d,0", start)) {
					start--
				}
				got = append(got, was[next:start]...)
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
		if got = append(got, was[next:]...); join(got) != join(is) {
			t.Fatalf("from %q to %q: the difference makes %q", was, is, got)
		}
	}
}

func TestUnifiedOfMuch(t *testing.T) {
	var a, b strings.Builder
	for i := range 10_000 {
		fmt.Fprintln(&a, "a", i)
		fmt.Fprintln(&b, "b", i)
	}
	// Too much to align, but what is equal at the ends still is.
	got := unified("start\n"+a.String()+"end\n", "start\n"+b.String()+"end\n")
	if len(got) != 20_003 || got[1].text != "start" || got[len(got)-1].text != "end" {
		t.Errorf("%d lines", len(got))
	}
	// Long lines are shown where they differ.
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
