package diff

import "slices"

// maxEdits bounds the length of the edit script that common looks for, and
// with it the memory that it takes.
const maxEdits = 1000

// common returns the places of a longest common subsequence of a and b. It
// takes away from the budget what it needs, and reports false when that or
// maxEdits does not suffice.
//
// It looks for the shortest way from the start of both to their ends, where a
// step takes an element of one side alone, and equal elements are passed for
// nothing; the points reached with d steps follow from those with d-1. That is
// Myers' algorithm: fast when little has changed.
func common(a, b []int, budget *int) ([]pair, bool) {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	n, m := len(a), len(b)
	for n > start && m > start && a[n-1] == b[m-1] {
		n, m = n-1, m-1
	}
	var out []pair
	for i := range start {
		out = append(out, pair{i, i})
	}
	middle, ok := shortest(a[start:n], b[start:m], budget)
	if !ok {
		return nil, false
	}
	for _, p := range middle {
		out = append(out, pair{start + p.was, start + p.is})
	}
	for i := n; i < len(a); i++ {
		out = append(out, pair{i, i - n + m})
	}
	return out, true
}

// shortest is common without what is equal at the ends.
func shortest(a, b []int, budget *int) ([]pair, bool) {
	if len(a) == 0 || len(b) == 0 {
		return nil, true
	}
	limit := min(len(a)+len(b), maxEdits)
	// reach[limit+k] is how far into a one gets on the diagonal k, where one
	// is k further in a than in b.
	reach := make([]int32, 2*limit+2)
	var trace [][]int32
	for d := range limit + 1 {
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && reach[limit+k-1] < reach[limit+k+1]:
				x = int(reach[limit+k+1])
			default:
				x = int(reach[limit+k-1]) + 1
			}
			y, from := x-k, x
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			reach[limit+k] = int32(x)
			*budget -= 1 + x - from
			if x >= len(a) && y >= len(b) {
				return backtrack(trace, len(a), len(b)), true
			}
		}
		if *budget < 0 {
			return nil, false
		}
		trace = append(trace, append([]int32(nil), reach[limit-d:limit+d+1]...))
	}
	return nil, false
}

// backtrack returns the equal elements on the way to (x, y), of which trace
// has the points that were reached after each step.
func backtrack(trace [][]int32, x, y int) []pair {
	var out []pair
	for d := len(trace); d > 0; d-- {
		last := trace[d-1] // of the diagonals from 1-d to d-1
		at := func(k int) int { return int(last[k+d-1]) }
		k := x - y
		prev := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			prev = k + 1
		}
		px := at(prev)
		py, from := px-prev, px
		if prev < k {
			from++ // the step itself
		}
		for x > from {
			x, y = x-1, y-1
			out = append(out, pair{x, y})
		}
		x, y = px, py
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		out = append(out, pair{x, y})
	}
	slices.Reverse(out)
	return out
}

// A gap is a stretch of two lists that have nothing in common there.
type gap struct{ was0, was1, is0, is1 int }

// gaps returns what is between the pairs of two lists of lengths n and m.
func gaps(same []pair, n, m int) []gap {
	var out []gap
	i, j := 0, 0
	for _, p := range append(same[:len(same):len(same)], pair{n, m}) {
		if p.was > i || p.is > j {
			out = append(out, gap{i, p.was, j, p.is})
		}
		i, j = p.was+1, p.is+1
	}
	return out
}
