package fleet

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

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
