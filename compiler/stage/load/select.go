package load

import (
	"cmp"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Matches reports whether the pattern selects the cluster with the given ID,
// see [fleet.MatchCluster].
func Matches(pattern, id string) bool {
	ok, err := fleet.MatchCluster(pattern, id)
	return ok && err == nil
}

// selectLeaves returns the directories of the clusters that the patterns
// select; all without patterns. A pattern that selects nothing is a fault.
func selectLeaves(leaves, patterns []string) ([]string, error) {
	if len(patterns) == 0 && len(leaves) == 0 {
		return nil, &diag.Diag{
			Code: diag.CodeNoClusters,
			At:   []diag.Pos{{File: environments}}, Msg: "the fleet has no clusters",
			Hint: "write environments/<environment>/<cluster>/cluster.cue with cluster: {name: ..., kubernetes: ...}",
		}
	}
	selected, err := Select(diag.Each(leaves, idOf), patterns)
	return slices.DeleteFunc(slices.Clone(leaves), func(l string) bool { return !slices.Contains(selected, idOf(l)) }), err
}

// Select returns the cluster IDs that the patterns select, in order; all
// without patterns. A pattern that selects nothing is a fault.
func Select(ids, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return ids, nil
	}
	var faults diag.List
	selected := map[string]bool{}
	for _, p := range patterns {
		found := false
		for _, id := range ids {
			ok, err := fleet.MatchCluster(p, id)
			if err != nil {
				faults.Add(&diag.Diag{Code: diag.CodeFlagValue, Msg: "cluster pattern " + p + " has a syntax error", Hint: `write it as in "prod/*" or "prod/eu-[12]"`})
				found = true
				break
			}
			if ok {
				selected[id], found = true, true
			}
		}
		if !found {
			hint, _ := fleet.ClusterHint(p, ids)
			if p == "" {
				faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: "an argument is empty, and names no cluster", Hint: "write the ID of a cluster, or leave the argument out for all clusters"})
				continue
			}
			faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: "no cluster matches " + p, Hint: hint})
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !selected[id] }), faults.Err()
}

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

// A LayerFiles is a layer with the names of its files, sorted, relative to the fleet's root.
type LayerFiles struct {
	fleet.Layer
	Files []string
}

// Layers returns the layers of the fleet at root, those of clusters included, sorted by
// directory.
func Layers(root string) ([]LayerFiles, error) {
	t, err := scan(root)
	if err != nil {
		return nil, err
	}
	var out []LayerFiles
	for _, dir := range t.dirs {
		l := LayerFiles{Layer: fleet.Layer{Name: layerName(dir), Dir: dir}}
		for _, name := range t.files[dir] {
			l.Files = append(l.Files, path.Join(dir, name))
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b LayerFiles) int { return cmp.Compare(a.Dir, b.Dir) })
	return out, nil
}
