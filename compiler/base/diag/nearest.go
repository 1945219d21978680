package diag

import (
	"slices"
	"strings"
)

// DidYouMean returns a hint with the word of among that is nearest to word, or
// "" if none is near. Ties are broken alphabetically.
func DidYouMean(word string, among []string) string {
	if near := Nearest(word, among); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// maxListed is the maximum number of words in a hint.
const maxListed = 14

// OneOf returns the DidYouMean hint or, if no word is near, a hint that lists
// all words. It returns "" if there are none or too many.
func OneOf(word string, among []string) string {
	if hint := DidYouMean(word, among); hint != "" {
		return hint
	}
	if len(among) == 0 || len(among) > maxListed {
		return ""
	}
	if len(among) == 1 {
		return "use " + among[0]
	}
	return "use one of " + strings.Join(among, ", ")
}

// Nearest returns the word of among that is nearest to word, or "" if none is
// near. Ties are broken alphabetically.
func Nearest(word string, among []string) string {
	// A third of the word may differ: "prd" finds "prod", "x" finds nothing.
	best, limit := "", min(max(1, len(word)/3), len(word)-1)+1
	for _, w := range slices.Sorted(slices.Values(among)) {
		if d := distance(strings.ToLower(word), strings.ToLower(w)); w != word && d < limit {
			best, limit = w, d
		}
	}
	return best
}

// distance returns the optimal string alignment distance of a and b in bytes:
// the number of insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, up, up2 := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(up[j]+1, row[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], up2[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
