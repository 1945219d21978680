package lsp

import (
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// The title of a release has the versions of its charts, those of most clusters first, and a
// newer version that another cluster has.
func TestReleaseTitle(t *testing.T) {
	cluster := func(id, name, version string) *fleet.Cluster {
		return &fleet.Cluster{ID: id, Releases: []*fleet.Release{{Name: name, Chart: fleet.ChartRef{Repo: "https://example.com", Name: "web", Version: version}}}}
	}
	s := &snapshot{clusters: []*fleet.Cluster{cluster("dev", "test", "1.10.0"), cluster("prod/a", "web", "1.2.0"), cluster("prod/b", "web", "1.9.0"), cluster("prod/c", "web", "1.9.0")}}
	for from, want := range map[int]string{
		0: "https://example.com/web@1.9.0 in 2 (newer: 1.10.0 in dev) · https://example.com/web@1.2.0 in 1 (newer: 1.10.0 in dev) · 3 of 4 clusters",
		3: "https://example.com/web@1.9.0 (newer: 1.10.0 in dev) · prod/c",
	} {
		if got := s.releaseTitle("web", s.clusters[from:]); got != want {
			t.Errorf("the title is %q, want %q", got, want)
		}
	}
	if got := s.releaseTitle("test", s.clusters); got != "https://example.com/web@1.10.0 · dev" {
		t.Errorf("the title is %q", got)
	}
}
