package importer

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// contentCodes are the codes of faults that files of the repository bring: numbers and texts that
// a fleet cannot have, and releases that wait for each other.
var contentCodes = []diag.Code{diag.CodeChartType, diag.CodeTextForm, diag.CodeReleaseName, diag.CodeDependency}

// leaveOutInvalid leaves out the releases that have faults in the written fleet, which does not
// evaluate, and lists them. It returns the faults if they are not those of releases, or if no
// release is left.
func (w *work) leaveOutInvalid(err error) error {
	isLeftOut := false
	for _, d := range diag.All(err) {
		keys, ok := fleet.ParseField(d.Path) // releases.a.values.b
		_, isWaived := waiverOf(d)
		if !ok || len(keys) < 2 || keys[0] != "releases" || isWaived || !slices.Contains(contentCodes, d.Code) {
			continue
		}
		for _, c := range w.model.Clusters {
			if len(d.Clusters) == 0 || slices.Contains(d.Clusters, c.ID) {
				isLeftOut = w.model.leaveOutRelease(c, keys[1], keys[2:], d) || isLeftOut
			}
		}
	}
	if !isLeftOut {
		return diag.Changed(err, func(d *diag.Diag) { d.Msg = "the imported fleet is not valid here: " + d.Msg })
	}
	return w.model.Faults()
}

// leaveOutRelease leaves out a release of a cluster because of a fault in a field, and reports
// whether the cluster has it.
func (m *Model) leaveOutRelease(c *Cluster, name string, field []string, d *diag.Diag) bool {
	r := c.byName()[name]
	if r == nil {
		return false
	}
	of := *d
	of.At, of.Path = diag.Positions(r.Pos), r.Origin+" "+fleet.FieldText(field)
	switch {
	case len(field) > 1 && field[0] == "values":
		pos, _ := r.value(fleet.FieldText(field[1:]))
		of.At = diag.Positions(pos)
	case len(field) == 1 && field[0] == "namespace" && r.namespacePos.IsValid():
		of.At = diag.Positions(r.namespacePos)
	}
	dropped := *r
	dropped.Unproven = m.LeaveOut(r.Origin, r.Pos, &of)
	c.Dropped = append(c.Dropped, &dropped)
	c.Releases = diag.Filter(c.Releases, func(o *Release) bool { return o != r })
	for _, o := range c.Releases {
		o.Depends = diag.Filter(o.Depends, func(other string) bool { return other != name })
	}
	c.DropUnusedSecrets()
	return true
}

// forgetFiles removes the planned files, also from the copy of the fleet, but for the charts that
// releases still have, and restores the user's files there. It plans the packages of these charts
// and the files of objects again.
func (w *work) forgetFiles(ctx context.Context, p *FilePlan) error {
	used := map[string]bool{}
	var charts []string // paths
	for _, c := range w.model.Clusters {
		for _, r := range c.Releases {
			if r.Chart != nil {
				used[r.Chart.key()] = true
				charts = append(charts, path.Clean(w.charts[r.Chart.key()].Ref.Path))
			}
		}
	}
	maps.DeleteFunc(w.charts, func(key string, _ *pinnedChart) bool { return !used[key] })
	for _, name := range slices.Concat(p.Written, p.Same) {
		if slices.ContainsFunc(charts, func(of string) bool { return name == of || strings.HasPrefix(name, of+"/") }) {
			continue
		}
		delete(w.files, name)
		existing, err := os.ReadFile(filepath.Join(w.root, filepath.FromSlash(name)))
		if err == nil && w.before[name] != digest(existing) { // the user's: removeImported removed the others
			err = w.put(name, existing)
		} else {
			err = os.Remove(filepath.Join(w.stage, filepath.FromSlash(name)))
		}
		if err != nil {
			return err
		}
	}
	w.packages = map[string][]chart.Resolution{}
	w.namePackages()
	if err := w.writePackages(ctx, w.compiler(w.stage).Source(w.stage)); err != nil {
		return err
	}
	return w.writeManifests()
}

// isLayerFile reports whether a file is one of a layer, and not of a chart's package.
func isLayerFile(name string) bool {
	return strings.HasPrefix(name, "environments/") && !strings.HasPrefix(name, "environments/charts/")
}
