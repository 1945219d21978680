package load

import (
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Matches reports whether the pattern selects the cluster with the given ID,
// see [fleet.MatchCluster]. A path from shell completion is equivalent to the
// ID.
func Matches(pattern, id string) bool {
	ok, err := fleet.MatchCluster(CleanPattern(pattern), id)
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
		clean := CleanPattern(p)
		found := false
		for _, id := range ids {
			ok, err := fleet.MatchCluster(clean, id)
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
			hint, _ := fleet.ClusterHint(clean, ids)
			if p == "" {
				faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: "an argument is empty, and names no cluster", Hint: "write the ID of a cluster, or leave the argument out for all clusters"})
				continue
			}
			faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: "no cluster matches " + p, Hint: hint})
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !selected[id] }), faults.Err()
}

// CleanPattern normalizes a cluster pattern for [fleet.MatchCluster]: it
// removes the prefix that shell completion adds.
func CleanPattern(pattern string) string {
	return strings.TrimPrefix(path.Clean(pattern), environments+"/")
}
