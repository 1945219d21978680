package compiler

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// ChartUse is the uses of a chart in a fleet.
type ChartUse struct {
	Release  *fleet.Release // the first release of the chart
	Clusters []string       // IDs of all clusters with a release of the chart
}

// ChartUsers returns the charts of a fleet and their uses.
func ChartUsers(f *fleet.Fleet) map[fleet.ChartRef]*ChartUse {
	users := map[fleet.ChartRef]*ChartUse{}
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			if r.Chart == (fleet.ChartRef{}) {
				continue
			}
			u := users[r.Chart]
			if u == nil {
				u = &ChartUse{Release: r}
				users[r.Chart] = u
			}
			if !slices.Contains(u.Clusters, c.ID) {
				u.Clusters = append(u.Clusters, c.ID)
			}
		}
	}
	return users
}

// Blame adds the line that pins the chart, and the clusters, to the faults of err.
func (u *ChartUse) Blame(err error) error {
	var out diag.List
	for _, d := range diag.All(err) {
		at := *d
		at.At = append(slices.Clone(d.At), u.Release.SourcePos)
		at.Clusters = u.Clusters
		at.Path = u.Release.Path("chart")
		out = append(out, &at)
	}
	return out.Err()
}

// SortedRefs returns the charts of a fleet in the order of their text.
func SortedRefs(users map[fleet.ChartRef]*ChartUse) []fleet.ChartRef {
	return slices.SortedFunc(maps.Keys(users), func(a, b fleet.ChartRef) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.Digest, b.Digest))
	})
}
