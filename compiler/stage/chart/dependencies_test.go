package chart

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	helm "helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// needing returns a Chart.yaml with dependencies, each in the form "name range
// repository".
func needing(name string, deps ...string) string {
	text := chartYAML(name, "1.0.0") + "dependencies:\n"
	for _, d := range deps {
		f := strings.Split(d, " ")
		text += fmt.Sprintf("- {name: %s, version: %q, repository: %q}\n", f[0], f[1], f[2])
	}
	return text
}

// lockOf returns the lock file of a Chart.yaml with the given versions.
func lockOf(t *testing.T, chartYAML string, versions ...string) string {
	t.Helper()
	var meta helm.Metadata
	if err := yaml.Unmarshal([]byte(chartYAML), &meta); err != nil {
		t.Fatal(err)
	}
	var lock helm.Lock
	for i, d := range meta.Dependencies {
		lock.Dependencies = append(lock.Dependencies, &helm.Dependency{Name: d.Name, Repository: d.Repository, Version: versions[i]})
	}
	text, err := json.Marshal([2][]*helm.Dependency{meta.Dependencies, lock.Dependencies})
	if err != nil {
		t.Fatal(err)
	}
	lock.Digest = digest(text)
	if text, err = yaml.Marshal(lock); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// resolvedPath resolves the chart in a directory of the fleet.
func resolvedPath(t *testing.T, s *Source, dir string) (Resolution, error) {
	t.Helper()
	return s.Resolve(t.Context(), Request{Ref: "./" + dir})
}

func pinNames(ref fleet.ChartRef) (names []string) {
	for at := range ref.Dependencies.All() {
		names = append(names, at)
	}
	return names
}

// TestDependenciesOfTheFleet resolves dependencies from a repository, a registry and
// a directory, with and without a lock file.
func TestDependenciesOfTheFleet(t *testing.T) {
	s := source(t)
	r := newRepo(t, archive(t, "db", "1.0.0"), archive(t, "db", "1.1.0"), archive(t, "db", "2.0.0"))
	o := newRegistry(t)
	for _, version := range []string{"0.1.0", "0.2.0"} {
		o.push(t, "charts/cache", version, archive(t, "cache", version), chartLayer)
	}
	oci := "oci://" + o.host() + "/charts"
	list := needing("app", "db ^1.0.0 "+r.url()+"/", "cache >=0.1.0 "+oci, "common 1.x.x file://../common")
	write(t, s.Root, map[string]string{
		"charts/app/Chart.yaml":          list,
		"charts/common/Chart.yaml":       needing("common", "leaf 1.0.0 file://../../leaf", "db 1.0.0 "+r.url()),
		"charts/common/.helmignore":      "notes\n",
		"charts/common/notes":            "x",
		"charts/common/templates/_a.tpl": "a",
		"leaf/Chart.yaml":                chartYAML("leaf", "1.0.0"),
	})
	got, err := resolvedPath(t, s, "charts/app")
	if err != nil {
		t.Fatal(err)
	}
	db := r.url() + "/db@"
	want := []string{db + "1.0.0", db + "1.1.0", oci + "/cache@0.2.0"}
	if !slices.Equal(pinNames(got.Ref), want) {
		t.Errorf("pinned are %q, want %q", pinNames(got.Ref), want)
	}
	asked := len(r.asked)
	c, err := nextRun(s).Chart(t.Context(), got.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.asked) > asked {
		t.Error("the store has the dependencies, and they are fetched again")
	}
	files := []string{
		"Chart.yaml", "charts/db-1.1.0/Chart.yaml", "charts/db-1.1.0/templates/cm.yaml",
		"charts/cache-0.2.0/Chart.yaml", "charts/cache-0.2.0/templates/cm.yaml",
		"charts/common-1.0.0/.helmignore", "charts/common-1.0.0/Chart.yaml", "charts/common-1.0.0/templates/_a.tpl",
		"charts/common-1.0.0/charts/leaf-1.0.0/Chart.yaml", "charts/common-1.0.0/charts/db-1.0.0/Chart.yaml", "charts/common-1.0.0/charts/db-1.0.0/templates/cm.yaml",
	}
	if !slices.Equal(names(c.Files), files) {
		t.Errorf("got %q, want %q", names(c.Files), files)
	}
	reads, err := nextRun(s).Files(t.Context(), got.Ref)
	if want := []string{
		"charts/app/Chart.yaml", "charts/common/.helmignore", "charts/common/Chart.yaml", "charts/common/templates/_a.tpl", "leaf/Chart.yaml",
	}; err != nil || !slices.Equal(reads, want) {
		t.Errorf("it is read from %q, %v, want %q", reads, err, want)
	}

	write(t, s.Root, map[string]string{"charts/app/Chart.lock": lockOf(t, list, "1.0.0", "0.1.0", "1.0.0")})
	_, err = nextRun(s).Chart(t.Context(), got.Ref)
	wantFault(t, err, "charts/app: the dependency "+oci+"/cache@0.1.0 is not pinned", "run fleetc chart add ./charts/app")
	if got, err = resolvedPath(t, nextRun(s), "charts/app"); err != nil {
		t.Fatal(err)
	}
	if want := []string{db + "1.0.0", oci + "/cache@0.1.0"}; !slices.Equal(pinNames(got.Ref), want) {
		t.Errorf("pinned are %q, want %q", pinNames(got.Ref), want)
	}
	before, err := nextRun(s).Chart(t.Context(), got.Ref)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.Root, map[string]string{"leaf/templates/new.yaml": "a"})
	after, err := nextRun(s).Chart(t.Context(), got.Ref)
	if err != nil || after.Digest == before.Digest {
		t.Errorf("a change of a chart beside it does not change its digest: %v", err)
	}
	offline := nextRun(s)
	offline.Offline = true
	if !offline.Has(t.Context(), got.Ref) {
		t.Error("a chart is not there")
	}
	offline.Cache = t.TempDir()
	if offline.Has(t.Context(), got.Ref) {
		t.Error("a chart is there, and its dependencies are not")
	}
	r.server.Close()
	o.server.Close()
	written, _, err := nextRun(s).Vendor(t.Context(), []fleet.ChartRef{got.Ref}, nil)
	if err != nil || len(written) != 2 {
		t.Errorf("vendored are %q, %v", written, err)
	}
	if _, err := offline.Chart(t.Context(), got.Ref); err != nil {
		t.Errorf("out of vendor/charts: %v", err)
	}
	reads, err = nextRun(s).Files(t.Context(), got.Ref)
	if err != nil || !slices.Contains(reads, written[0]) || !slices.Contains(reads, written[1]) {
		t.Errorf("it is read from %q, %v, without %q", reads, err, written)
	}
}

// TestDependenciesInGit resolves dependencies of a chart in a git repository.
func TestDependenciesInGit(t *testing.T) {
	s := source(t)
	r := newRepo(t, archive(t, "db", "1.0.0"))
	g := newGit(t)
	g.links(t, map[string]string{"charts/common/LICENSE": "../../LICENSE"})
	commit := g.commit(t, map[string]string{
		"LICENSE":                  "free",
		"charts/app/Chart.yaml":    needing("app", "common 1.0.0 file://../common", "db 1.x "+r.url()),
		"charts/app/.helmignore":   "LICENSE\nci/\n",
		"charts/common/Chart.yaml": needing("common", "root 1.0.0 file://../.."),
		"charts/common/ci/x":       "x",
		"Chart.yaml":               chartYAML("root", "1.0.0"),
	})
	url := g.urls()[0]
	got, err := s.Resolve(t.Context(), Request{Ref: "git+" + url + "//charts/app"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"file:///", "file:///charts/common", r.url() + "/db@1.0.0"}
	if !slices.Equal(pinNames(got.Ref), want) || got.Ref.Git.Ref != commit {
		t.Errorf("pinned are %q, want %q", pinNames(got.Ref), want)
	}
	c, err := (&Source{Cache: t.TempDir()}).Chart(t.Context(), got.Ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"charts/common-1.0.0/LICENSE", "charts/common-1.0.0/ci/x", "charts/common-1.0.0/charts/root-1.0.0/LICENSE", "charts/db-1.0.0/templates/cm.yaml"} {
		if !slices.Contains(names(c.Files), name) {
			t.Errorf("%s is not in %q", name, names(c.Files))
		}
	}
	if c.Digest == got.Ref.Digest || !digestForm.MatchString(c.Digest) {
		t.Errorf("the digest %s is not one of the chart with its dependencies", c.Digest)
	}
	if err := nextRun(s).Verify(t.Context(), got.Ref); err != nil {
		t.Error(err)
	}
	r.replace("db-1.0.0.tgz", archive(t, "db", "1.0.1"))
	err = nextRun(s).Verify(t.Context(), got.Ref)
	wantFault(t, err, r.url()+"/db@1.0.0 has the digest", "run fleetc chart add git+"+url+"//charts/app --version "+commit)
	_, err = (&Source{Cache: t.TempDir()}).Chart(t.Context(), got.Ref)
	wantFault(t, err, "its pin says", "run fleetc chart add git+"+url+"//charts/app --version "+commit)
}

// TestLockAsHelmWritesIt reads a lock file that `helm dependency update` wrote.
func TestLockAsHelmWritesIt(t *testing.T) {
	s := source(t)
	list := chartYAML("app", "1.0.0") + `dependencies:
- name: common
  version: ^1.0.0
  repository: file://../common
  alias: shared
  condition: shared.enabled
  tags: [a]
  import-values: [{child: x, parent: y}]
`
	lock := `dependencies:
- name: common
  repository: file://../common
  version: 1.2.3
digest: sha256:145a110e650b48d4dcc9e20ee54d570d9d744b95bc93e2784a963d579101df69
generated: "2026-11-24T00:50:02.731019192Z"
`
	write(t, s.Root, map[string]string{"app/Chart.yaml": list, "app/Chart.lock": lock, "common/Chart.yaml": chartYAML("common", "1.3.0")})
	c, err := s.Chart(t.Context(), fleet.ChartRef{Path: "app"})
	if err != nil || !slices.Contains(names(c.Files), "charts/common-1.3.0/Chart.yaml") {
		t.Errorf("got %v", err)
	}
	write(t, s.Root, map[string]string{"app/Chart.yaml": strings.Replace(list, "^1.0.0", "^1.1.0", 1)})
	_, err = nextRun(s).Chart(t.Context(), fleet.ChartRef{Path: "app"})
	wantFault(t, err, "app: Chart.lock is out of sync with the dependencies in Chart.yaml", "run helm dependency update")
	write(t, s.Root, map[string]string{"app/Chart.yaml": strings.Replace(list, "apiVersion: v2", "apiVersion: v1", 1), "app/requirements.lock": lock})
	if _, err = nextRun(s).Chart(t.Context(), fleet.ChartRef{Path: "app"}); err != nil {
		t.Error(err)
	}
}

func TestDependencyFaults(t *testing.T) {
	s := source(t)
	r := newRepo(t, archive(t, "db", "1.0.0"), zip(t, pack(t, file("other/Chart.yaml", chartYAML("needy", "1.0.0")+"dependencies: [{name: x, version: 1.0.0, repository: 'file://../x'}]\n"))))
	secure := strings.Replace(r.url(), "http:", "https:", 1)
	var many []string
	for i := range maxDependencies + 1 {
		name := fmt.Sprintf("d%d", i)
		many = append(many, name+" 1.0.0 file://../"+name)
	}
	files := map[string]string{
		"other/Chart.yaml":                 chartYAML("other", "1.0.0"),
		"a/Chart.yaml":                     needing("a", "b 1.0.0 file://../b"),
		"b/Chart.yaml":                     needing("b", "a 1.0.0 file://../a"),
		"self/Chart.yaml":                  needing("self", "self 1.0.0 file://."),
		"there/charts/db-1.0.0/Chart.yaml": chartYAML("zz", "1.0.0"),
	}
	for name, c := range map[string]struct {
		list string
		want []string
	}{
		"alias":    {needing("x", "db 1.0.0 @mine"), []string{"alias: the repository of the dependency db is @mine", "write the URL of the repository into Chart.yaml"}},
		"alias2":   {needing("x", "db 1.0.0 alias:mine"), []string{"the dependency db is alias:mine"}},
		"nowhere":  {needing("x", "db 1.0.0 "), []string{"nowhere: Chart.yaml lists the dependency db without a repository"}},
		"leaves":   {needing("x", "db 1.0.0 file://../../db"), []string{"leaves: the dependency db is in file://../../db, which is not in the repository"}},
		"absolute": {needing("x", "db 1.0.0 file:///etc"), []string{"is in file:///etc, which is not a path relative to the chart"}},
		"backward": {needing("x", `db 1.0.0 file://..\\\\db`), []string{"which is not in the repository"}},
		"gone":     {needing("x", "db 1.0.0 file://../nothing"), []string{"nothing does not exist"}},
		"git":      {needing("x", "db 1.0.0 file://../.git"), []string{".git is in .git"}},
		"name":     {needing("x", "db 1.0.0 file://../other"), []string{"its dependency db 1.0.0 is the chart other 1.0.0 in other"}},
		"version":  {needing("x", "other ^2 file://../other"), []string{"its dependency other ^2 is the chart other 1.0.0"}},
		"traverse": {needing("x", "../db 1.0.0 "+r.url()), []string{`"../db" is not a valid chart name`}},
		"scheme":   {needing("x", "db 1.0.0 ftp://h/p"), []string{`the dependency db in Chart.yaml: the scheme "ftp" is not supported for charts`}},
		"password": {needing("x", "db 1.0.0 https://me:hunter2@h/p"), []string{"has credentials in it"}},
		"range":    {needing("x", "db ^7 "+r.url()), []string{"has no version ^7 of db", "use one of 1.0.0"}},
		"unknown":  {needing("x", "bd 1.0.0 "+r.url()), []string{"has no chart bd", "did you mean db?"}},
		"no https": {needing("x", "db 1.0.0 "+secure), []string{"/index.yaml: "}},
		"many":     {needing("x", many...), []string{"d0 does not exist"}},
		"there":    {needing("x", "db 1.0.0 "+r.url()), []string{"there: charts/db-1.0.0 is another chart than the dependency with this name", "rename the directory"}},
	} {
		files[name+"/Chart.yaml"] = c.list
		write(t, s.Root, files)
		_, err := resolvedPath(t, nextRun(s), name)
		t.Run(name, func(t *testing.T) {
			wantFault(t, err, c.want...)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret in %v", err)
			}
		})
	}
	for _, name := range []string{"a", "self"} {
		_, err := nextRun(s).Chart(t.Context(), fleet.ChartRef{Path: name})
		wantFault(t, err, "dependencies are nested 9 levels deep", "remove the cycle of dependencies")
	}
	_, err := s.Resolve(t.Context(), Request{Ref: "needy", Repo: r.url()})
	wantFault(t, err, "the dependency x is a local directory of its authors, file://../x")
	s.Offline = true
	files["alias/Chart.yaml"] = needing("x", "db 1.0.0 "+r.url())
	write(t, s.Root, files)
	_, err = resolvedPath(t, s, "alias")
	wantFault(t, err, "without --offline")
}

// TestDependenciesAreBounded checks the limits of nested dependencies.
func TestDependenciesAreBounded(t *testing.T) {
	s := source(t)
	var deps []string
	files := map[string]string{}
	for i := range 21 {
		name := fmt.Sprintf("d%02d", i)
		deps = append(deps, name+" 1.0.0 file://../"+name)
		files[name+"/Chart.yaml"], files[name+"/large"] = chartYAML(name, "1.0.0"), strings.Repeat("a", maxFile)
	}
	files["app/Chart.yaml"] = needing("app", deps...)
	write(t, s.Root, files)
	_, err := s.Chart(t.Context(), fleet.ChartRef{Path: "app"})
	wantFault(t, err, "app: its dependency d19: the files are larger than 100 MiB in all")

	r := newRepo(t)
	index := "apiVersion: v1\nentries:\n"
	deps = nil
	for i := range maxDependencies + 1 {
		name := fmt.Sprintf("d%d", i)
		data := archive(t, name, "1.0.0")
		r.files["/"+name+".tgz"] = data
		index += "  " + name + ": [{version: 1.0.0, urls: [" + name + ".tgz]}]\n"
		deps = append(deps, name+" 1.0.0 "+r.url())
	}
	r.files["/index.yaml"] = []byte(index)
	write(t, s.Root, map[string]string{"many/Chart.yaml": needing("many", deps...)})
	_, err = resolvedPath(t, s, "many")
	wantFault(t, err, "many: it has more than 100 dependencies")
}

// TestPinsOfDependencies checks pins that do not match the dependencies of a chart.
func TestPinsOfDependencies(t *testing.T) {
	s := source(t)
	db := archive(t, "db", "1.0.0")
	r := newRepo(t, db)
	write(t, s.Root, map[string]string{"app/Chart.yaml": needing("app", "db ^1 "+r.url())})
	got, err := resolvedPath(t, s, "app")
	if err != nil {
		t.Fatal(err)
	}
	chart := func(ref fleet.ChartRef) error {
		_, err := nextRun(s).Chart(t.Context(), ref)
		return err
	}
	none := got.Ref
	none.Dependencies = ""
	if err := chart(none); err != nil {
		t.Errorf("without pins, the values say what is missing: %v", err)
	}
	// The state after `helm dependency build`.
	write(t, s.Root, map[string]string{"app/charts/db-1.0.0.tgz": string(db)})
	if err := chart(got.Ref); err != nil {
		t.Error(err)
	}
	write(t, s.Root, map[string]string{"app/charts/db-1.0.0.tgz": string(archive(t, "db", "1.1.0"))})
	wantFault(t, chart(got.Ref), "the dependency "+r.url()+"/db@1.0.0 is pinned, and Chart.yaml does not list it or charts has another")
	zero := " sha256:" + strings.Repeat("0", 64) + "\n"
	for pin, want := range map[string]string{
		"file:///x" + zero:                             "is pinned in a directory of a git repository, but the chart is not in a repository",
		r.url() + "/db" + zero:                         "is not an exact version",
		r.url() + "/db@^1" + zero:                      "is not an exact version",
		"db@1.0.0" + zero:                              "the scheme",
		"https://u:p@h/db@1.0.0" + zero:                "credentials",
		"ftp://h/db@1.0.0" + zero:                      "not supported for charts",
		r.url() + "/db@1.0.0 sha256:12345\n":           "is not sha256:",
		r.url() + "/../x/..@1.0.0" + zero:              "is not a valid chart name",
		strings.Repeat("https://h/db@1.0.0"+zero, 101): "more than 100 dependencies are pinned",
	} {
		ref := none
		ref.Dependencies = fleet.Digests(pin)
		wantFault(t, chart(ref), want)
	}
	remote := fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/r.git", Ref: "main"}, Digest: strings.TrimSpace(zero)}
	remote.Dependencies = fleet.Digests("file:///../x" + zero)
	wantFault(t, chart(remote), "is not a path in a git repository")
}

// TestCredentialsOfDependencies checks that a dependency without credentials gets
// none of another repository.
func TestCredentialsOfDependencies(t *testing.T) {
	s := source(t)
	mine, other := newRepo(t, archive(t, "db", "1.0.0")), newRepo(t, archive(t, "cache", "1.0.0"))
	mine.user, mine.password = "me", "hunter2"
	writeConfig(t, "repositories:\n- {name: mine, url: "+mine.url()+", username: me, password: hunter2}\n")
	write(t, s.Root, map[string]string{"app/Chart.yaml": needing("app", "db 1.0.0 "+mine.url(), "cache 1.0.0 "+other.url())})
	if _, err := resolvedPath(t, s, "app"); err != nil {
		t.Fatal(err)
	}
	if len(other.asked) == 0 || slices.ContainsFunc(other.asked, func(r *http.Request) bool { return r.Header.Get("Authorization") != "" }) {
		t.Error("another repository got the credentials")
	}
}

// TestDependencyDowngrade refuses a dependency over http of a chart over https.
func TestDependencyDowngrade(t *testing.T) {
	for _, at := range []fleet.ChartRef{
		{Repo: "https://h", Name: "x"}, {Repo: "oci://h", Name: "x"}, {Git: fleet.GitRef{URL: "ssh://h/r"}}, {Git: fleet.GitRef{URL: "https://h/r"}},
	} {
		_, err := wantedDependency(at, helm.Dependency{Name: "db", Version: "1", Repository: "http://h/charts"})
		wantFault(t, err, "the repository of the dependency db is http://h/charts, but the chart itself is fetched with encryption")
	}
	for _, at := range []fleet.ChartRef{{Path: "x"}, {Repo: "http://h", Name: "x"}} {
		if _, err := wantedDependency(at, helm.Dependency{Name: "db", Version: "1", Repository: "http://h/charts"}); err != nil {
			t.Error(err)
		}
	}
}

// TestPackageOfDependencies writes a package with pins of two versions.
func TestPackageOfDependencies(t *testing.T) {
	ref := fleet.ChartRef{Repo: "https://h", Name: "app", Version: "1.0.0", Digest: "sha256:1", Dependencies: "https://h/db@1.0.0 sha256:2\n"}
	next := ref
	next.Version, next.Dependencies = "2.0.0", "https://h/db@2.0.0 sha256:3\n"
	text := string(Package("app", Resolution{Ref: next, Name: "app", Version: "2.0.0"}, Resolution{Ref: ref, Name: "app", Version: "1.0.0"}))
	for _, want := range []string{"dependencies: {\n", `"https://h/db@1.0.0": "sha256:2"`, "}[version]\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
