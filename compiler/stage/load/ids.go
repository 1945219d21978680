package load

import "slices"

// UnionIDs returns the IDs that are in either of two sorted lists, sorted.
func UnionIDs(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// CommonIDs returns the IDs that are in both of two sorted lists.
func CommonIDs(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !HasID(b, s) })
}

// HasID reports whether an ID is in a sorted list.
func HasID(list []string, s string) bool {
	_, ok := slices.BinarySearch(list, s)
	return ok
}

// PatternsOf returns patterns that select the given clusters of all of a fleet: none,
// which select all, when they are all.
func PatternsOf(ids, all []string) []string {
	if len(ids) == len(all) {
		return nil
	}
	return ids
}
