package diff

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for s, want := range map[string]string{
		"":                    "",
		"plain é ☃ \"q\" \\t": "plain é ☃ \"q\" \\t",
		"\tx":                 `\tx`,
		"a\tb\\t":             `a\tb\\t`,
		"end ":                `end\x20`,
		"cr\r":                `cr\r`,
		"\x1b[2J\x07":         `\x1b[2J\a`,
		"\u009b31m":           `\u009b31m`,
		"a\u202eb\u200b":      `a\u202eb\u200b`,
		"\xff\xfe":            `\xff\xfe`,
		"\x1b\"":              `\x1b"`,
		"\U000e0041":          `\U000e0041`,
	} {
		if got := visible(s); got != want {
			t.Errorf("%q is shown as %s, want %s", s, got, want)
		}
	}
}

func TestInline(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, test := range []struct {
		value any
		want  string
		fits  bool
	}{
		{nil, "null", true},
		{true, "true", true},
		{1e21, "1e+21", true},
		{math.NaN(), "NaN", true},
		{"true", `"true"`, true},
		{"--a=b", "--a=b", true},
		{"a b", `"a b"`, true},
		{long, `"` + long[:200] + `"... (300 bytes)`, true},
		{"a\nb", `"a\nb"`, false},
		{map[string]any{}, "{}", true},
		{[]any{}, "[]", true},
		{[]any{"a", 1, nil, "b c"}, `[a, 1, null, "b c"]`, true},
		{[]any{long}, "", false},
		{[]any{[]any{}}, "", false},
		{[]any{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}, "", false},
		{struct{ s string }{"\x1b"}, `"{\x1b}"`, true},
	} {
		got, fits := inline(test.value, 0)
		if fits != test.fits || fits && got != test.want {
			t.Errorf("%v is shown as %s, %t, want %s", test.value, got, fits, test.want)
		}
	}
}

func TestLongTextsAreShownWhereTheyDiffer(t *testing.T) {
	before := strings.Repeat("é", 500) + "A" + strings.Repeat("z", 500)
	after := strings.Repeat("é", 500) + "B" + strings.Repeat("z", 400)
	from := firstDifference(before, after)
	a, _ := inline(before, from)
	b, _ := inline(after, from)
	if want := `..."` + strings.Repeat("é", 25) + "A" + strings.Repeat("z", 149) + `"... (1501 bytes)`; a != want {
		t.Errorf("got  %s\nwant %s", a, want)
	}
	if !strings.Contains(b, "éB") || !strings.HasSuffix(b, "(1401 bytes)") || len(b) > 250 {
		t.Errorf("got %s", b)
	}
	// At the end, nothing is cut after the difference.
	a, _ = inline(before, firstDifference(before, before[:len(before)-1]))
	if want := `..."` + strings.Repeat("z", 200) + `" (1501 bytes)`; a != want {
		t.Errorf("got  %s\nwant %s", a, want)
	}
	for _, s := range []string{strings.Repeat("\x80", 999), strings.Repeat("☃", 333), strings.Repeat("\xff☃", 333)} {
		for from := range len(s) {
			if part, _, _ := clip(s, from); len(part) > maxShown+3 || len(part) < maxShown-utf8.UTFMax {
				t.Fatalf("%d bytes are shown of %.10q from %d", len(part), s, from)
			}
		}
	}
}

func TestBlock(t *testing.T) {
	for value, want := range map[string]string{
		`1`: "1",
		`{"b":[1,{"a":2}],"a":{"x":{},"z":[[1],[]]}}`: "a:\n  x: {}\n  z:\n  - [1]\n  - []\nb:\n- 1\n- a: 2",
		`[[["a\nb\n"]],{"c":"d\n\ne","f":null}]`:      "- - - |\n      a\n      b\n- c: |-\n    d\n    \n    e\n  f: null",
	} {
		b := block{max: 100}
		b.add("", decoded(t, value), 0)
		if got := strings.Join(b.lines, "\n"); got != want {
			t.Errorf("%s is shown as\n%s\nwant\n%s", value, got, want)
		}
	}
}

func TestBlockIsBounded(t *testing.T) {
	var deep, wide any = "x", map[string]any{}
	for range 5000 {
		deep = []any{deep, map[string]any{"a\nb": deep}}
		deep = deep.([]any)[:1]
	}
	for range 5000 {
		wide = map[string]any{"a": wide, strings.Repeat("k", 1000): strings.Repeat("v\n", 2)}
	}
	for _, v := range []any{deep, wide} {
		b := block{max: 10}
		b.add("", v, 0)
		size := 0
		for _, l := range b.lines {
			size += len(l)
		}
		if len(b.lines) > 10 || size > 10*1000 {
			t.Errorf("%d lines of %d bytes", len(b.lines), size)
		}
	}
}
