package unify

import (
	"cmp"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// SharedLines returns faults of values with other hints where the line is right for clusters
// with another version of the chart: to remove or correct it there would break these. gitVersion
// returns the version in the Chart.yaml of a chart from git; empty for an unknown one.
func SharedLines(clusters []*fleet.Cluster, faults diag.List, gitVersion func(fleet.ChartRef) string) diag.List {
	type value struct {
		path string
		at   diag.Pos
	}
	byID, faulty := map[string]*fleet.Cluster{}, map[value][]string{}
	for _, c := range clusters {
		byID[c.ID] = c
	}
	for _, d := range faults {
		if len(d.At) > 0 {
			v := value{d.Path, d.At[0]}
			faulty[v] = append(faulty[v], d.Clusters...)
		}
	}
	var out diag.List
	for _, d := range faults {
		if len(d.At) > 0 && len(d.Clusters) > 0 {
			own, other := versionsOf(clusters, faulty[value{d.Path, d.At[0]}], byID[d.Clusters[0]], d)
			d = withVersions(d, own, other, gitVersion)
		}
		out = append(out, d)
	}
	return out
}

// versionsOf returns the chart in a cluster with a fault, and that in a cluster that has the value
// without the fault. It returns none if all such clusters have the same.
func versionsOf(clusters []*fleet.Cluster, faulty []string, of *fleet.Cluster, d *diag.Diag) (own, other fleet.ChartRef) {
	keys, ok := fleet.ParseField(d.Path)
	if !ok || len(keys) < 4 || keys[0] != "releases" || of == nil || of.Release(keys[1]) == nil {
		return own, other
	}
	pin := of.Release(keys[1]).Chart
	for _, c := range clusters {
		r := c.Release(keys[1])
		if r == nil || r.Chart == pin || slices.Contains(faulty, c.ID) {
			continue
		}
		if fleet.IsWithin("environments/"+c.ID, path.Dir(d.At[0].File)) && r.Values.At(keys[3:]...) != nil {
			return pin, r.Chart
		}
	}
	return own, other
}

// commitLength is the length of a full commit hash.
const commitLength = 40

// withVersions returns a fault with the hint for a line that another version of the chart needs. The
// commits of charts from git are named only if their versions are equal.
func withVersions(d *diag.Diag, own, other fleet.ChartRef, gitVersion func(fleet.ChartRef) string) *diag.Diag {
	version := func(ref fleet.ChartRef) string {
		if len(ref.Git.Ref) == commitLength {
			return gitVersion(ref)
		}
		return cmp.Or(ref.Version, ref.Git.Ref)
	}
	before, after := version(other), version(own)
	if before == after {
		before, after = other.Git.Ref, own.Git.Ref
	}
	if before == "" || after == "" {
		return d
	}
	with := ""
	if d.Code == diag.CodeUnreadValue {
		with = "with null "
	}
	out := *d
	out.Fixes = nil
	out.Hint = "other clusters need this line for version " + before + " of the chart: move it to their layers, or override a default " + with + "where version " + after + " is selected"
	return &out
}
