package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// ChartUse is the uses of a chart in a fleet.
type ChartUse struct {
	Release  *Release // the first release of the chart
	Clusters []string // IDs of all clusters with a release of the chart
}

// ChartUsers returns the charts of a fleet and their uses.
func ChartUsers(f *Fleet) map[ChartRef]*ChartUse {
	users := map[ChartRef]*ChartUse{}
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			if r.Chart == (ChartRef{}) {
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
	return diag.Changed(err, func(d *diag.Diag) {
		d.At = append(slices.Clone(d.At), u.Release.SourcePos)
		d.Clusters = u.Clusters
		d.Path = u.Release.Path("chart")
	})
}

// SortedRefs returns the charts of a fleet in the order of their text.
func SortedRefs(users map[ChartRef]*ChartUse) []ChartRef {
	return slices.SortedFunc(maps.Keys(users), func(a, b ChartRef) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.Digest, b.Digest))
	})
}
