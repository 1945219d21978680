package diff

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
)

// A pair is an element of one list and that of another which it became; -1
// where there is none.
type pair struct{ was, is int }

// align says which elements of a list became which of another. Equal elements
// are paired along a longest common subsequence. Elements between them are
// paired by how alike they are. What takes more work than the budget, which
// it reduces, is paired by index.
func align(was, is []any, budget *int) []pair {
	start := 0
	for start < len(was) && start < len(is) && equal(was[start], is[start]) {
		start++
	}
	n, m := len(was), len(is)
	for n > start && m > start && equal(was[n-1], is[m-1]) {
		n, m = n-1, m-1
	}
	out := make([]pair, 0, max(len(was), len(is)))
	for i := range start {
		out = append(out, pair{i, i})
	}
	for _, p := range alignMiddle(was[start:n], is[start:m], budget) {
		if p.was >= 0 {
			p.was += start
		}
		if p.is >= 0 {
			p.is += start
		}
		out = append(out, p)
	}
	for i := n; i < len(was); i++ {
		out = append(out, pair{i, i - n + m})
	}
	return out
}

// alignMiddle is align without what is equal at the ends.
func alignMiddle(was, is []any, budget *int) []pair {
	all := gap{was1: len(was), is1: len(is)}
	*budget -= len(was) + len(is)
	switch {
	case len(was) == 0 || len(is) == 0:
		return byIndex(all)
	case len(was) == 1 && len(is) == 1:
		// Mostly there is one change, for which nothing has to be searched.
		if related(was[0], is[0]) {
			return byIndex(all)
		}
		return []pair{{0, -1}, {-1, 0}}
	}
	in := newInterner()
	same, ok := common(in.ids(was), in.ids(is), budget)
	if !ok {
		return byIndex(all)
	}
	var out []pair
	next := 0
	for _, g := range gaps(same, len(was), len(is)) {
		for ; next < len(same) && same[next].was < g.was0; next++ {
			out = append(out, same[next])
		}
		if work := (g.was1 - g.was0) * (g.is1 - g.is0); work > maxAlike || work > *budget {
			out = append(out, byIndex(g)...)
		} else {
			*budget -= 16 * work // looking for what is alike is slower
			out = append(out, in.alike(was, is, g)...)
		}
	}
	return append(out, same[next:]...)
}

// related reports whether one value may be shown as a change of another.
func related(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		for k := range a {
			if _, ok := b[k]; ok {
				return true
			}
		}
		return false
	case []any:
		_, ok := b.([]any)
		return ok
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// maxAlike is how many pairs of elements are looked at for one gap.
const maxAlike = 32 * 32

// byIndex pairs the elements of a gap one by one.
func byIndex(g gap) []pair {
	var out []pair
	for g.was0 < g.was1 && g.is0 < g.is1 {
		out = append(out, pair{g.was0, g.is0})
		g.was0, g.is0 = g.was0+1, g.is0+1
	}
	for i := g.was0; i < g.was1; i++ {
		out = append(out, pair{i, -1})
	}
	for j := g.is0; j < g.is1; j++ {
		out = append(out, pair{-1, j})
	}
	return out
}

// An interner gives equal values, and only those, the same number.
type interner struct {
	seed   maphash.Seed
	values map[uint64][]interned
	n      int
}

type interned struct {
	value any
	id    int
}

func newInterner() *interner {
	return &interner{seed: maphash.MakeSeed(), values: map[uint64][]interned{}}
}

func (in *interner) id(v any) int {
	var h maphash.Hash
	h.SetSeed(in.seed)
	digest(&h, v)
	key := h.Sum64()
	for _, e := range in.values[key] {
		if equal(e.value, v) {
			return e.id
		}
	}
	in.n++
	in.values[key] = append(in.values[key], interned{v, in.n})
	return in.n
}

func (in *interner) ids(values []any) []int {
	out := make([]int, len(values))
	for i, v := range values {
		out[i] = in.id(v)
	}
	return out
}

// alike pairs elements of a gap, in their order, so that the pairs are as
// much alike as they can be.
func (in *interner) alike(was, is []any, g gap) []pair {
	olds, news := in.traits(was[g.was0:g.was1]), in.traits(is[g.is0:g.is1])
	// best[i][j] is the score of what is left from i and j on.
	best := make([][]int, len(olds)+1)
	for i := range best {
		best[i] = make([]int, len(news)+1)
	}
	for i := len(olds) - 1; i >= 0; i-- {
		for j := len(news) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if score := olds[i].likeness(news[j]); score > 0 {
				best[i][j] = max(best[i][j], best[i+1][j+1]+score)
			}
		}
	}
	var out []pair
	i, j := 0, 0
	for i < len(olds) && j < len(news) {
		score := olds[i].likeness(news[j])
		switch {
		case score > 0 && best[i][j] == best[i+1][j+1]+score:
			out = append(out, pair{g.was0 + i, g.is0 + j})
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			out = append(out, pair{g.was0 + i, -1})
			i++
		default:
			out = append(out, pair{-1, g.is0 + j})
			j++
		}
	}
	return append(out, byIndex(gap{g.was0 + i, g.was1, g.is0 + j, g.is1})...)
}

// traits is what an element is recognised by when it has changed.
type traits struct {
	kind   byte
	fields map[string]int // of a map: the number of each field's value
	flag   string         // of a text: what is before the first =, as in --flag=value
}

func (in *interner) traits(values []any) []traits {
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

// likeness is 0 for what had better not be shown as a change of one to the
// other.
func (t traits) likeness(u traits) int {
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
