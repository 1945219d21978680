package chart

import (
	"bytes"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryAsHelmReadsIt(t *testing.T) {
	s := source(t)
	write(t, s.Root, map[string]string{
		"charts/web/Chart.yaml":            bom + chartYAML("web", "1.0.0"),
		"charts/web/.helmignore":           "# comment\n*.bak\nci/\n/docs/*.md\nsecret\n",
		"charts/web/values.yaml":           "a: 1\n",
		"charts/web/values.yaml.bak":       "a: 2\n",
		"charts/web/ci/values.yaml":        "a: 3\n",
		"charts/web/docs/a.md":             "x",
		"charts/web/docs/a.txt":            "x",
		"charts/web/templates/.hidden":     "x",
		"charts/web/templates/a.yaml":      "a",
		"charts/web/templates-x/a.yaml":    "a",
		"charts/web/charts/db/Chart.yaml":  chartYAML("db", "1.0.0"),
		"charts/web/charts/db/ci/x":        "x",
		"charts/web/charts/db/values.yaml": "b: 1\n",
		"shared/a.tpl":                     "shared",
		"shared/more/b.tpl":                "shared too",
	})
	web := filepath.Join(s.Root, "charts/web")
	link(t, "../../../shared/a.tpl", filepath.Join(web, "templates/a.tpl"))
	link(t, "../../shared", filepath.Join(web, "shared"))
	link(t, "nowhere", filepath.Join(web, "old.bak"))
	got, err := s.Chart(t.Context(), fleet.ChartRef{Path: "charts/web"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(web, "old.bak")); err != nil {
		t.Fatal(err) // Helm fails for broken links, even ignored ones
	}
	log.SetOutput(io.Discard) // Helm logs every link
	defer log.SetOutput(os.Stderr)
	want, err := loader.LoadDir(web)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Files) != len(want.Raw) {
		t.Fatalf("got %v, want %d files", names(got.Files), len(want.Raw))
	}
	for i, f := range want.Raw {
		if got.Files[i].Name != f.Name || !bytes.Equal(got.Files[i].Data, f.Data) {
			t.Errorf("got %s, want %s", got.Files[i].Name, f.Name)
		}
	}
	if !slices.Contains(names(got.Files), "shared/more/b.tpl") {
		t.Errorf("the directory behind a link is not in %v", names(got.Files))
	}
}

func TestPathDigest(t *testing.T) {
	at := func(files map[string]string) string {
		s := source(t)
		files["c/Chart.yaml"] = chartYAML("c", "1.0.0")
		write(t, s.Root, files)
		c, err := s.Chart(t.Context(), fleet.ChartRef{Path: "c"})
		if err != nil {
			t.Fatal(err)
		}
		return c.Digest
	}
	seen := map[string]string{}
	for name, files := range map[string]map[string]string{
		"one file":  {"c/a": "bc"},
		"shifted":   {"c/ab": "c"},
		"two files": {"c/a": "b", "c/c": ""},
		"other":     {"c/a": "bd"},
	} {
		d := at(files)
		if d != at(files) {
			t.Errorf("%s: another digest in another place", name)
		}
		if !digestForm.MatchString(d) || seen[d] != "" {
			t.Errorf("%s: digest %s, as %s", name, d, seen[d])
		}
		seen[d] = name
	}
	a := []fleet.File{{Name: "a", Data: []byte("1")}, {Name: "b", Data: []byte("2")}}
	b := []fleet.File{a[1], a[0]}
	if filesDigest(a) != filesDigest(b) || a[0].Name != "a" || b[0].Name != "b" {
		t.Error("the digest depends on the order, or changes it")
	}
}

func TestArchiveByPath(t *testing.T) {
	s := source(t)
	write(t, s.Root, map[string]string{"vendor/web-1.0.0.tgz": string(archive(t, "web", "1.0.0")), "vendor/notes.tgz": "x"})
	c, err := s.Chart(t.Context(), fleet.ChartRef{Path: "vendor/web-1.0.0.tgz"})
	if err != nil || !slices.Equal(names(c.Files), []string{"Chart.yaml", "templates/cm.yaml"}) {
		t.Fatalf("got %v, %v", c, err)
	}
	_, err = s.Chart(t.Context(), fleet.ChartRef{Path: "vendor/notes.tgz"})
	wantFault(t, err, "vendor/notes.tgz: not a chart archive")
}

func TestPathFaults(t *testing.T) {
	s := source(t)
	outside := t.TempDir()
	write(t, outside, map[string]string{"web/Chart.yaml": chartYAML("web", "1.0.0"), "passwd": "secret"})
	write(t, s.Root, map[string]string{
		"charts/ingress/Chart.yaml": chartYAML("ingress", "1.0.0"),
		"charts/empty/x":            "x",
		"charts/a.tgz":              "x",
		"loop/Chart.yaml":           chartYAML("loop", "1.0.0"),
		"out/Chart.yaml":            chartYAML("out", "1.0.0"),
		"dangling/Chart.yaml":       chartYAML("dangling", "1.0.0"),
		"rules/Chart.yaml":          chartYAML("rules", "1.0.0"),
		"rules/.helmignore":         "a/**\n",
		"large/Chart.yaml":          chartYAML("large", "1.0.0"),
		"large/big":                 strings.Repeat("a", maxFile+1),
		"name/Chart.yaml":           chartYAML("name", "1.0.0"),
		"name/a\nb":                 "",
		"nested/Chart.yaml":         chartYAML("nested", "1.0.0"),
		"nested/charts/a.tgz":       "x",
		"socket/Chart.yaml":         chartYAML("socket", "1.0.0"),
	})
	link(t, "../loop", filepath.Join(s.Root, "loop/again"))
	link(t, filepath.Join(outside, "passwd"), filepath.Join(s.Root, "out/passwd"))
	link(t, "gone", filepath.Join(s.Root, "dangling/a"))
	link(t, filepath.Join(outside, "web"), filepath.Join(s.Root, "charts/web"))
	socket, err := net.Listen("unix", filepath.Join(s.Root, "socket/s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for name, want := range map[string][]string{
		"charts/ingres":  {"charts/ingres does not exist", "did you mean charts/ingress?"},
		"charts/x":       {"does not exist", "use one of charts/a.tgz, charts/ingress"},
		"nowhere/x":      {"does not exist", "relative to the fleet's root"},
		"charts/empty":   {"no Chart.yaml in charts/empty", "name the directory that contains Chart.yaml"},
		"charts":         {"no Chart.yaml in charts", "charts/ingress"},
		"../web":         {"not inside the fleet"},
		"a/../../web":    {"not inside the fleet"},
		outside + "/web": {"not inside the fleet", "relative to the fleet's root"},
		`charts\ingress`: {"not inside the fleet"},
		"charts/web":     {"charts/web is a symbolic link to " + outside + "/web, which is outside of the fleet's directory"},
		"charts/web/x":   {"charts/web is a symbolic link"},
		"out":            {"out/passwd is a symbolic link to " + outside + "/passwd, which is outside of the fleet's directory", "put the files into"},
		"loop":           {"loop/again is a symbolic link to a directory that contains it"},
		"dangling":       {"dangling/a is a symbolic link to gone, which does not exist"},
		"rules":          {"rules: .helmignore: double-star"},
		"large":          {"large: big is larger than 5 MiB"},
		"name":           {"name: the name \"a\\nb\" has a control character"},
		"nested":         {"nested: charts/a.tgz: not a gzip archive"},
		"socket":         {"socket: s is neither a file nor a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Chart(t.Context(), fleet.ChartRef{Path: name})
			wantFault(t, err, want...)
		})
	}
}

func TestWithoutIgnored(t *testing.T) {
	files := map[string]string{
		"Chart.yaml": chartYAML("web", "1.0.0"), ".helmignore": "ci/\n*.md\n", "ci/a/b": "", "README.md": "", "templates/.x": "",
		"charts/db/README.md": "", "a/ci": "", "templates/a.yaml": "",
	}
	dir := t.TempDir()
	write(t, dir, files)
	want, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []fleet.File
	for name, content := range files {
		all = append(all, fleet.File{Name: name, Data: []byte(content)})
	}
	kept, err := withoutIgnored(all)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	for _, f := range want.Raw {
		wanted = append(wanted, f.Name)
	}
	got := names(kept)
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("got %v, want %v", got, wanted)
	}
	for text, want := range map[string]string{"Chart.yaml": ".helmignore excludes Chart.yaml", "a**": "double-star"} {
		_, err := withoutIgnored([]fleet.File{{Name: "Chart.yaml"}, {Name: ".helmignore", Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestFiles checks the files that charts are read from: a directory, an archive by
// path, and a remote chart in vendor/charts.
func TestFiles(t *testing.T) {
	s := source(t)
	s.Offline = true
	remote := fleet.ChartRef{Repo: "https://charts.example.com", Name: "web", Version: "1.0.0", Digest: digest(archive(t, "web", "1.0.0"))}
	write(t, s.Root, map[string]string{
		"charts/web/Chart.yaml":       chartYAML("web", "1.0.0"),
		"charts/web/.helmignore":      "ci/\n.helmignore\n",
		"charts/web/ci/values.yaml":   "a: 3\n",
		"charts/web/templates/a.yaml": "a",
		"shared/a.tpl":                "shared",
		"web.tgz":                     string(archive(t, "web", "1.0.0")),
	})
	link(t, "../../../shared/a.tpl", filepath.Join(s.Root, "charts/web/templates/a.tpl"))
	check := func(ref fleet.ChartRef, want ...string) {
		t.Helper()
		if got, err := nextRun(s).Files(t.Context(), ref); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is read from %q, %v, want %q", ref, got, err, want)
		}
	}
	check(fleet.ChartRef{Path: "./charts/web"}, "charts/web/Chart.yaml", "charts/web/templates/a.tpl", "charts/web/templates/a.yaml")
	check(fleet.ChartRef{Path: "web.tgz"}, "web.tgz")
	check(remote)
	write(t, s.Root, map[string]string{vendoredName(remote): "of other bytes"})
	check(remote, vendoredName(remote))
	for _, wrong := range []fleet.ChartRef{{}, {Path: "../x"}, {Path: "charts/wbe"}, {Path: "shared"}} {
		if got, err := nextRun(s).Files(t.Context(), wrong); err == nil {
			t.Errorf("%v is read from %q", wrong, got)
		}
	}
}
