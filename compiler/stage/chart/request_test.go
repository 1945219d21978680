package chart

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestTarget(t *testing.T) {
	s := source(t)
	write(t, s.Root, map[string]string{"charts/web/Chart.yaml": "x", "mine/here/Chart.yaml": "x"})
	writeConfig(t, "repositories:\n- {name: mine, url: 'https://charts.example.com/x/'}\n")
	git := func(url, ref, path string) fleet.ChartRef {
		return fleet.ChartRef{Git: fleet.GitRef{URL: url, Ref: ref, Path: path}}
	}
	for _, c := range []struct {
		req  Request
		want fleet.ChartRef
	}{
		{Request{Ref: "oci://h:5000/a/web", Version: "^1"}, fleet.ChartRef{Repo: "oci://h:5000/a", Name: "web", Version: "^1"}},
		{Request{Ref: "oci://h/web"}, fleet.ChartRef{Repo: "oci://h", Name: "web"}},
		{Request{Ref: "https://h/a/b/web/"}, fleet.ChartRef{Repo: "https://h/a/b", Name: "web"}},
		{Request{Ref: "http://127.0.0.1:1/web"}, fleet.ChartRef{Repo: "http://127.0.0.1:1", Name: "web"}},
		{Request{Ref: "web", Repo: "https://h/a//", Version: "1"}, fleet.ChartRef{Repo: "https://h/a", Name: "web", Version: "1"}},
		{Request{Ref: "web", Repo: "oci://h/a"}, fleet.ChartRef{Repo: "oci://h/a", Name: "web"}},
		{Request{Ref: "mine/web"}, fleet.ChartRef{Repo: "https://charts.example.com/x", Name: "web"}},
		{Request{Ref: "mine/here"}, fleet.ChartRef{Path: "mine/here"}},
		{Request{Ref: "./charts/web"}, fleet.ChartRef{Path: "charts/web"}},
		{Request{Ref: "charts/web/"}, fleet.ChartRef{Path: "charts/web"}},
		{Request{Ref: "./nowhere"}, fleet.ChartRef{Path: "nowhere"}},
		{Request{Ref: "git+https://h/r.git//a/b", Version: "v1"}, git("https://h/r.git", "v1", "a/b")},
		{Request{Ref: "git+https://h/r//a/./b/"}, git("https://h/r", "HEAD", "a/b")},
		{Request{Ref: "git+http://h/r.git"}, git("http://h/r.git", "HEAD", "")},
		{Request{Ref: "git+ssh://git@h/r.git//a"}, git("ssh://git@h/r.git", "HEAD", "a")},
		{Request{Ref: "git+git://h/r.git//a"}, git("git://h/r.git", "HEAD", "a")},
		{Request{Ref: "git+file:///srv/r.git//a"}, git("file:///srv/r.git", "HEAD", "a")},
	} {
		if got, err := s.target(t.Context(), c.req); err != nil || got != c.want {
			t.Errorf("%+v: got %+v, %v", c.req, got, err)
		}
	}
}

func TestTargetRefuses(t *testing.T) {
	s := source(t)
	write(t, s.Root, map[string]string{"charts/web/Chart.yaml": "x"})
	writeConfig(t, "repositories:\n- {name: mine, url: 'https://charts.example.com/x/'}\n- {name: other, url: 'https://me:hunter2@h/'}\n")
	for _, c := range []struct {
		req  Request
		want []string
	}{
		{Request{}, []string{`"" is not a reference to a chart`, "use oci://HOST/PATH/NAME, https://HOST/PATH/NAME, NAME with --repo URL"}},
		{Request{Ref: "web"}, []string{`"web" is not a reference`, "ALIAS/NAME"}},
		{Request{Ref: "mien/web"}, []string{"helm knows no repository mien", "did you mean mine?"}},
		{Request{Ref: "zzzzzz/web"}, []string{"helm knows no repository zzzzzz", "use oci://"}},
		{Request{Ref: "other/web"}, []string{"the URL of h has credentials"}},
		{Request{Ref: "a/b/c"}, []string{"is not a reference"}},
		{Request{Ref: "git@github.com:a/b.git"}, []string{"is not a reference", "git+https://HOST/REPO//PATH"}},
		{Request{Ref: "ftp://h/web"}, []string{"is not a reference"}},
		{Request{Ref: "git+ext://h/web"}, []string{`the scheme "ext"`}},
		{Request{Ref: "https://h/r.git"}, []string{"is a git repository", "git+https://"}},
		{Request{Ref: "https://h/a/web-1.0.0.tgz"}, []string{"is an archive"}},
		{Request{Ref: "https://web"}, []string{"the name of the chart is missing"}},
		{Request{Ref: "https://h/"}, []string{"the name of the chart is missing"}},
		{Request{Ref: "https://"}, []string{"the name of the chart is missing"}},
		{Request{Ref: "https://me:hunter2@h/web"}, []string{"has credentials"}},
		{Request{Ref: "https://h/we%20b"}, []string{"is not a valid chart name"}},
		{Request{Ref: "https://h/web?version=1"}, []string{"is not a valid chart name"}},
		{Request{Ref: "https://h/a/web", Repo: "https://h"}, []string{"pass only the chart's name"}},
		{Request{Ref: "web", Repo: "h/a"}, []string{"the scheme of the URL is missing", "begin it with https://"}},
		{Request{Ref: "web", Repo: "https://me:hunter2@h"}, []string{"has credentials"}},
		{Request{Ref: "./charts/web", Version: "1"}, []string{"leave --version out"}},
		{Request{Ref: "../charts/web"}, []string{"not inside the fleet"}},
		{Request{Ref: s.Root}, []string{"not inside the fleet", "relative to the fleet's root"}},
		{Request{Ref: "git+https://h/r//../../x"}, []string{"is not a path in a git repository"}},
	} {
		_, err := s.target(t.Context(), c.req)
		if err == nil {
			t.Errorf("%+v is taken", c.req)
			continue
		}
		wantFault(t, err, c.want...)
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret in %v", err)
		}
	}
}

func TestOneOf(t *testing.T) {
	many := []string{"aaaaaaaa", "b", "c", "d", "e", "f", "g", "h", "i"}
	if got := oneOf("aaaaaaab", many); got != "did you mean aaaaaaaa?" {
		t.Error(got)
	}
	if got := oneOf("xxxxx", many); got != "use one of aaaaaaaa, b, c, d, e, f, g, h or others" {
		t.Error(got)
	}
	if got := oneOf("xxxxx", many[:2]); got != "use one of aaaaaaaa, b" {
		t.Error(got)
	}
}

// FuzzTarget checks that every accepted request makes a valid pin.
func FuzzTarget(f *testing.F) {
	f.Add("oci://h/a/web", "1", "")
	f.Add("https://me@h/a/web", "", "")
	f.Add("web", "^1", "https://h/a")
	f.Add("git+file:///a//b", "main", "")
	f.Add("./a/../b", "", "")
	root := f.TempDir()
	f.Setenv("HELM_REPOSITORY_CONFIG", filepath.Join(root, "none"))
	f.Fuzz(func(t *testing.T, ref, version, repo string) {
		s := &Source{Root: root}
		got, err := s.target(t.Context(), Request{Ref: ref, Version: version, Repo: repo})
		if err != nil {
			wantFault(t, err)
			return
		}
		got.Digest = digest(nil)
		if got.Repo != "" {
			got.Version = "1.0.0"
		}
		if err := checkRef(got); err != nil {
			t.Errorf("%q %q %q: %v", ref, version, repo, err)
		}
		if got.Path != "" && !filepath.IsLocal(got.Path) || strings.HasPrefix(got.Git.Ref, "-") || strings.Contains(got.Repo, "@") {
			t.Errorf("%q %q %q: got %+v", ref, version, repo, got)
		}
	})
}
