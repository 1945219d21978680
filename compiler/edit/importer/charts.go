package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// A pinnedChart is the chart of a source.
type pinnedChart struct {
	chart.Resolution
	pkg     string
	missing error  // why the chart cannot be fetched; nil for a pinned chart
	other   string // the version that the release has in the files, when a given copy has another one
}

// pinCharts finds the charts of all releases and plans the packages that pin them.
func (w *work) pinCharts(ctx context.Context) error {
	w.charts, w.packages = map[string]*pinnedChart{}, map[string][]chart.Resolution{}
	sources := map[string]*ChartSource{}
	for _, c := range w.model.Clusters {
		for _, r := range c.Releases {
			if r.Chart != nil && sources[r.Chart.String()] == nil {
				sources[r.Chart.String()] = r.Chart
			}
		}
	}
	var faults diag.List
	finder := w.compiler(w.stage).Source(w.stage)
	keys := sortedKeys(sources)
	const atATime = 8 // limits the requests to a repository
	type result struct {
		pin *pinnedChart
		err error
	}
	local := sync.Mutex{} // copies of charts are planned one by one
	found := par.Map(ctx, atATime, len(keys), func(ctx context.Context, i int) (result, error) {
		pin, err := w.findChart(ctx, &local, finder, sources[keys[i]])
		return result{pin, err}, nil
	})
	i := 0
	for of, err := range found {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		key, pin, err := keys[i], of.pin, of.err
		i++
		if err != nil {
			missing := chartFault(sources[key], err)
			if !w.opts.WithoutCharts {
				faults.Add(missing)
				continue
			}
			pin = &pinnedChart{Resolution: unknownChart(sources[key]), missing: missing}
		}
		w.charts[key] = pin
	}
	if err := faults.Err(); err != nil {
		return err
	}
	w.namePackages()
	return w.writePackages(ctx, finder)
}

// chartFault returns the fault for a chart that cannot be found.
func chartFault(s *ChartSource, err error) error {
	d := &diag.Diag{
		Msg: "the chart " + s.String() + " cannot be fetched: " + diag.Visible(strings.Join(strings.Fields(diag.All(err)[0].Msg), " "), diag.MaxText), Cause: err,
		Hint: "give a copy with --chart " + s.Name + "=DIR or --charts DIR, or add --without-charts to write the fleet without a proof of these releases",
	}
	if s.Pos.IsValid() {
		d.At = []diag.Pos{s.Pos}
	}
	return d
}

// findChart finds the chart of a source: a given copy, a directory of the imported
// repository, or the chart in its repository.
func (w *work) findChart(ctx context.Context, local *sync.Mutex, finder *chart.Source, s *ChartSource) (*pinnedChart, error) {
	dir := w.opts.Chart[s.Name]
	if dir == "" {
		dir = s.Dir
	}
	var other string
	if dir == "" && w.opts.Charts != "" {
		dir, other = mirrored(w.opts.Charts, s)
	}
	if dir == "" && s.Repo == "" && s.Git == "" {
		dir = s.Fallback
	}
	if dir != "" {
		local.Lock()
		defer local.Unlock()
		return w.localChart(ctx, finder, s, dir)
	}
	req := chart.Request{Version: s.Version}
	switch {
	case s.Git != "":
		req.Ref, req.Version = "git+"+strings.TrimPrefix(s.Git, "git+")+"//"+s.Path, s.Ref
	case strings.HasPrefix(s.Repo, "oci://"):
		req.Ref = s.Repo + "/" + s.Name
	default:
		req.Ref, req.Repo = s.Name, s.Repo
	}
	r, err := finder.Resolve(ctx, req)
	if err != nil {
		if other != "" {
			return nil, &diag.Diag{Msg: fmt.Sprintf("%s has the version %s alone", w.opts.Charts, other)}
		}
		return nil, err
	}
	return &pinnedChart{Resolution: r}, nil
}

// mirrored returns the copy of a chart in a directory of charts: NAME-VERSION.tgz,
// NAME/VERSION, NAME or NAME.tgz. other is the version of a copy that does not fit.
func mirrored(dir string, s *ChartSource) (file, other string) {
	names := []string{s.Name, s.Name + ".tgz"}
	if s.Version != "" {
		v := strings.TrimPrefix(s.Version, "v")
		names = append([]string{s.Name + "-" + v + ".tgz", s.Name + "-v" + v + ".tgz", s.Name + "/" + v, s.Name + "/v" + v}, names...)
	}
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			return file, ""
		}
		version := chartVersion(file)
		if version == "" {
			continue
		}
		if fits(s.Version, version) {
			return file, ""
		}
		other = version
	}
	return "", other
}

var versionLine = regexp.MustCompile(`(?m)^version:\s*["']?([^"'\s#]+)`)

// chartVersion returns the version in the Chart.yaml of a directory; empty when there is
// none.
func chartVersion(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	if m := versionLine.FindSubmatch(text); err == nil && m != nil {
		return string(m[1])
	}
	return ""
}

// fits reports whether a version is in a range.
func fits(wanted, version string) bool {
	if wanted == "" || strings.TrimPrefix(wanted, "v") == strings.TrimPrefix(version, "v") {
		return true
	}
	constraint, err := semver.NewConstraint(wanted)
	v, err2 := semver.NewVersion(version)
	return err == nil && err2 == nil && constraint.Check(v)
}

// localChart puts a copy of a chart into the fleet, unless the fleet has it.
func (w *work) localChart(ctx context.Context, finder *chart.Source, s *ChartSource, dir string) (*pinnedChart, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, &diag.Diag{Msg: dir + " does not exist"}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	name := ""
	if rel, err := filepath.Rel(w.root, abs); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	} else if name, err = w.copyChart(ctx, s, abs, info.IsDir()); err != nil {
		return nil, err
	}
	r, err := finder.Resolve(ctx, chart.Request{Ref: "./" + name})
	if err != nil {
		return nil, err
	}
	pin := &pinnedChart{Resolution: r}
	if !fits(s.Version, r.Version) {
		pin.other = s.Version
	}
	return pin, nil
}

// copyChart plans the files of a chart outside of the fleet, and returns its path.
func (w *work) copyChart(ctx context.Context, s *ChartSource, from string, isDir bool) (string, error) {
	if !isDir {
		data, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		name := path.Join("charts", filepath.Base(from))
		w.files[name] = data
		return name, w.put(name, data)
	}
	version := chartVersion(from)
	if version == "" {
		return "", &diag.Diag{Msg: from + " has no Chart.yaml with a version"}
	}
	name := path.Join("charts", s.Name+"-"+version)
	temp, err := os.MkdirTemp("", "fleetc-chart-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := CopyTree(ctx, from, temp); err != nil {
		return "", err
	}
	return name, filepath.WalkDir(temp, func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(temp, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		to := path.Join(name, filepath.ToSlash(rel))
		w.files[to] = data
		return w.put(to, data)
	})
}

// exactVersion finds a version in a range.
var exactVersion = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+[-+0-9A-Za-z.]*`)

// unknownChart returns a pin without the digest of the chart, for a fleet that cannot be
// rendered yet.
func unknownChart(s *ChartSource) chart.Resolution {
	r := chart.Resolution{Name: s.Name, Version: cmp.Or(exactVersion.FindString(s.Version), "0.0.0")}
	zero := "sha256:" + strings.Repeat("0", 64)
	r.Ref = fleet.ChartRef{Repo: s.Repo, Name: s.Name, Version: r.Version, Digest: zero}
	if s.Git != "" {
		r.Ref = fleet.ChartRef{Git: fleet.GitRef{URL: s.Git, Ref: cmp.Or(s.Ref, "HEAD"), Path: s.Path}, Digest: zero}
	}
	return r
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
	for _, c := range w.model.Clusters {
		for dir := path.Dir(c.ID); dir != "."; dir = path.Dir(dir) {
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
			w.loaded[v.Ref] = ch
			types, err := results.Types(ch)
			if err != nil {
				return err
			}
			typed = append(typed, values.Version{Version: v.Version, Types: types})
		}
		if len(typed) == len(versions) {
			var err error
			if text, err = values.Package(text, layers, typed...); err != nil {
				return err
			}
		}
		w.files[load.PackageFile(pkg)] = text
	}
	return nil
}

// put writes a file of the copy of the fleet.
func (w *work) put(name string, data []byte) error {
	file := filepath.Join(w.stage, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // a hard link must not be written through
	}
	return os.WriteFile(file, data, 0o644)
}
