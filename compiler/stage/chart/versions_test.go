package chart

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestNewer(t *testing.T) {
	for _, c := range []struct {
		pinned, all, compatible, newest string
	}{
		{"1.0.0", "1.0.0 1.0.1 1.2.0 2.0.0 2.1.0", "1.2.0", "2.1.0"},
		{"1.0.0", "0.9.0 1.0.0", "1.0.0", "1.0.0"},
		{"1.0.0", "1.1.0-rc.1 2.0.0-alpha 1.0.1", "1.0.1", "1.0.1"},
		{"2.0.0-rc.1", "1.9.0 2.0.0-rc.2", "2.0.0-rc.1", "2.0.0-rc.1"},
		{"2.0.0-rc.1", "1.9.0 2.0.0", "2.0.0", "2.0.0"},
		{"v1.2", "v1.2 v1.3.0 nonsense ../../x latest", "v1.3.0", "v1.3.0"},
		{"1.0.0", "2.0.0", "1.0.0", "2.0.0"},
		{"0.3.1", "0.3.0 0.3.2 0.4.0 1.0.0", "0.3.2", "1.0.0"},
		{"0.3.1", "0.4.0", "0.3.1", "0.4.0"},
		{"1.0.0", "", "1.0.0", "1.0.0"},
		{"1.0.0", "1.0.0+b", "1.0.0", "1.0.0"},
	} {
		got := newer(c.pinned, strings.Fields(c.all))
		if want := (Versions{c.pinned, c.compatible, c.newest}); got != want {
			t.Errorf("%s of %s: got %v, want %v", c.pinned, c.all, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	sum := "sha256:" + strings.Repeat("a", 64)
	r := newRegistry(t)
	for _, v := range []string{"1.0.0", "1.2.0+build.5", "2.0.0"} {
		r.push(t, "charts/web", tagOf(v), archive(t, "web", v), chartLayer)
	}
	h := newRepo(t, archive(t, "web", "1.0.0"), archive(t, "web", "1.1.0"))
	g := newGit(t)
	first := g.commit(t, map[string]string{"charts/web/Chart.yaml": "name: web\nversion: 1.0.0\n"})
	runGit(t, g.work, "tag", "v1.0.0")
	runGit(t, g.work, "tag", "--annotate", "--message=x", "web-1.0.0")
	second := g.commit(t, map[string]string{"charts/web/Chart.yaml": "name: web\nversion: 1.1.0\n"})
	runGit(t, g.work, "tag", "--annotate", "--message=x", "web-1.1.0")
	runGit(t, g.work, "tag", "v3.0.0-rc.1")
	third := g.commit(t, map[string]string{"x": "y"})
	url := g.server.URL + "/repo.git"
	for name, c := range map[string]struct {
		ref  fleet.ChartRef
		want Versions
	}{
		"registry":    {fleet.ChartRef{Repo: "oci://" + r.host() + "/charts", Name: "web", Version: "1.0.0"}, Versions{"1.0.0", "1.2.0+build.5", "2.0.0"}},
		"repository":  {fleet.ChartRef{Repo: h.server.URL, Name: "web", Version: "1.0.0"}, Versions{"1.0.0", "1.1.0", "1.1.0"}},
		"git, tag":    {fleet.ChartRef{Git: fleet.GitRef{URL: url, Ref: first, Path: "charts/web"}}, Versions{"web-1.0.0", "web-1.1.0", "web-1.1.0"}},
		"git, newest": {fleet.ChartRef{Git: fleet.GitRef{URL: url, Ref: second, Path: "charts/web"}}, Versions{"web-1.1.0", "web-1.1.0", "web-1.1.0"}},
		"git, branch": {fleet.ChartRef{Git: fleet.GitRef{URL: url, Ref: "abcdef0", Path: "charts/web"}}, Versions{"abcdef0", third, third}},
	} {
		t.Run(name, func(t *testing.T) {
			c.ref.Digest = sum
			got, err := source(t).Versions(t.Context(), c.ref)
			if err != nil || got != c.want {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
	offline := source(t)
	offline.Offline = true
	_, err := offline.Versions(t.Context(), fleet.ChartRef{Repo: h.server.URL, Name: "web", Version: "1.0.0", Digest: sum})
	if err == nil || !strings.Contains(err.Error(), "needs the network") {
		t.Errorf("offline gives %v", err)
	}
}
