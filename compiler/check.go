package compiler

import (
	"context"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/stage/source/jsonnet"
)

// checkValues checks the values of every release of the clusters against the
// types of its chart, or the parameters of its Jsonnet file.
func (f *Fleet) checkValues(ctx context.Context, clusters *fleet.Fleet) diag.List {
	type use struct {
		cluster string
		release *fleet.Release
		chart   LoadedChart
	}
	var uses []use
	for _, c := range clusters.Clusters {
		for _, r := range c.Releases {
			// Other sources take no values, and a chart may be missing.
			if ch, ok := f.Charts[r.Chart]; ok || r.Jsonnet != "" {
				uses = append(uses, use{c.ID, r, ch})
			}
		}
	}
	checked := ordered.Map(ctx, f.Parallel, len(uses), func(ctx context.Context, i int) (diag.List, error) {
		var faults diag.List
		u := uses[i]
		if u.release.Jsonnet != "" {
			err := f.jsonnet.Check(ctx, jsonnet.Request{File: u.release.Jsonnet, Params: u.release.Values.Value(), Release: u.release})
			faults.Add(diag.In(u.cluster, err))
			return faults, nil
		}
		check := u.chart.Types.Check
		if u.release.Typed {
			check = u.chart.Types.CheckTyped
		}
		for _, d := range check(u.release.Values, u.release.Open, u.chart.accepted.Remember) {
			faults.Add(diag.In(u.cluster, ofRelease(u.release, d)))
		}
		return faults, nil
	})
	defer f.keepFound()
	var faults diag.List
	for found, err := range checked {
		faults = append(faults, found...)
		faults.Add(err)
	}
	return faults
}

// withoutCovered returns what CUE finds at fault, without that about values of
// which the check of the types says more: the same line of the same cluster.
func withoutCovered(evaluation error, checked diag.List) error {
	type place struct {
		cluster, path string
		pos           diag.Pos
	}
	covered := map[place]bool{}
	for _, d := range checked {
		for _, c := range d.Clusters {
			covered[place{cluster: c, path: d.Path}] = true
			covered[place{cluster: c, pos: d.At[0]}] = true
		}
	}
	var out diag.List
	for _, d := range diag.All(evaluation) {
		path, left := cuediag.ValuesPath(d.Path), *d
		left.Clusters = slices.DeleteFunc(slices.Clone(d.Clusters), func(c string) bool {
			return covered[place{cluster: c, path: path}] || len(d.At) > 0 && covered[place{cluster: c, pos: d.At[0]}]
		})
		if len(left.Clusters) > 0 || len(d.Clusters) == 0 {
			out = append(out, &left)
		}
	}
	return out.Err()
}

// ofRelease returns the fault as one of the release, whose line it has when it
// has none of its own.
func ofRelease(r *fleet.Release, d *diag.Diag) *diag.Diag {
	of := *d
	of.Path = r.Path(d.Path)
	if len(of.At) == 0 {
		of.At = []diag.Pos{r.Pos}
	}
	return &of
}

// keepFound keeps what was found out of the charts' values.
func (f *Fleet) keepFound() {
	for ch := range maps.Values(f.Charts) {
		ch.accepted.Keep()
		if ch.Types.Grown() {
			f.Results.KeepTypes(ch.Chart, ch.Types)
		}
	}
}
