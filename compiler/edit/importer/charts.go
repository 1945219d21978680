package importer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/chart"
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
			if r.Chart != nil && sources[r.Chart.key()] == nil {
				sources[r.Chart.key()] = r.Chart
			}
		}
	}
	var faults diag.List
	add := func(key string, pin *pinnedChart, err error) {
		if err != nil {
			missing := chartFault(sources[key], err)
			if !w.opts.WithoutCharts {
				faults.Add(missing)
				return
			}
			pin = &pinnedChart{Resolution: unknownChart(sources[key]), missing: missing}
		}
		w.charts[key] = pin
	}
	finder := w.compiler(w.stage).Source(w.stage)
	var remote []string
	for _, key := range sortedKeys(sources) {
		dir, err := w.copyOf(sources[key])
		if dir == "" && err == nil {
			remote = append(remote, key)
			continue
		}
		var pin *pinnedChart
		if err == nil {
			pin, err = w.localChart(ctx, finder, sources[key], dir)
		}
		add(key, pin, err)
	}
	const atATime = 8 // limits the requests to a repository
	found := par.Map(ctx, atATime, len(remote), func(ctx context.Context, i int) (chart.Resolution, error) {
		return finder.Resolve(ctx, request(sources[remote[i]]))
	})
	i := 0
	for r, err := range found {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			err = cmp.Or(w.otherVersion(sources[remote[i]]), err)
		}
		add(remote[i], &pinnedChart{Resolution: r}, err)
		i++
	}
	if err := faults.Err(); err != nil {
		return err
	}
	w.namePackages()
	return w.writePackages(ctx, finder)
}

// chartFault returns the fault for a chart that cannot be found.
func chartFault(s *ChartSource, err error) error {
	return &diag.Diag{
		Code: diag.CodeImportChart, At: diag.Positions(s.Pos),
		Msg: "the chart " + s.String() + " cannot be fetched: " + diag.Line(diag.All(err)[0].Msg, diag.MaxText), Cause: err,
		Hint: "pass a copy with --chart " + s.Name + "=DIR or --charts DIR, or pass --without-charts to write the fleet without a proof of these releases",
	}
}

// copyOf returns a copy of the chart that the user gave, the directory of the imported
// repository that has it, or the chart as the tool stored it. It is empty for a chart that
// is fetched.
func (w *work) copyOf(s *ChartSource) (string, error) {
	dir := cmp.Or(w.opts.Chart[s.Name], s.Dir)
	if dir == "" {
		dir, _ = mirrored(w.opts.Charts, s)
	}
	if isFetched := s.Repo != "" || s.Git != ""; dir != "" || isFetched {
		return dir, nil
	}
	if s.Fallback == "" {
		return "", cmp.Or[error](w.otherVersion(s), &diag.Diag{Code: diag.CodeImportChart, Msg: "its repository is unknown"})
	}
	return s.Fallback, nil
}

// otherVersion returns an error that says that the user gave another version of the chart;
// nil when it is not so.
func (w *work) otherVersion(s *ChartSource) error {
	if _, other := mirrored(w.opts.Charts, s); other != "" {
		return &diag.Diag{Code: diag.CodeImportChart, Msg: fmt.Sprintf("%s has only version %s", w.opts.Charts, other)}
	}
	return nil
}

// request returns the request for a chart that is fetched.
func request(s *ChartSource) chart.Request {
	switch {
	case s.Git != "":
		return chart.Request{Ref: "git+" + strings.TrimPrefix(s.Git, "git+") + "//" + s.Path, Version: s.Ref}
	case strings.HasPrefix(s.Repo, "oci://"):
		return chart.Request{Ref: strings.TrimSuffix(s.Repo, "/") + "/" + s.Name, Version: s.Version}
	}
	return chart.Request{Ref: s.Name, Repo: s.Repo, Version: s.Version}
}

// mirrored returns the copy of a chart in a directory of charts: NAME-VERSION.tgz,
// NAME/VERSION, NAME or NAME.tgz. dir may be empty. other is the version of a copy that does not fit.
func mirrored(dir string, s *ChartSource) (file, other string) {
	if dir == "" || !filepath.IsLocal(filepath.FromSlash(s.Name)) {
		return "", "" // the name comes from the repository
	}
	if file, other = newest(dir, s); file != "" {
		return file, ""
	}
	for _, name := range []string{s.Name, s.Name + ".tgz"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		version := chartVersion(file)
		switch {
		case !info.IsDir() || version != "" && fits(s.Version, version):
			return file, ""
		case version != "":
			other = version
		}
	}
	return "", other
}

// newest returns the copy with the newest version that fits: NAME-VERSION.tgz or
// NAME/VERSION. other is the version of a copy that does not fit.
func newest(dir string, s *ChartSource) (file, other string) {
	var best *semver.Version
	consider := func(copied, version string) {
		v, err := semver.NewVersion(version)
		isOlder := best != nil && err == nil && !v.GreaterThan(best)
		switch {
		case err != nil || isOlder || s.Version == "" && v.Prerelease() != "":
		case !fits(s.Version, version):
			other = version
		default:
			best, file = v, copied
		}
	}
	archives, _ := os.ReadDir(dir)
	for _, e := range archives {
		if version, ok := strings.CutPrefix(e.Name(), s.Name+"-"); ok && strings.HasSuffix(version, ".tgz") {
			consider(filepath.Join(dir, e.Name()), strings.TrimSuffix(version, ".tgz"))
		}
	}
	versions, _ := os.ReadDir(filepath.Join(dir, s.Name))
	for _, e := range versions {
		copied := filepath.Join(dir, s.Name, e.Name())
		consider(copied, chartVersion(copied))
	}
	return file, other
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

// chartName returns the name in a Chart.yaml; empty when there is none.
func chartName(data []byte) string {
	var meta map[string]any
	if yaml.Unmarshal(data, &meta) != nil {
		return ""
	}
	return textAt(meta, "name")
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
		return nil, &diag.Diag{Code: diag.CodeImportChart, Msg: dir + " does not exist"}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	abs = realPath(abs)
	name := ""
	if rel, err := filepath.Rel(w.root, abs); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	} else if name, err = w.copyChart(s, abs, info.IsDir()); err != nil {
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
func (w *work) copyChart(s *ChartSource, from string, isDir bool) (string, error) {
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
		return "", &diag.Diag{Code: diag.CodeImportChart, Msg: from + " has no Chart.yaml with a version"}
	}
	files, err := w.chartFiles(from)
	if err == nil {
		err = w.addDependencies(realPath(s.Root), from, files, 0)
	}
	if err != nil {
		return "", err
	}
	base := path.Join("charts", s.Name+"-"+version)
	name := base
	for i := 2; !w.isFree(name, files); i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	for _, file := range sortedKeys(files) {
		to := path.Join(name, file)
		w.files[to] = files[file]
		if err := w.put(to, files[file]); err != nil {
			return "", err
		}
	}
	return name, nil
}

// isFree reports whether no files are planned in a directory, or the same ones.
func (w *work) isFree(dir string, files map[string][]byte) bool {
	planned := 0
	for name, data := range w.files {
		file, ok := strings.CutPrefix(name, dir+"/")
		if !ok {
			continue
		}
		if same, ok := files[file]; !ok || !bytes.Equal(same, data) {
			return false
		}
		planned++
	}
	return planned == 0 || planned == len(files)
}

// chartFiles returns the files of a chart's directory by path, as the tool reads them: Flux leaves
// symbolic links of a repository out, and other tools follow them.
func (w *work) chartFiles(dir string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	dir = realPath(dir)
	top, where := dir, "the directory of the chart"
	for _, one := range []string{w.opts.Charts, w.model.Dir} {
		abs, err := filepath.Abs(one)
		if one == "" || err != nil {
			continue
		}
		abs = realPath(abs)
		if rel, err := filepath.Rel(abs, dir); err == nil && filepath.IsLocal(rel) {
			top, where = abs, one
		}
	}
	if top == realPath(w.model.Dir) && w.model.Tool == fluxTool {
		where = ""
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return nil, err
	}
	read, err := chart.DirFiles(root, filepath.ToSlash(rel), where)
	files := map[string][]byte{}
	for _, f := range read {
		files[f.Name] = f.Data
	}
	return files, err
}

// put writes a file of the copy of the fleet.
func (w *work) put(name string, data []byte) error {
	file := filepath.Join(w.stage, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return edit.ReplaceCopied(file, data)
}
