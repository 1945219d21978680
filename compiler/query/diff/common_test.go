package diff

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// longest returns the length of a longest common subsequence, as its
// definition has it.
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
		got, ok := common(a, b, &budget)
		if !ok || len(got) != longest(a, b) {
			t.Fatalf("common(%v, %v) = %v, %t, want %d pairs", a, b, got, ok, longest(a, b))
		}
		for i, p := range got {
			if a[p.was] != b[p.is] || i > 0 && (p.was <= got[i-1].was || p.is <= got[i-1].is) {
				t.Fatalf("common(%v, %v) = %v", a, b, got)
			}
		}
		// The gaps and the pairs are all there is.
		var was, is int
		for _, g := range gaps(got, len(a), len(b)) {
			was, is = was+g.was1-g.was0, is+g.is1-g.is0
			if was+is == 0 {
				t.Fatalf("an empty gap in %v", got)
			}
		}
		if was+len(got) != len(a) || is+len(got) != len(b) {
			t.Fatalf("the gaps of %v have %d and %d elements", got, was, is)
		}
	}
}

func TestCommonIsBounded(t *testing.T) {
	a, b := make([]int, 20_000), make([]int, 20_000)
	for i := range a {
		a[i], b[i] = i, -i-1
	}
	budget := maxWork
	if got, ok := common(a, b, &budget); ok {
		t.Errorf("%d pairs of lists that have nothing in common", len(got))
	}
	if budget < 0 || budget == maxWork {
		t.Errorf("%d of %d steps are left", budget, maxWork)
	}
	// With little budget it ends early.
	budget = 100
	if _, ok := common(a, b, &budget); ok || budget < -100 {
		t.Errorf("it took %d steps of 100", 100-budget)
	}
	// One that is inserted at the start of many is found.
	budget = maxWork
	if got, ok := common(a, slices.Insert(slices.Clone(a), 0, -1), &budget); !ok || len(got) != len(a) {
		t.Errorf("%d pairs, %t", len(got), ok)
	}
}
