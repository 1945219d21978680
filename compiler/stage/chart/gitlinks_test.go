package chart

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// links creates symbolic links in the work tree. The map has targets by name.
func (g *gitServer) links(t *testing.T, targets map[string]string) {
	t.Helper()
	for name, target := range targets {
		name = filepath.Join(g.work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		link(t, target, name)
	}
}

// TestGitLinksAsHelmFollowsThem compares symbolic links in a git repository with
// Helm's loader on a clone, and with the same directory in the fleet.
func TestGitLinksAsHelmFollowsThem(t *testing.T) {
	s := source(t)
	g := newGit(t)
	files := map[string]string{
		"LICENSE":                     "free",
		"rules":                       "ci/\nold\n",
		"shared/_all.tpl":             "all",
		"shared/more/_more.tpl":       "more",
		"values/base.yaml":            "a: 1\n",
		"charts/web/Chart.yaml":       chartYAML("web", "1.0.0"),
		"charts/web/templates/a.yaml": "a",
		"charts/web/ci/x":             "x",
	}
	g.links(t, map[string]string{
		"charts/web/LICENSE":               "../../LICENSE",
		"charts/web/.helmignore":           "../../rules",
		"charts/web/old":                   "/etc/passwd",
		"charts/web/templates/shared":      "../../../shared",
		"charts/web/templates/once-more":   "shared/../shared/more",
		"charts/web/values.yaml":           "../../values/default.yaml",
		"values/default.yaml":              "./base.yaml",
		"shared/license":                   "../charts/web/LICENSE",
		"charts/web/ci/gone":               "nowhere",
		"elsewhere/not-part-of-the-chart":  "/etc/passwd",
		"elsewhere/not-part-of-it-neither": "../../../..",
		"current":                          "charts/./web",
	})
	commit := g.commit(t, files)
	got, err := s.Resolve(t.Context(), Request{Ref: "git+" + g.urls()[0] + "//charts/web"})
	if err != nil {
		t.Fatal(err)
	}
	linked, err := s.Resolve(t.Context(), Request{Ref: "git+" + g.urls()[1] + "//current", Version: commit})
	if err != nil || linked.Ref.Digest != got.Ref.Digest || linked.Ref.Git.Path != "current" {
		t.Errorf("through a link: %+v, %v", linked, err)
	}
	c, err := s.Chart(t.Context(), got.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(g.work, "charts/web/ci")); err != nil {
		t.Fatal(err) // Helm fails for broken links, even ignored ones
	}
	log.SetOutput(io.Discard) // Helm logs every link
	defer log.SetOutput(os.Stderr)
	want, err := loader.LoadDir(filepath.Join(g.work, "charts/web"))
	if err != nil {
		t.Fatal(err)
	}
	inFleet, err := (&Source{Root: g.work, Cache: t.TempDir()}).Chart(t.Context(), fleet.ChartRef{Path: "charts/web"})
	if err != nil {
		t.Fatal(err)
	}
	var raw []fleet.File
	for _, f := range want.Raw {
		raw = append(raw, fleet.File{Name: f.Name, Data: f.Data})
	}
	for _, other := range [][]fleet.File{raw, inFleet.Files} {
		slices.SortFunc(other, func(a, b fleet.File) int { return strings.Compare(a.Name, b.Name) })
		same := slices.EqualFunc(c.Files, other, func(a, b fleet.File) bool { return a.Name == b.Name && bytes.Equal(a.Data, b.Data) })
		if !same || len(other) != 9 {
			t.Errorf("got %v, want %v", names(c.Files), names(other))
		}
	}
}

func TestGitLinkFaults(t *testing.T) {
	s := source(t)
	g := newGit(t)
	files := map[string]string{"shared/a": "a", "large/a": strings.Repeat("a", maxFile), "rules/.helmignore": "old\n"}
	targets := map[string]string{
		"absolute/passwd":  "/etc/passwd",
		"leaves/x":         "../../outside",
		"far/x":            "../shared/../../repo/shared/a",
		"chain/x":          "y",
		"chain/y":          "../../outside",
		"git/config":       "../.git/config",
		"dangling/x":       "../shared/gone",
		"above/in/x":       "..",
		"self/x":           ".",
		"loop/x":           "y",
		"loop/y":           "x",
		"through/x":        "../through/y/a",
		"through/y":        "../through/x",
		"module/x":         "../sub",
		"inside/x":         "../sub/x",
		"rules/old":        "/etc/passwd",
		"rules/new":        "/etc/passwd",
		"Chart/Chart.yaml": "../../Chart.yaml",
	}
	for i := range 21 {
		targets[fmt.Sprintf("large/%d", i)] = "a"
	}
	// Every directory has ten links to the next one.
	for i := range 6 {
		for j := range 10 {
			targets[fmt.Sprintf("bomb/d%d/l%d", i, j)] = fmt.Sprintf("../d%d", i+1)
			targets[fmt.Sprintf("hidden/.d%d/l%d", i, j)] = fmt.Sprintf("../.d%d", i+1)
		}
	}
	targets["hidden/.d6/old"], files["hidden/.helmignore"] = "gone", "old\n"
	targets["hidden/d"] = ".d0"
	files["bomb/d6/a"] = "a"
	want := map[string]string{
		"absolute": "passwd is a symbolic link to /etc/passwd, which is outside of the repository",
		"leaves":   "x is a symbolic link to ../../outside, which is outside of the repository",
		"far":      "x is a symbolic link to ../shared/../../repo/shared/a, which is outside of the repository",
		"chain":    "x is a symbolic link to y, which is outside of the repository",
		"git":      "config is a symbolic link to ../.git/config, which is in .git",
		"dangling": "x is a symbolic link to ../shared/gone, which does not exist in the repository",
		"above/in": "x/in is a symbolic link to a directory that contains it",
		"self":     "x is a symbolic link to a directory that contains it",
		"loop":     "x is a symbolic link to y, which has too many symbolic links",
		"through":  "x is a symbolic link to ../through/y/a, which has too many symbolic links",
		"module":   "x is a submodule",
		"inside":   "x is a symbolic link to ../sub/x, which does not exist in the repository",
		"rules":    "new is a symbolic link to /etc/passwd, which is outside of the repository",
		"large":    "the files are larger than 100 MiB in all",
		"bomb":     "more than 10000 files and directories",
		"hidden":   "more than 10000 files and directories",
		"Chart":    "Chart.yaml is a symbolic link to ../../Chart.yaml, which is outside of the repository",
	}
	for name := range want {
		if name != "Chart" {
			files[name+"/Chart.yaml"] = chartYAML("web", "1.0.0")
		}
	}
	write(t, g.work, files)
	g.links(t, targets)
	sub := newGit(t)
	sub.commit(t, map[string]string{"x": "x"})
	runGit(t, g.work, "submodule", "--quiet", "add", sub.urls()[1], "sub")
	g.commit(t, nil)
	for name, want := range want {
		t.Run(name, func(t *testing.T) {
			_, err := s.Resolve(t.Context(), Request{Ref: "git+" + g.urls()[1] + "//" + name})
			wantFault(t, err, want)
		})
	}
	// The same directories in the fleet.
	local := &Source{Root: g.work, Cache: t.TempDir()}
	delete(want, "hidden") // exceeds the limit after some seconds
	for name := range want {
		if _, err := local.Chart(t.Context(), fleet.ChartRef{Path: name}); err == nil && name != "module" && name != "inside" {
			t.Errorf("%s is read in the fleet", name)
		}
	}
}
