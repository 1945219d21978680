package importer

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// source adds the chart of a release, or the objects of a directory that is not a chart.
func (e *environmentRun) source(d *helmfileRelease, out *Release) error {
	field, name := "chart", d.text("chart")
	if name == "" {
		field, name = "directory", d.text("directory")
	}
	s := &ChartSource{Version: d.text("version"), Pos: d.at(field)}
	out.Chart = s
	repo, below, _ := strings.Cut(name, "/")
	switch {
	case strings.HasPrefix(name, "oci://"):
		s.Repo, s.Name = strings.TrimSuffix(name[:strings.LastIndex(name, "/")], "/"), path.Base(name)
		return nil
	case strings.HasPrefix(name, "git::"):
		return gitChart(d, s, strings.TrimPrefix(name, "git::"))
	case isURL(name):
		s.Name = strings.TrimSuffix(path.Base(name), ".tgz")
		return nil
	case d.repository(repo).value != nil && below != "" && !strings.HasPrefix(name, "."):
		r := d.repository(repo)
		url := strings.TrimSuffix(textAt(r.value, "url"), "/")
		if isTrueAt(r.value, "oci") && !strings.HasPrefix(url, "oci://") {
			url = "oci://" + url
		}
		if rest, ok := strings.CutPrefix(url, "oci://"); ok {
			url, below = "oci://"+path.Join(rest, path.Dir(below)), path.Base(below)
		}
		s.Repo, s.Name = url, below
		if strings.HasPrefix(url, "git+") {
			s.Repo, s.Name = "", path.Base(below)
		}
		return e.lock(d, s, strings.SplitN(name, "/", 2)[1])
	}
	return e.localChart(d, out, field, name)
}

// lock sets the version of a chart of a repository to that of the lock file, if the release
// has a range. path is that of the chart in the repository. As in helmfile, charts of different
// repositories with one name share their versions.
func (e *environmentRun) lock(d *helmfileRelease, s *ChartSource, path string) error {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(s.Version, "v")); err == nil {
		return nil
	}
	name := cmp.Or(d.state.text("lockFilePath"), before(d.state.file, ".yaml", ".yml", ".gotmpl")+".lock")
	file, err := e.place(d.state.dir, name)
	if err != nil || !e.isFile(file) {
		return nil //nolint:nilerr // helmfile does not need one
	}
	data, err := e.read(file)
	if err != nil {
		return d.fault(diag.CodeImportFile, []string{"version"}, err.Error(), "correct lockFilePath")
	}
	_, content, err := e.parse(file, data, plainLines(string(data), 1))
	if err != nil {
		return err
	}
	for _, name := range []string{s.Name, path} {
		for _, locked := range listAt(content, "dependencies") {
			version := textAt(locked, "version")
			if textAt(locked, "name") == name && fits(cmp.Or(s.Version, "*"), version) {
				s.Version = version
				return nil
			}
		}
	}
	return d.fault(diag.CodeImportChart, []string{"version"}, file+" has no version of "+s.Name+" that fits "+cmp.Or(s.Version, "*"), "run helmfile deps, and import again")
}

// repository returns the repository of a name.
func (d *helmfileRelease) repository(name string) item {
	for _, r := range d.state.lists["repositories"] {
		if textAt(r.value, "name") == name {
			return r
		}
	}
	return item{}
}

// gitChart sets the git repository of a chart: URL@PATH?ref=REF, or URL//PATH?ref=REF.
func gitChart(d *helmfileRelease, s *ChartSource, text string) error {
	text, query, _ := strings.Cut(text, "?")
	for part := range strings.SplitSeq(query, "&") {
		if ref, ok := strings.CutPrefix(part, "ref="); ok {
			s.Ref = ref
		}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return d.fault(diag.CodeImportInvalid, []string{"chart"}, "not a valid git URL: "+diag.Visible(text, diag.MaxText), "write git::https://HOST/REPOSITORY.git@PATH?ref=REF")
	}
	host, file, ok := strings.Cut(rest, "@")
	if user, address, isUser := strings.Cut(rest, "@"); isUser && !strings.Contains(user, "/") { // USER@HOST
		var repository string
		repository, file, ok = strings.Cut(address, "@")
		host = user + "@" + repository
	}
	if !ok {
		host, file, _ = strings.Cut(rest, "//")
	}
	s.Git, s.Path, s.Version = scheme+"://"+host, strings.Trim(file, "/"), ""
	s.Name = path.Base(cmp.Or(s.Path, strings.TrimSuffix(host, ".git")))
	return nil
}

// localChart sets the chart of a directory or archive of the repository.
func (e *environmentRun) localChart(d *helmfileRelease, out *Release, field, name string) error {
	place, err := e.place(d.state.dir, name)
	if err != nil {
		return d.fault(diag.CodeImportFile, []string{field}, "the chart "+diag.Visible(name, diag.MaxText)+" is outside of the repository", "write a path in the repository")
	}
	s := out.Chart
	switch {
	case e.isFile(place):
		s.Name = strings.TrimSuffix(path.Base(place), path.Ext(place))
	case e.isFile(path.Join(place, "Chart.yaml")):
		data, err := e.read(path.Join(place, "Chart.yaml"))
		if err != nil {
			return err
		}
		if s.Name = chartName(data); s.Name == "" {
			return d.fault(diag.CodeImportInvalid, []string{field}, place+"/Chart.yaml has no chart name", "correct the chart")
		}
	case e.isDir(place):
		out.Chart = nil
		return e.directory(d, out, place)
	case strings.HasPrefix(name, ".") || !strings.Contains(name, "/"):
		return d.fault(diag.CodeImportFile, []string{field}, "the repository has no chart "+diag.Visible(place, diag.MaxText), "correct the path of the chart")
	default:
		s.Name = path.Base(name) // of a repository that helm repo add knows
		return nil
	}
	s.Version = "" // helmfile takes the version of the directory
	s.Dir, s.Root = filepath.Join(e.dir, filepath.FromSlash(place)), e.dir
	return nil
}
