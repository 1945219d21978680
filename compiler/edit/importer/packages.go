package importer

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// exactVersion finds a version in a range.
var exactVersion = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+[-+0-9A-Za-z.]*`)

// unknownChart returns a pin without the digest of the chart, for a fleet that cannot be
// rendered yet. A chart without a repository is expected in the directory charts.
func unknownChart(s *ChartSource) chart.Resolution {
	r := chart.Resolution{Name: s.Name, Version: cmp.Or(exactVersion.FindString(s.Version), "0.0.0")}
	r.Ref.Digest = "sha256:" + strings.Repeat("0", 64)
	switch {
	case s.Git != "":
		r.Ref.Git = fleet.GitRef{URL: s.Git, Ref: cmp.Or(s.Ref, "HEAD"), Path: s.Path}
	case s.Repo != "":
		r.Ref.Repo, r.Ref.Name, r.Ref.Version = s.Repo, s.Name, r.Version
	default:
		r.Version = cmp.Or(chartVersion(s.Dir), r.Version)
		r.Ref.Path = path.Join("charts", s.Name+"-"+r.Version)
	}
	return r
}

// noteMissing says how to complete the pins of charts that could not be fetched, and notes the
// clusters that fleetc vet --render cannot check because of them.
func (w *work) noteMissing() {
	noted := map[string]bool{}
	for _, c := range w.model.Clusters {
		isUnchecked := false
		for _, r := range c.Releases {
			if r.Chart == nil || w.charts[r.Chart.key()].missing == nil {
				continue
			}
			isUnchecked = true
			if pin := w.charts[r.Chart.key()]; pin.Ref.Path == "" && !noted[r.Chart.key()] {
				noted[r.Chart.key()] = true
				w.model.Note(r.Chart.missingNote(pin))
			}
		}
		if isUnchecked {
			w.model.Note(Note{Pos: w.clusterFile(c), Doc: "cluster", Do: "charts are missing, so the import did not run the checks of fleetc vet --render: pin the charts, and run fleetc vet --render"})
		}
	}
}

func (s *ChartSource) missingNote(pin *pinnedChart) Note {
	command := "fleetc chart update " + pin.pkg
	why := "its digest is not known"
	switch wanted := cmp.Or(s.Ref, s.Version); {
	case wanted == "":
		why = "it names no version, and the pin has " + pin.Version
	case s.Git == "" && strings.TrimPrefix(wanted, "v") != strings.TrimPrefix(pin.Version, "v"):
		why = wanted + " is a range, and the pin has " + pin.Version
		fallthrough
	default:
		command += " --version '" + wanted + "'"
	}
	return Note{Pos: s.Pos, Doc: "chart " + s.Name, Field: "version", Do: why + ": run " + command + " with the network"}
}

// namePackages chooses the package of each chart. Versions of one repository share one.
func (w *work) namePackages() {
	locations := map[string]string{} // by package
	existing, _ := load.Packages(w.root)
	for _, p := range existing {
		if w.before[p.File] == "" {
			locations[p.Name] = p.Pins[0].Ref.Location()
			for _, pin := range p.Pins {
				if pin.Ref.Path != "" {
					continue // a chart by path has one version
				}
				w.packages[p.Name] = append(w.packages[p.Name], chart.Resolution{Ref: pin.Ref, Name: pin.Ref.Name, Version: pin.Version})
			}
		}
	}
	for _, key := range sortedKeys(w.charts) {
		pin := w.charts[key]
		base := chart.PackageName(pin.Name)
		location := pin.Ref.Location()
		if pin.Ref.Path == "" && pin.Ref.Git.URL == "" && pin.missing != nil {
			location += " missing"
		}
		name := base
		for i := 2; locations[name] != "" && locations[name] != location; i++ {
			name = fmt.Sprintf("%s_%d", base, i)
			if i == 2 && pin.Ref.Path != "" {
				name = base + "_" + chart.PackageName(strings.NewReplacer(".", "_", "-", "_").Replace("v"+pin.Version))
			}
		}
		locations[name] = location
		pin.pkg = name
		same := func(r chart.Resolution) bool { return r.Version == pin.Version }
		if !slices.ContainsFunc(w.packages[name], same) {
			w.packages[name] = append(w.packages[name], pin.Resolution)
		}
	}
	for _, versions := range w.packages {
		slices.SortStableFunc(versions, func(a, b chart.Resolution) int {
			v, err := semver.NewVersion(a.Version)
			u, err2 := semver.NewVersion(b.Version)
			if err != nil || err2 != nil {
				return strings.Compare(b.Version, a.Version)
			}
			return u.Compare(v)
		})
	}
}

// writePackages plans the packages of charts.
func (w *work) writePackages(ctx context.Context, finder *chart.Source) error {
	layers := []string{"root"}
	ids := slices.Clone(w.existing)
	for _, c := range w.model.Clusters {
		ids = append(ids, c.ID)
	}
	for _, id := range ids {
		for dir := path.Dir(id); dir != "."; dir = path.Dir(dir) {
			if !slices.Contains(layers, path.Base(dir)) {
				layers = append(layers, path.Base(dir))
			}
		}
	}
	slices.Sort(layers[1:])
	results := w.compiler(w.stage).Results()
	for _, pkg := range sortedKeys(w.packages) {
		versions := w.packages[pkg]
		text := chart.Package(pkg, versions...)
		var typed []values.Version
		for _, v := range versions {
			ch, err := finder.Chart(ctx, v.Ref)
			if err != nil {
				continue // missing
			}
			types, err := results.Types(ch)
			if err != nil {
				continue // the proof reports it
			}
			w.loaded[v.Ref] = ch
			typed = append(typed, values.Version{Version: v.Version, Types: types})
		}
		if len(typed) == len(versions) {
			var err error
			if text, err = values.Package(text, layers, typed...); err != nil {
				return err
			}
		}
		if err := w.addCUE(load.PackageFile(pkg), text); err != nil {
			return err
		}
	}
	return nil
}
