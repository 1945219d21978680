package fleet

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	const want = "one\ntwo\nthree\n"
	for _, text := range []Text{
		{[]byte(want)},
		{nil, []byte(want)},
		{nil, nil, []byte(want)},
		{[]byte("one\n"), []byte("two\n"), []byte("three\n")},
		{[]byte("o"), nil, []byte(want[1:])},
	} {
		if text.String() != want || text.Len() != len(want) || text.Sum() != sha256.Sum256([]byte(want)) {
			t.Errorf("%q is %q of %d bytes, %s", text, text.String(), text.Len(), text.Sum())
		}
		if got := string(text.AppendTo([]byte("zero\n"))); got != "zero\n"+want {
			t.Errorf("got %q", got)
		}
		for data, equal := range map[string]bool{want: true, want[1:]: false, want + "\n": false, "": false, "One\ntwo\nthree\n": false, "one\ntwo\nthreE\n": false} {
			if text.Equal([]byte(data)) != equal {
				t.Errorf("%q equals %q: %v", text, data, !equal)
			}
		}
	}
	if !(Text{}).Equal(nil) || (Text{}).Equal([]byte("x")) {
		t.Error("an empty text is not empty")
	}
}

// The search finds the same texts as strings.Contains: parts of the patterns in any order.
func TestTextSearch(t *testing.T) {
	patterns := append([]string{referenceStart}, encodedStarts...)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 200_000 {
		var text strings.Builder
		for range random.IntN(4) {
			p := patterns[random.IntN(len(patterns))]
			from := random.IntN(3) * random.IntN(2)
			text.WriteString(p[from : len(p)-random.IntN(3)*random.IntN(2)])
			text.WriteString("abKG(:="[:random.IntN(8)])
		}
		want := slices.ContainsFunc(patterns, func(p string) bool { return strings.Contains(text.String(), p) })
		if want {
			found++
		}
		if got := startSearch.in(text.String()); got != want {
			t.Fatalf("%q: got %t", text.String(), got)
		}
	}
	if found < 10_000 || found > 190_000 {
		t.Errorf("%d texts contain a pattern", found)
	}
}
