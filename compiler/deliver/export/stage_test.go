package export

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestForeignInTheWay(t *testing.T) {
	tree := newTree(t)
	place := filepath.Join(tree.Dir, "b")
	write(t, filepath.Join(place, "web/pod-x-file.yaml"), "theirs")
	write(t, filepath.Join(place, "web/pod-x-dir.yaml/README"), "theirs")
	write(t, filepath.Join(place, "db"), "theirs")
	write(t, filepath.Join(place, "web/pod-x-same.yaml"), textOf("b", "same"))
	for link, target := range map[string]string{"web/pod-x-link.yaml": "pod-x-same.yaml", "up": "..", "web/pod-x-dangling.yaml": "/nowhere"} {
		if err := os.Symlink(target, filepath.Join(place, link)); err != nil {
			t.Fatal(err)
		}
	}
	before := listing(t, place)
	_, err := export(tree, false, bundle("a", "web/Pod/x/y=1"),
		bundle("b", "web/Pod/x/file=1", "web/Pod/x/dir=1", "db/Pod/x/y=1", "db/Pod/x/z=1", "web/Pod/x/same=same", "web/Pod/x/link=same", "up/Pod/x/y=1", "web/Pod/x/dangling=1"),
		bundle("c", "web/Pod/x/y=1"))
	wantFaults(t, tree.Dir, err,
		"b/db: expected a directory of the bundle, got a file",
		"b/up: expected a directory of the bundle, got a symbolic link",
		"b/web/pod-x-dangling.yaml: expected a file of the bundle, got a symbolic link",
		"b/web/pod-x-dir.yaml: expected a file of the bundle, got a directory",
		"b/web/pod-x-file.yaml: the export would overwrite this file, which fleetc did not write",
		"b/web/pod-x-link.yaml: expected a file of the bundle, got a symbolic link",
	)
	if d, ok := errors.AsType[*diag.Diag](err); !ok || !slices.Equal(d.Clusters, []string{"b"}) {
		t.Errorf("got %#v", d)
	}
	if after := listing(t, place); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	for name := range files(t, tree.Dir) {
		if !strings.HasPrefix(name, "b/") {
			t.Errorf("wrote %s", name)
		}
	}
}

func TestFileInTheWayOfCluster(t *testing.T) {
	tree := newTree(t)
	write(t, filepath.Join(tree.Dir, "prod"), "theirs")
	_, err := export(tree, false, bundle("prod/eu", "web/Pod/x/y=1"))
	wantFaults(t, tree.Dir, err, "prod: expected a directory of the bundle, got a file")
}

func TestSymlinks(t *testing.T) {
	for _, link := range []string{"prod", "prod/eu", "prod/eu/web", "prod/eu/old", "prod/eu/bundle.json", stagingArea} {
		for _, outside := range []bool{false, true} {
			t.Run(link, func(t *testing.T) {
				tree := newTree(t)
				mustExport(t, tree, false, bundle("prod/eu", "web/Pod/x/y=1", "old/Pod/x/y=1"))
				// Replace a file by a link to it.
				at := filepath.Join(tree.Dir, link)
				away := filepath.Join(tree.Dir, "elsewhere")
				if outside {
					away = filepath.Join(filepath.Dir(tree.Dir), "outside")
				}
				if link == stagingArea {
					write(t, filepath.Join(away, "precious"), "x")
				} else if err := os.Rename(at, away); err != nil {
					t.Fatal(err)
				}
				rel, err := filepath.Rel(filepath.Dir(at), away)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(rel, at); err != nil {
					t.Fatal(err)
				}
				before := listing(t, filepath.Dir(tree.Dir))
				_, err = export(tree, false, bundle("prod/eu", "web/Pod/x/y=2"), bundle("a", "web/Pod/x/y=2"))
				if _, ok := errors.AsType[*diag.Diag](err); !ok || !strings.Contains(err.Error(), link+": expected ") || !strings.Contains(err.Error(), ", got a symbolic link") {
					t.Errorf("got %v", err)
				}
				// Retire follows no links.
				if _, err := export(tree, true, bundle("a")); link == stagingArea && err == nil {
					t.Error("no error")
				}
				if err := os.RemoveAll(filepath.Join(tree.Dir, "a")); err != nil {
					t.Fatal(err)
				}
				strip := func(s string) string { // the time of the root changed with a
					_, rest, _ := strings.Cut(s, "\nout ")
					_, rest, _ = strings.Cut(rest, "\n")
					return rest
				}
				if after := listing(t, filepath.Dir(tree.Dir)); strip(before) != strip(after) {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
			})
		}
	}
}

func TestAdoption(t *testing.T) {
	tree := newTree(t)
	b := bundle("a", "web/Pod/x/y=1", "web/Pod/x/z=2")
	write(t, filepath.Join(tree.Dir, "a/web/pod-x-y.yaml"), textOf("a", "1"))
	before := listing(t, filepath.Join(tree.Dir, "a/web"))
	sum := mustExport(t, tree, true, b)
	if sum.Added != 2 || sum.Unchanged != 1 {
		t.Errorf("summary %+v", sum)
	}
	line := func(l string) string { l = l[strings.Index(l, "pod-x-y"):]; return l[:strings.Index(l, "\n")] }
	if after := listing(t, filepath.Join(tree.Dir, "a/web")); line(before) != line(after) {
		t.Errorf("before %s, after %s", line(before), line(after))
	}
	// The directory is adopted now.
	sum = mustExport(t, tree, true, bundle("a", "web/Pod/x/z=2"))
	if sum.Removed != 1 {
		t.Errorf("summary %+v", sum)
	}
	wantFiles(t, tree.Dir, "a/web/pod-x-z.yaml")

	// A missing index is written again.
	if err := os.Remove(filepath.Join(tree.Dir, "a/bundle.json")); err != nil {
		t.Fatal(err)
	}
	if sum = mustExport(t, tree, true, bundle("a", "web/Pod/x/z=2")); sum.Added != 1 || sum.Unchanged != 1 {
		t.Errorf("summary %+v", sum)
	}
}

// TestEdited checks that an edited file is restored and a removed one is
// written again.
func TestEdited(t *testing.T) {
	tree := newTree(t)
	b := bundle("a", "web/Pod/x/y=1", "web/Pod/x/z=2", "web/Pod/x/w=3")
	mustExport(t, tree, true, b)
	want := files(t, tree.Dir)
	write(t, filepath.Join(tree.Dir, "a/web/pod-x-y.yaml"), "text: 9\n")
	if err := os.RemoveAll(filepath.Join(tree.Dir, "a/web/pod-x-z.yaml")); err != nil {
		t.Fatal(err)
	}
	sum := mustExport(t, tree, true, b)
	if sum.Changed != 1 || sum.Added != 1 || sum.Unchanged != 2 {
		t.Errorf("summary %+v", sum)
	}
	if got := files(t, tree.Dir); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheck(t *testing.T) {
	tree := newTree(t)
	old := []*fleet.Bundle{bundle("a", "web/Pod/x/y=1", "web/Pod/x/z=1"), bundle("prod/gone", "web/Pod/x/y=1"), bundle("same", "web/Pod/x/y=1")}
	now := []*fleet.Bundle{bundle("a", "web/Pod/x/y=2", "web/Pod/x/w=1"), bundle("new", "web/Pod/x/y=1"), bundle("same", "web/Pod/x/y=1")}
	check := func() Summary {
		t.Helper()
		before := listing(t, filepath.Dir(tree.Dir))
		s, err := tree.Check()
		if err != nil {
			t.Fatal(err)
		}
		sum, err := run(s, true, now...)
		if err != nil {
			t.Fatal(err)
		}
		if after := listing(t, filepath.Dir(tree.Dir)); before != after {
			t.Fatalf("before:\n%s\nafter:\n%s", before, after)
		}
		return sum
	}
	if sum := check(); sum.Added != 7 || sum.Changes() != 7 {
		t.Errorf("summary %+v", sum)
	}
	mustExport(t, tree, true, old...)
	want := check()
	if want.Added != 3 || want.Changed != 2 || want.Removed != 3 || want.Unchanged != 2 || len(want.Clusters) != 4 || !want.Clusters[2].Retired {
		t.Errorf("summary %+v", want)
	}
	sum := mustExport(t, tree, true, now...)
	if !slices.EqualFunc(sum.Clusters, want.Clusters, func(a, b Result) bool { return a.Cluster == b.Cluster && slices.Equal(a.Files, b.Files) }) {
		t.Errorf("the export did %+v, the check said %+v", sum, want)
	}
	if sum := check(); sum.Changes() != 0 {
		t.Errorf("summary %+v", sum)
	}
	write(t, filepath.Join(tree.Dir, "a/web/pod-x-w.yaml"), "edited")
	if err := os.Remove(filepath.Join(tree.Dir, "a/bundle.json")); err != nil {
		t.Fatal(err)
	}
	s, err := tree.Check()
	if err != nil {
		t.Fatal(err)
	}
	_, err = run(s, true, now...)
	wantFaults(t, tree.Dir, err, "a/web/pod-x-w.yaml: the export would overwrite this file, which fleetc did not write")
}

func TestRetire(t *testing.T) {
	tree := newTree(t)
	other := *tree
	other.Fleet = "example.com/other"
	mustExport(t, &other, true, bundle("theirs", "web/Pod/x/y=1"))
	mustExport(t, tree, true, bundle("keep", "web/Pod/x/y=1"), bundle("eu/prod/1", "web/Pod/x/y=1"), bundle("eu/prod/2", "web/Pod/x/y=1", "db/Pod/x/y=1"), bundle("us", "web/Pod/x/y=1"))
	write(t, filepath.Join(tree.Dir, "eu/prod/2/db/notes.txt"), "mine")
	write(t, filepath.Join(tree.Dir, "eu/README"), "mine")
	// A copied directory of a cluster is foreign.
	if err := os.CopyFS(filepath.Join(tree.Dir, "backup"), os.DirFS(filepath.Join(tree.Dir, "us"))); err != nil {
		t.Fatal(err)
	}
	// Other tools use the same file name.
	write(t, filepath.Join(tree.Dir, "site", indexFile), `{"name": "site"}`)
	// A selection of clusters does not retire others.
	mustExport(t, tree, false, bundle("keep", "web/Pod/x/y=2"))
	sum := mustExport(t, tree, true, bundle("keep", "web/Pod/x/y=2"))
	if sum.Removed != 7 || sum.Changes() != 7 || len(sum.Clusters) != 4 {
		t.Errorf("summary %+v", sum)
	}
	wantFiles(t, tree.Dir, "backup/web/pod-x-y.yaml", "eu/README", "eu/prod/2/db/notes.txt", "keep/web/pod-x-y.yaml", "theirs/web/pod-x-y.yaml")
	if got := files(t, filepath.Join(tree.Dir, "site"))[indexFile]; got == "" {
		t.Error("the bundle.json of another tool is gone")
	}
	if _, err := os.Stat(filepath.Join(tree.Dir, "eu/prod/2", indexFile)); err == nil {
		t.Error("the index of a retired cluster is there")
	}
	if sum = mustExport(t, tree, true, bundle("keep", "web/Pod/x/y=2")); sum.Changes() != 0 {
		t.Errorf("summary %+v", sum)
	}
}

// TestNestedClusters checks clusters whose directories are nested.
func TestNestedClusters(t *testing.T) {
	tree := newTree(t)
	for _, bundles := range [][]*fleet.Bundle{
		{bundle("prod", "web/Pod/x/y=1")},
		{bundle("prod/eu", "web/Pod/x/y=1")},
		{bundle("prod", "eu/Pod/x/y=1"), bundle("prod/eu", "web/Pod/x/y=2")},
		{bundle("prod", "web/Pod/x/y=1")},
	} {
		mustExport(t, tree, true, bundles...)
		var want []string
		for _, b := range bundles {
			for _, name := range FileNames(b.Objects) {
				want = append(want, b.Cluster.ID+"/"+name)
			}
		}
		slices.Sort(want)
		wantFiles(t, tree.Dir, want...)
		if sum := mustExport(t, tree, true, bundles...); sum.Changes() != 0 {
			t.Errorf("summary %+v", sum)
		}
	}
}

func TestClusterIDs(t *testing.T) {
	for _, id := range []string{"", ".", "..", "a/../b", "/a", "a/", "a//b", `a\b`, "c:", ".git", "a/.b", "_a", stagingArea + "/x", "a\x00"} {
		tree := newTree(t)
		_, err := export(tree, false, bundle(id, "web/Pod/x/y=1"))
		if _, ok := errors.AsType[*diag.Diag](err); !ok || !strings.Contains(err.Error(), "is not a valid directory for a cluster") {
			t.Errorf("%q: got %v", id, err)
		}
		wantFiles(t, filepath.Dir(tree.Dir), "./")
	}
	for _, ids := range [][]string{{"prod/a", "Prod/A", "PROD/a"}, {"PROD/a", "Prod/A", "prod/a"}, {"Prod/A", "prod/a", "PROD/a"}} {
		s, err := newTree(t).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			_, _ = s.Stage(bundle(id)) // Commit reports the fault
		}
		_, err = s.Commit()
		wantFaults(t, "", errors.Join(err, s.Close()),
			`two clusters have the same directory "Prod/A" except for letter case`,
			`two clusters have the same directory "prod/a" except for letter case`)
	}
}

// TestStageAtOnce checks that staging in parallel gives the same result.
func TestStageAtOnce(t *testing.T) {
	one, several := newTree(t), newTree(t)
	for round := range 3 {
		var bundles []*fleet.Bundle
		for i := range 20 {
			bundles = append(bundles, bundle(fmt.Sprintf("c%02d", i), fmt.Sprintf("web/Pod/x/y=%d", i*round), "db/Pod/x/y=1"))
		}
		want := mustExport(t, one, true, bundles...)
		s, err := several.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		for _, b := range slices.Backward(bundles) {
			running.Go(func() {
				if _, err := s.Stage(b); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		got, err := s.Commit()
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if got, want := files(t, several.Dir), files(t, one.Dir); !maps.Equal(got, want) || len(got) != 60 {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
}

func TestStageTwins(t *testing.T) {
	_, err := export(newTree(t), false, bundle("a", "web/Pod/x/y=1", "web/Pod/x/y=2"))
	if err == nil || !strings.Contains(err.Error(), "two of its objects have the same ID") {
		t.Errorf("got %v", err)
	}
}
