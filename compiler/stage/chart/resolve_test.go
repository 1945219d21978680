package chart

import (
	"os"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestNewest(t *testing.T) {
	all := []string{"1.0.0", "v1.10.0", "1.9.0", "2.0.0-rc.1", "2.0.0-rc.2", "1.9.0+b", "1.9.0+a", "latest", "", "0.5.0"}
	for want, got := range map[string]string{
		"": "v1.10.0", "*": "v1.10.0", "1.9.0": "1.9.0", "v1.0.0": "1.0.0", "1": "v1.10.0", "~1.9.0": "1.9.0+b", "<1.9": "1.0.0",
		">=2.0.0-0": "2.0.0-rc.2", "2.0.0-rc.1": "2.0.0-rc.1", "^0": "0.5.0", ">=0.1 <1 || 1.0.x": "1.0.0", "1.9.0+a": "1.9.0+a",
	} {
		v, err := newest(fleet.ChartRef{Version: want}, all)
		if err != nil || v != got {
			t.Errorf("%q: got %s, %v; want %s", want, v, err, got)
		}
	}
	for want, parts := range map[string][]string{
		"^3":     {"https://h has no version ^3 of web", "use one of 2.0.0-rc.2, 2.0.0-rc.1, v1.10.0, 1.9.0+b, 1.9.0+a"},
		"latest": {`"latest" is not a range of versions`, "write a version"},
		"^":      {"is not a range"},
	} {
		_, err := newest(fleet.ChartRef{Repo: "https://h", Name: "web", Version: want}, all)
		wantFault(t, err, parts...)
	}
	_, err := newest(fleet.ChartRef{Repo: "https://h", Name: "web"}, []string{"1.0.0-rc.1"})
	wantFault(t, err, "no stable version of web", "use one of 1.0.0-rc.1")
	_, err = newest(fleet.ChartRef{Repo: "https://h", Name: "web"}, nil)
	wantFault(t, err, "it has no versions")
	for _, version := range []string{"", "1.0.0", ">=1"} {
		_, err = newest(fleet.ChartRef{Repo: "https://h", Name: "web", Version: version}, []string{"latest", "1.0.0.0"})
		wantFault(t, err, "of web", "use another chart: none of its versions is valid, as 1.2.3 is")
	}
}

func TestResolveHTTP(t *testing.T) {
	s := source(t)
	repo := newRepo(t, archive(t, "web", "1.0.0"), archive(t, "web", "1.2.0"), archive(t, "web", "2.0.0-rc.1"))
	got, err := s.Resolve(t.Context(), Request{Ref: repo.url() + "/web"})
	if err != nil {
		t.Fatal(err)
	}
	want := Resolution{Ref: repo.pin(t, "web", "1.2.0"), Name: "web", Version: "1.2.0", AppVersion: "9", Description: "The web chart"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	repo.server.Close()
	if _, err := nextRun(s).Chart(t.Context(), got.Ref); err != nil {
		t.Errorf("what was added is not in the store: %v", err)
	}
}

func TestResolvePath(t *testing.T) {
	s := source(t)
	s.Offline = true
	write(t, s.Root, map[string]string{
		"charts/web/Chart.yaml": chartYAML("web", "1.0.0") + "deprecated: true\n",
		"bad/Chart.yaml":        "apiVersion: v2\nname: a b\nversion: 1.0.0\n",
		"worse/Chart.yaml":      "apiVersion: v2\nname: [\n",
	})
	got, err := s.Resolve(t.Context(), Request{Ref: "./charts/web"})
	want := Resolution{Ref: fleet.ChartRef{Path: "charts/web"}, Name: "web", Version: "1.0.0", AppVersion: "9", Description: "The web chart", Deprecated: true}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := os.Stat(s.Cache); err == nil {
		t.Error("a chart by path went into the store")
	}
	_, err = s.Resolve(t.Context(), Request{Ref: "./bad"})
	wantFault(t, err, `the name "a b"`)
	_, err = s.Resolve(t.Context(), Request{Ref: "./worse"})
	wantFault(t, err, "worse: cannot load Chart.yaml")
}

func TestDescribeHostile(t *testing.T) {
	text := "apiVersion: v2\nname: web\nversion: 1.0.0\ndescription: \"a\\nimport \\\"x\\\"\\u0085\\u2028b\\u202e */\"\n"
	got, err := describe(fleet.ChartRef{Path: "web"}, []fleet.File{{Name: "Chart.yaml", Data: []byte(text)}})
	if err != nil || got.Description != `a import "x" b */` {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, name := range []string{"../x", "x/y", "", "-x", "x\ny"} {
		text := "apiVersion: v2\nversion: 1.0.0\nname: " + quote(name) + "\n"
		if r, err := describe(fleet.ChartRef{Path: "web"}, []fleet.File{{Name: "Chart.yaml", Data: []byte(text)}}); err == nil && !strings.HasPrefix(r.Name, "xy") {
			t.Errorf("the name %q is taken: %+v", name, r)
		}
	}
}

func TestSameVersion(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"1.0.0", "v1.0.0", true}, {"1.0.0", "1.0.1", false}, {"1.0.0+a", "1.0.0+b", false}, {"1.0", "1.0.0", true}, {"x", "x", false}, {"1.0.0", "x", false}} {
		if got := sameVersion(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: got %t", c.a, c.b, got)
		}
	}
}
