package compiler

import (
	"cmp"
	"slices"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/render"
)

// maxRounds bounds how often charts are rendered again since the CRDs of
// others changed.
const maxRounds = 10

// A rendering is what a release rendered to, given some API versions.
type rendering struct {
	done   bool
	saw    []string // API versions
	brings []string // API versions of its CRDs
	objs   []fleet.Object
	err    error
}

// render renders the releases of a cluster. Charts see the API versions of all
// CRDs in the bundle: those that ask for them are rendered again until the
// CRDs that came out are the CRDs that they saw.
func (f *Fleet) render(c *fleet.Cluster) ([]fleet.Object, error) {
	// CRDs come in early stages more often than not, which saves rounds.
	releases := slices.SortedStableFunc(slices.Values(c.Releases), func(a, b *fleet.Release) int {
		return cmp.Compare(slices.Index(c.Stages, a.Stage), slices.Index(c.Stages, b.Stage))
	})
	renderings := make([]rendering, len(releases))
	var apis []string
	for range maxRounds {
		again := false
		for i, r := range releases {
			ch, last := f.charts[r.Chart], &renderings[i]
			if last.done && (slices.Equal(last.saw, apis) || !ch.asksForAPIs) {
				continue
			}
			objs, err := render.Release(c, r, ch.Chart, apis)
			*last = rendering{done: true, saw: apis, brings: render.APIs(objs), objs: objs, err: err}
			again = true
			apis = brought(renderings)
		}
		if !again {
			return result(renderings)
		}
	}
	return nil, &diag.Diag{
		At: []diag.Pos{c.Pos}, Msg: "the charts never settle: they bring CRDs or not by what others bring",
		Hint: "list the API versions that charts look for in cluster.apis",
	}
}

// brought returns the API versions of all CRDs in the renderings, sorted.
func brought(renderings []rendering) []string {
	var all []string
	for _, r := range renderings {
		all = append(all, r.brings...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// result returns the objects of all renderings, or all their faults.
func result(renderings []rendering) ([]fleet.Object, error) {
	var faults diag.List
	var objs []fleet.Object
	for _, r := range renderings {
		faults.Add(r.err)
		objs = append(objs, r.objs...)
	}
	return objs, faults.Err()
}
