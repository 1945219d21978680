package diff

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// longest returns the length of a longest common subsequence, by its
// definition.
func longest(a, b []int) int {
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				best[i+1][j+1] = best[i][j] + 1
			} else {
				best[i+1][j+1] = max(best[i][j+1], best[i+1][j])
			}
		}
	}
	return best[len(a)][len(b)]
}

func TestCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := func() []int {
		out := make([]int, r.IntN(14))
		for i := range out {
			out[i] = r.IntN(5)
		}
		return out
	}
	for range 50_000 {
		a, b := random(), random()
		budget := maxWork
		got := common(a, b, &budget)
		if len(got) != longest(a, b) {
			t.Fatalf("common(%v, %v) = %v, want %d pairs", a, b, got, longest(a, b))
		}
		for i, p := range got {
			if a[p.before] != b[p.after] || i > 0 && (p.before <= got[i-1].before || p.after <= got[i-1].after) {
				t.Fatalf("common(%v, %v) = %v", a, b, got)
			}
		}
		// Gaps and pairs cover both lists.
		var before, after int
		for _, g := range gaps(got, len(a), len(b)) {
			before, after = before+g.before1-g.before0, after+g.after1-g.after0
			if before+after == 0 {
				t.Fatalf("an empty gap in %v", got)
			}
		}
		if before+len(got) != len(a) || after+len(got) != len(b) {
			t.Fatalf("the gaps of %v have %d and %d elements", got, before, after)
		}
	}
}

func TestCommonIsBounded(t *testing.T) {
	a, b := make([]int, 20_000), make([]int, 20_000)
	for i := range a {
		a[i], b[i] = i, -i-1
	}
	budget := maxWork
	if got := common(a, b, &budget); len(got) > 0 {
		t.Errorf("%d pairs of lists that have nothing in common", len(got))
	}
	if budget < 0 || budget == maxWork {
		t.Errorf("%d of %d steps are left", budget, maxWork)
	}
	// It stops early with a small budget.
	budget = 100
	if common(a, b, &budget); budget < -100 {
		t.Errorf("it took %d steps of 100", 100-budget)
	}
	// An insertion at the start of a long list is found.
	budget = maxWork
	if got := common(a, slices.Insert(slices.Clone(a), 0, -1), &budget); len(got) != len(a) {
		t.Errorf("%d pairs", len(got))
	}
}
