package diff

import "slices"

// maxEdits limits the length of the edit script, and so the memory that common
// uses.
const maxEdits = 1000

// common returns the index pairs of a longest common subsequence of a and b.
// It reduces the budget by its work. When the budget or maxEdits is exceeded, it
// returns the equal elements at both ends.
//
// It uses Myers' algorithm: it searches the shortest path from the start of
// both lists to their ends, where a step skips an element of one list and
// equal elements are free. It is fast when there are few changes.
func common(a, b []int, budget *int) []pair {
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
	for _, p := range shortest(a[start:n], b[start:m], budget) {
		out = append(out, pair{start + p.before, start + p.after})
	}
	for i := n; i < len(a); i++ {
		out = append(out, pair{i, i - n + m})
	}
	return out
}

// shortest is common without the equal elements at both ends.
func shortest(a, b []int, budget *int) []pair {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	limit := min(len(a)+len(b), maxEdits)
	// reach[limit+k] is the furthest index in a on the diagonal k, on which
	// the index in a is k larger than in b.
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
				return backtrack(trace, len(a), len(b))
			}
		}
		if *budget < 0 {
			return nil
		}
		trace = append(trace, append([]int32(nil), reach[limit-d:limit+d+1]...))
	}
	return nil
}

// backtrack returns the equal elements on the path to (x, y). trace holds the
// points that were reached after each step.
func backtrack(trace [][]int32, x, y int) []pair {
	var out []pair
	for d := len(trace); d > 0; d-- {
		last := trace[d-1] // for the diagonals from 1-d to d-1
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

// A gap is a range of two lists without common elements.
type gap struct{ before0, before1, after0, after1 int }

// gaps returns the ranges between the pairs of two lists of lengths n and m.
func gaps(same []pair, n, m int) []gap {
	var out []gap
	i, j := 0, 0
	for _, p := range append(same[:len(same):len(same)], pair{n, m}) {
		if p.before > i || p.after > j {
			out = append(out, gap{i, p.before, j, p.after})
		}
		i, j = p.before+1, p.after+1
	}
	return out
}
