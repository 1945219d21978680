package render

import (
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// templateValues enables the dependencies of the chart and returns the values that its
// templates see, and the values that are lost. It modifies the chart, which is an
// [instance], but not the user's values.
func templateValues(loaded *chart.Chart, r *fleet.Release, user map[string]any, caps *chartutil.Capabilities) (chartutil.Values, []fleet.LostValue, error) {
	values, lost, err := fleet.CoalesceValues(loaded, user)
	if err != nil {
		return nil, lost, err
	}
	return chartutil.Values{
		"Chart":        loaded.Metadata,
		"Capabilities": caps,
		"Release": map[string]any{
			"Name": r.Name, "Namespace": r.Namespace, "IsUpgrade": false, "IsInstall": true, "Revision": 1, "Service": "Helm",
		},
		"Values": chartutil.Values(values),
	}, lost, nil
}

// lostValues reports the user's values that are lost. Losses that occur with
// the chart's own values alone are not reported.
func (j *job) lostValues(lost []fleet.LostValue) error {
	if len(lost) == 0 {
		return nil
	}
	_, own, err := fleet.CoalesceValues(instance(j.source.chart), nil)
	if err != nil {
		own = nil // the chart does not merge even without the user's values
	}
	var faults diag.List
	for _, l := range lost {
		if !slices.Contains(own, l) {
			faults.Add(lostValue(j.release, l.Keys(), l.Why))
		}
	}
	return faults.Err()
}

// lostValue returns the fault for the user's value whose path ends in the
// keys.
func lostValue(r *fleet.Release, keys []string, msg string) error {
	d := &diag.Diag{
		Code: diag.CodeChartType,
		At:   []diag.Pos{r.Pos}, Path: r.Path(append([]string{"values"}, keys...)...),
		Msg: msg, Hint: "give it the type that the chart's values.yaml has",
	}
	if path, t := find(r.Values, keys); t != nil {
		d.Path = r.Path(append([]string{"values"}, path...)...)
		if t.Pos.IsValid() {
			d.At = []diag.Pos{t.Pos}
		}
	}
	return d
}

// find returns the first value, in key order, whose path ends in the given
// keys, and that path.
func find(t *fleet.Tree, end []string) ([]string, *fleet.Tree) {
	if at, depth := t.Lookup(end...); depth == len(end) {
		return end, at
	}
	for _, k := range t.Keys() {
		if path, at := find(t.Fields[k], end); at != nil {
			return append([]string{k}, path...), at
		}
	}
	return nil, nil
}
