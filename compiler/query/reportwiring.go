package query

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// addWiring adds the references and dependencies between releases.
func (m *maker) addWiring() error {
	m.Wiring = []ReportWire{}
	found, err := load.ReleaseReferences(m.f.Dir, m.layers)
	if err != nil {
		return err
	}
	names := m.f.ReleaseNames()
	for _, ref := range found {
		if _, ok := slices.BinarySearch(names, ref.From); !ok {
			continue
		}
		if _, ok := slices.BinarySearch(names, ref.To); ok {
			m.Wiring = append(m.Wiring, ReportWire{ref.From, ref.To, ReferenceWire, ref.Path, m.links.place(ref.Pos)})
		}
	}
	seen := map[[2]string]bool{}
	for _, c := range m.f.Clusters {
		for _, r := range c.Releases {
			for _, to := range r.Depends {
				if pair := [2]string{r.Name, to}; !seen[pair] {
					seen[pair] = true
					m.Wiring = append(m.Wiring, ReportWire{r.Name, to, OrderWire, "", m.links.place(r.Pos)})
				}
			}
		}
	}
	slices.SortFunc(m.Wiring, func(a, b ReportWire) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path), comparePlaces(a.Place, b.Place))
	})
	m.Wiring = slices.CompactFunc(m.Wiring, func(a, b ReportWire) bool { // the first line of each
		return a.From == b.From && a.To == b.To && a.Kind == b.Kind && a.Path == b.Path
	})
	return nil
}

// addWaves adds the waves of the rollout with the selected clusters.
func (m *maker) addWaves() {
	m.Waves = []ReportWave{}
	if len(m.f.Clusters) == 0 || m.f.Clusters[0].Rollout == nil {
		return
	}
	order := m.f.Clusters[0].Rollout
	clusters := order.Clusters(m.f.Clusters)
	for i := range order.Waves {
		w := &order.Waves[i]
		out := ReportWave{Name: w.Name, Clusters: append([]string{}, fleet.IDs(clusters[i])...), Approve: w.Approve, Place: m.links.place(w.Pos)}
		if w.Parallel > 0 || w.Share > 0 {
			out.AtATime = w.AtATime(len(clusters[i]))
		}
		if w.Soak > 0 {
			out.Soak = shortDuration(w.Soak)
		}
		for _, a := range w.Verify {
			out.Verify = append(out.Verify, a.Name)
		}
		m.Waves = append(m.Waves, out)
	}
}

// shortDuration returns a duration without units that are zero at its end.
func shortDuration(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}
