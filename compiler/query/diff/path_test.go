package diff

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPath(t *testing.T) {
	for want, s := range map[string]*step{
		"":           nil,
		"spec":       (*step)(nil).key("spec"),
		`""`:         (*step)(nil).key(""),
		"spec[2].a":  (*step)(nil).key("spec").index(2).key("a"),
		"a[b=c][0]":  (*step)(nil).key("a").element("b=c").index(0),
		`a."b.c/d"`:  (*step)(nil).key("a").key("b.c/d"),
		`a."[0]"`:    (*step)(nil).key("a").key("[0]"),
		`a."\x1b[m"`: (*step)(nil).key("a").key("\x1b[m"),
		`a."\u202e"`: (*step)(nil).key("a").key("\u202e"),
		"my-app.x_y": (*step)(nil).key("my-app").key("x_y"),
	} {
		if got := s.String(); got != want {
			t.Errorf("the path is %s, want %s", got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, plain := range []string{"a", "nginx:1.2.3", "10m", "1.2.3", "/etc/a-b", "a@sha256:0", "v1", "--x", "100%"} {
		if quote(plain) != plain {
			t.Errorf("%s is quoted", plain)
		}
	}
	for _, other := range []string{"", "1", "-1", "1e3", ".5", "0x1f", "true", "Null", "-", "a b", "a:", "a,b", "a=b", "[]", "\x1b", "é", "inf", "NaN", "1_000", "<secret>"} {
		if quote(other) == other {
			t.Errorf("%s is not quoted", other)
		}
	}
}

func TestComparePaths(t *testing.T) {
	sorted := []string{
		"", "a", "a[1]", "a[2]", "a[02]", "a[2].b", "a[2].b[9]", "a[2].b[10]", "a[10]", "a.b", "b", "b1", "b01", "b001", "b1x", "b2", "b99999999999999999998", "b99999999999999999999",
	}
	slices.SortFunc(sorted, comparePaths)
	for i, a := range sorted {
		for j, b := range sorted {
			if c := comparePaths(a, b); c < 0 != (i < j) || c > 0 != (i > j) {
				t.Errorf("%s and %s compare as %d", a, b, c)
			}
		}
	}
	if i, j := slices.Index(sorted, "a[2]"), slices.Index(sorted, "a[10]"); i > j {
		t.Error("[10] comes before [2]")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		again := slices.Clone(sorted)
		r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		slices.SortFunc(again, comparePaths)
		if !slices.Equal(again, sorted) {
			t.Fatalf("%q and %q", again, sorted)
		}
	}
}
