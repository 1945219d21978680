package diff

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A pair holds the indices of one element before and after; -1 means that it
// does not exist.
type pair struct{ before, after int }

// align pairs the elements of two lists. Equal elements are paired along a
// longest common subsequence, and elements between them by similarity. Parts
// that exceed the budget, which align reduces, are paired by index.
func align(before, after []any, budget *int) []pair {
	*budget -= len(before) + len(after)
	in := interner{}
	same := common(in.ids(before), in.ids(after), budget)
	var out []pair
	next := 0
	for _, g := range gaps(same, len(before), len(after)) {
		for ; next < len(same) && same[next].before < g.before0; next++ {
			out = append(out, same[next])
		}
		if work := (g.before1 - g.before0) * (g.after1 - g.after0); work > maxSimilarPairs || work > *budget {
			out = append(out, byIndex(g)...)
		} else {
			*budget -= 16 * work // similarity is slower to compute
			out = append(out, in.pairSimilar(before, after, g)...)
		}
	}
	return append(out, same[next:]...)
}

// maxSimilarPairs limits the pairs of elements that are compared for one gap.
const maxSimilarPairs = 32 * 32

// byIndex pairs the elements of a gap by index.
func byIndex(g gap) []pair {
	var out []pair
	for g.before0 < g.before1 && g.after0 < g.after1 {
		out = append(out, pair{g.before0, g.after0})
		g.before0, g.after0 = g.before0+1, g.after0+1
	}
	for i := g.before0; i < g.before1; i++ {
		out = append(out, pair{i, -1})
	}
	for j := g.after0; j < g.after1; j++ {
		out = append(out, pair{-1, j})
	}
	return out
}

// An interner assigns the same number to equal values, and different numbers
// to others.
type interner map[sum]int

func (in interner) id(v any) int {
	key := sumOf(v)
	if _, known := in[key]; !known {
		in[key] = len(in)
	}
	return in[key]
}

func (in interner) ids(values []any) []int {
	return diag.Each(values, in.id)
}

// pairSimilar pairs elements of a gap in order, with the highest total
// similarity.
func (in interner) pairSimilar(before, after []any, g gap) []pair {
	olds, news := in.traits(before[g.before0:g.before1]), in.traits(after[g.after0:g.after1])
	// best[i][j] is the best score of the elements from i and j on.
	best := make([][]int, len(olds)+1)
	for i := range best {
		best[i] = make([]int, len(news)+1)
	}
	for i := len(olds) - 1; i >= 0; i-- {
		for j := len(news) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if score := olds[i].similarity(news[j]); score > 0 {
				best[i][j] = max(best[i][j], best[i+1][j+1]+score)
			}
		}
	}
	var out []pair
	i, j := 0, 0
	for i < len(olds) && j < len(news) {
		score := olds[i].similarity(news[j])
		switch {
		case score > 0 && best[i][j] == best[i+1][j+1]+score:
			out = append(out, pair{g.before0 + i, g.after0 + j})
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			out = append(out, pair{g.before0 + i, -1})
			i++
		default:
			out = append(out, pair{-1, g.after0 + j})
			j++
		}
	}
	return append(out, byIndex(gap{g.before0 + i, g.before1, g.after0 + j, g.after1})...)
}

// traits are the properties by which a changed element is recognised.
type traits struct {
	kind   byte
	fields map[string]int // of a map: the number of each field's value
	flag   string         // of a text: the part before the first =, as in --flag=value
}

func (in interner) traits(values []any) []traits {
	out := make([]traits, len(values))
	for i, v := range values {
		t := traits{kind: 's'}
		switch v := v.(type) {
		case map[string]any:
			t.kind, t.fields = 'm', make(map[string]int, len(v))
			for _, k := range slices.Sorted(maps.Keys(v)) {
				t.fields[k] = in.id(v[k])
			}
		case []any:
			t.kind = 'l'
		case string:
			if flag, _, ok := strings.Cut(v, "="); ok {
				t.flag = flag
			}
		}
		out[i] = t
	}
	return out
}

// similarity returns 0 for elements that should not be shown as a change of
// one another.
func (t traits) similarity(u traits) int {
	if t.kind != u.kind {
		return 0
	}
	if t.kind != 'm' {
		if t.flag != "" && t.flag == u.flag {
			return 8
		}
		return 1
	}
	score := 0
	for k, id := range t.fields {
		if other, ok := u.fields[k]; ok {
			score++
			if id == other {
				score += 8
			}
		}
	}
	return score
}
