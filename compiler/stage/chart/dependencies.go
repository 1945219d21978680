package chart

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	helm "helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A dependencyBuilder adds the dependencies that a Chart.yaml lists and the charts
// directory lacks, as `helm dependency build` does.
type dependencyBuilder struct {
	budget
	source *Source
	ref    fleet.ChartRef // the chart

	// find resolves a version range in a repository, or a path in a git repository,
	// to an exact reference with digest. The zero ChartRef leaves the dependency
	// out.
	find func(ctx context.Context, want fleet.ChartRef) (fleet.ChartRef, error)

	reads []string // files of the fleet that dependencies are read from
}

// dependencyBuilder returns the builder for a chart with the given files.
func (s *Source) dependencyBuilder(ref fleet.ChartRef, files []fleet.File) *dependencyBuilder {
	c := &dependencyBuilder{source: s, ref: ref, budget: budget{entries: maxEntries - len(files), bytes: maxTotal}}
	for _, f := range files {
		c.bytes -= int64(len(f.Data))
	}
	return c
}

// complete returns the chart's files together with those of its missing
// dependencies.
func (c *dependencyBuilder) complete(ctx context.Context, at fleet.ChartRef, files []fleet.File, depth int) ([]fleet.File, error) {
	loaded, err := load(at, files)
	if err != nil {
		return nil, err
	}
	missing := missingDependencies(loaded)
	if len(missing) == 0 {
		return files, nil
	}
	if depth > maxDepth {
		return nil, fault(diag.CodeChartDependencies, "remove the cycle of dependencies", "%s: dependencies are nested %d levels deep", at, depth)
	}
	for _, d := range loaded.Metadata.Dependencies {
		if d != nil && (strings.HasPrefix(d.Repository, "@") || strings.HasPrefix(d.Repository, "alias:")) {
			return nil, fault(diag.CodeChartDependencies, "write the URL of the repository into Chart.yaml (helm repo list shows it), and run helm dependency update",
				"%s: the repository of the dependency %s is %s, an alias that each machine defines for itself", at, oneLine(d.Name), oneLine(d.Repository))
		}
	}
	if err := checkLock(at, loaded); err != nil {
		return nil, err
	}
	out := slices.Clip(files)
	added := map[string]bool{}
	for _, d := range missing {
		below, err := c.dependency(ctx, at, d, depth)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 || added[below[0].Name] {
			continue // two aliases of one chart
		}
		dir, _, _ := strings.Cut(strings.TrimPrefix(below[0].Name, "charts/"), "/")
		if slices.ContainsFunc(files, func(f fleet.File) bool { return strings.HasPrefix(f.Name, "charts/"+dir+"/") }) {
			return nil, fault(diag.CodeChartDependencies, "rename the directory", "%s: charts/%s is another chart than the dependency with this name", at, dir)
		}
		added[below[0].Name] = true
		out = append(out, below...)
	}
	return out, nil
}

// missingDependencies returns the dependencies that Chart.yaml lists and the charts
// directory lacks. It compares by name, as Helm does, and takes versions from the
// lock file if there is one.
func missingDependencies(c *helm.Chart) []helm.Dependency {
	var out []helm.Dependency
	for i, d := range c.Metadata.Dependencies {
		if d == nil || slices.ContainsFunc(c.Dependencies(), func(sub *helm.Chart) bool { return sub.Name() == d.Name }) {
			continue
		}
		want := *d
		if c.Lock != nil && i < len(c.Lock.Dependencies) {
			if l := c.Lock.Dependencies[i]; l != nil && l.Name == d.Name && !strings.HasPrefix(d.Repository, fileScheme) {
				want.Version = l.Version
			}
		}
		out = append(out, want)
	}
	return out
}

// checkLock returns a fault when the lock file is out of sync with Chart.yaml.
func checkLock(at fleet.ChartRef, c *helm.Chart) error {
	if c.Lock == nil {
		return nil
	}
	list, lock := "Chart.yaml", "Chart.lock"
	req := c.Metadata.Dependencies
	sums := []any{[2][]*helm.Dependency{req, c.Lock.Dependencies}}
	if c.Metadata.APIVersion == helm.APIVersionV1 {
		list, lock = "requirements.yaml", "requirements.lock"
		sums = append(sums, map[string][]*helm.Dependency{"dependencies": req}) // format of Helm 2
	}
	for _, of := range sums {
		if text, err := json.Marshal(of); err == nil && digest(text) == c.Lock.Digest {
			return nil
		}
	}
	return fault(diag.CodeChartDependencies, "run helm dependency update in the directory of the chart", "%s: %s is out of sync with the dependencies in %s", at, lock, list)
}

// dependency returns the files of a dependency, with names below charts/.
func (c *dependencyBuilder) dependency(ctx context.Context, at fleet.ChartRef, d helm.Dependency, depth int) ([]fleet.File, error) {
	want, err := wantedDependency(at, d)
	if err != nil {
		return nil, err
	}
	files, dep, err := c.read(ctx, want)
	if err != nil || files == nil {
		return nil, err
	}
	loaded, err := load(dep, files)
	if err != nil {
		return nil, err
	}
	name, version := loaded.Name(), loaded.Metadata.Version
	if name != d.Name || !isInRange(d.Version, version) || !nameForm.MatchString(name) || !versionForm.MatchString(version) {
		return nil, fault(diag.CodeChartDependencies, "correct the dependency in Chart.yaml, and run helm dependency update",
			"%s: its dependency %s %s is the chart %s %s in %s", at, oneLine(d.Name), oneLine(d.Version), oneLine(name), oneLine(version), dep.Location())
	}
	for _, f := range files {
		if err := c.entry(); err != nil {
			return nil, inDependency(at, dep, err)
		}
		if c.bytes -= int64(len(f.Data)); c.bytes <= 0 {
			return nil, inDependency(at, dep, errTotal)
		}
	}
	if err := c.inner(files, 1); err != nil {
		return nil, inDependency(at, dep, err)
	}
	if dep.Repo == "" {
		// Helm expects an archive to be complete. A directory may lack dependencies.
		if files, err = c.complete(ctx, dep, files, depth+1); err != nil {
			return nil, err
		}
	}
	out := make([]fleet.File, len(files))
	for i, f := range files {
		out[i] = fleet.File{Name: "charts/" + name + "-" + version + "/" + f.Name, Data: f.Data}
	}
	return out, nil
}

func inDependency(at, dep fleet.ChartRef, err error) error {
	return &diag.Diag{Code: diag.CodeChartDependencies, Msg: fmt.Sprintf("%s: its dependency %s: %s", at, dep, err), Hint: "use a chart with fewer and smaller files", Cause: err}
}

// isInRange reports whether version satisfies want, a range or an exact version.
func isInRange(want, version string) bool {
	if want == version || want == "" {
		return true
	}
	constraint, err := semver.NewConstraint(want)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && constraint.Check(v)
}

// wantedDependency returns the location of a dependency. Without a lock file, the
// version of a dependency in a repository is a range.
func wantedDependency(at fleet.ChartRef, d helm.Dependency) (fleet.ChartRef, error) {
	dir, isDir := strings.CutPrefix(d.Repository, fileScheme)
	switch {
	case d.Repository == "":
		return fleet.ChartRef{}, fault(diag.CodeChartDependencies, "write its repository into Chart.yaml, or put the chart into charts",
			"%s: Chart.yaml lists the dependency %s without a repository, and charts does not have it", at, oneLine(d.Name))
	case isDir:
		return besides(at, d.Name, dir)
	}
	want, err := inRepo(d.Repository, d.Name, d.Version)
	if err != nil {
		return want, inChartYAML(at, d.Name, err)
	}
	from := at.Git.URL + at.Repo // a chart has one of the two
	if strings.HasPrefix(want.Repo, "http://") && (strings.HasPrefix(from, "https://") || strings.HasPrefix(from, "ssh://") || isOCI(from)) {
		return want, fault(diag.CodeChartDependencies, "ask the owners of the chart to write https", "%s: the repository of the dependency %s is %s, but the chart itself is fetched with encryption",
			at, want.Name, want.Repo)
	}
	return want, nil
}

// inChartYAML adds to an error the dependency and its Chart.yaml.
func inChartYAML(at fleet.ChartRef, name string, err error) error {
	return diag.Changed(err, func(d *diag.Diag) {
		d.Msg = fmt.Sprintf("%s: the dependency %s in Chart.yaml: %s", at, oneLine(name), d.Msg)
	})
}

// besides resolves a directory relative to the directory of another chart.
func besides(at fleet.ChartRef, name, dir string) (fleet.ChartRef, error) {
	hint := "put the chart into the same repository, and write its path relative to the chart's directory"
	if dir == "" || path.IsAbs(dir) || drive.MatchString(dir) {
		return fleet.ChartRef{}, fault(diag.CodeChartDependencies, hint, "%s: the dependency %s is in %s, which is not a path relative to the chart", at, oneLine(name), oneLine(fileScheme+dir))
	}
	var out fleet.ChartRef
	var err error
	switch {
	case at.Path != "":
		out.Path = path.Join(at.Path, dir)
		err = checkPath(out.Path)
	case at.Git.URL != "":
		out.Git = at.Git
		out.Git.Path = cleanDir(path.Join(at.Git.Path, dir))
		err = checkGit(out.Git)
	default:
		return out, fault(diag.CodeChartDependencies, "use another version of the chart: helm package puts dependencies into charts",
			"%s: the dependency %s is a local directory of its authors, %s, and charts does not contain it", at, oneLine(name), oneLine(fileScheme+dir))
	}
	if err != nil {
		return out, fault(diag.CodeChartDependencies, hint, "%s: the dependency %s is in %s, which is not in the repository", at, oneLine(name), oneLine(fileScheme+dir))
	}
	return out, nil
}

// read finds a dependency and returns its files and exact reference. Both are empty
// when the dependency is left out.
func (c *dependencyBuilder) read(ctx context.Context, want fleet.ChartRef) ([]fleet.File, fleet.ChartRef, error) {
	if want.Path != "" {
		files, reads, err := c.source.local(want)
		c.reads = append(c.reads, reads...)
		return files, want, err
	}
	dep, err := c.find(ctx, want)
	if err != nil || dep == (fleet.ChartRef{}) {
		return nil, dep, err
	}
	data, err := c.source.read(ctx, c.source.archive(dep))
	if err != nil {
		return nil, dep, forParent(c.ref, dep, err)
	}
	files, err := remoteFiles(dep, data)
	return files, dep, err
}
