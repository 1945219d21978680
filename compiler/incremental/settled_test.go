package incremental

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// exportSettled exports a fleet, and returns the IDs of the clusters that were
// compiled and those of them with a release that was rendered.
func exportSettled(t *testing.T, c *compiler.Compiler, out string) (compiled, rendered []string) {
	t.Helper()
	tree := &export.Tree{Dir: out, Version: "test"}
	var err error
	if tree.Fleet, err = c.Module(); err != nil {
		t.Fatal(err)
	}
	session, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	f, settled, err := Load(t.Context(), c, Task{
		Name: "export", Holds: func(id, digest string) bool { return session.DirectoryState(id).Digest == digest },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer settled.Close()
	for id := range settled.Outcomes {
		if err := session.MarkUnchanged(id, session.DirectoryState(id).Files); err != nil {
			t.Fatal(err)
		}
	}
	f.OnCacheLookup = func(_ *fleet.Release, kept bool) {
		if !kept {
			rendered = append(rendered, "a release")
		}
	}
	f.Slots = make(chan struct{}, 1) // so that one at a time tells
	for b, err := range deliver.Exports(t.Context(), f, fleet.PlainLayout) {
		if err != nil {
			t.Fatal(err)
		}
		compiled = append(compiled, b.Cluster.ID)
		if _, err := session.Stage(b); err != nil {
			t.Fatal(err)
		}
	}
	summary, err := session.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(summary.Clusters); got != len(compiled)+len(settled.Outcomes) {
		t.Errorf("%d clusters are told of: %d were compiled, %d settled", got, len(compiled), len(settled.Outcomes))
	}
	for _, r := range summary.Clusters {
		if i := slices.IndexFunc(f.Clusters, func(c *fleet.Cluster) bool { return c.ID == r.Cluster }); i >= 0 {
			settled.Record(t.Context(), f.Clusters[i], r.Index)
		}
	}
	return compiled, rendered
}

// An export compiles the clusters that have changed, or whose place has, and
// renders the releases that have.
func TestSettled(t *testing.T) {
	dir, out := fleets.Shared(t, 9, 4), filepath.Join(t.TempDir(), "out")
	c := &compiler.Compiler{Dir: dir, Cache: t.TempDir(), Build: "test", Offline: true}
	// set sets when all files were changed: an hour ago, or after the export began.
	const old, young = -time.Hour, time.Hour
	set := func(ago time.Duration) {
		t.Helper()
		at := time.Now().Add(ago)
		err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chtimes(name, at, at)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	edit := func(name, from, to string) {
		t.Helper()
		name = filepath.Join(dir, name)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), from); n != 1 {
			t.Fatalf("%s has %q %d times", name, from, n)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(data), from, to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, wantCompiled, wantRendered int) {
		t.Helper()
		compiled, rendered := exportSettled(t, c, out)
		if len(compiled) != wantCompiled || len(rendered) != wantRendered {
			t.Errorf("%s: %d clusters were compiled, with %d renderings: want %d and %d", what, len(compiled), len(rendered), wantCompiled, wantRendered)
		}
	}
	// Of the three charts, two are alike for each of two versions of Kubernetes, and
	// the third for each of these and of four values.
	set(young)
	check("files that are being written", 9, 2+2+4)
	check("the same, of which it is not known what was read", 9, 0)
	set(old)
	check("old files", 9, 0)
	check("nothing has changed", 0, 0)
	edit("environments/c3/cluster.cue", "httpPort: 9203", "httpPort: 9400")
	set(young)
	check("a value of a cluster, which is being written", 1, 1)
	set(old)
	check("a value of a cluster, some time ago", 1, 0)
	check("nothing has changed since", 0, 0)
	edit("environments/fleet.cue", "controller: replicaCount: 2", "controller: replicaCount: 3")
	set(old)
	check("a default of the root", 9, 2)
	check("nothing has changed since that", 0, 0)
	if err := os.WriteFile(filepath.Join(out, "c1", "search", "more.yaml"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("a file of somebody else", 0, 0)
	if err := os.RemoveAll(filepath.Join(out, "c1", "search")); err != nil {
		t.Fatal(err)
	}
	check("files that are gone", 1, 0)
	edit("charts/elasticsearch/Chart.yaml", "description: ", "description: another ")
	set(old)
	check("a chart", 9, 5)
	c.Build = "another"
	check("another build", 9, 2+2+5)
	c.NoCache = true
	check("no cache", 9, 2+2+5)
}

// A check looks at the clusters in which it has not found that there is nothing.
func TestChecksSettle(t *testing.T) {
	dir := fleets.Shared(t, 9, 4)
	c := &compiler.Compiler{Dir: dir, Cache: t.TempDir(), Build: "test", Offline: true}
	check := func(what string, task Task, want int) {
		t.Helper()
		f, settled, err := Load(t.Context(), c, task)
		if err != nil {
			t.Fatal(what, err)
		}
		defer settled.Close()
		if len(f.Clusters) != want || len(settled.Outcomes) != 9-want {
			t.Errorf("%s: %d clusters were checked and %d settled: want %d checked", what, len(f.Clusters), len(settled.Outcomes), want)
		}
		for id, text := range settled.Outcomes {
			if text != "sound "+id {
				t.Errorf("%s: of %s there is %q", what, id, text)
			}
		}
		for _, cluster := range f.Clusters {
			settled.Record(t.Context(), cluster, "sound "+cluster.ID)
		}
	}
	long := func(name string) {
		t.Helper()
		at := time.Now().Add(-time.Hour)
		err := filepath.WalkDir(filepath.Join(dir, name), func(name string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chtimes(name, at, at)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	long("")
	vet := Task{Name: "vet", Charts: true}
	check("first", vet, 9)
	check("again", vet, 0)
	check("something else", Task{Name: "vet --render", Charts: true}, 9)
	check("that is not there any more", Task{Name: "vet", Holds: func(id, outcome string) bool { return id != "c3" || outcome != "sound c3" }}, 1)
	c.Kubernetes = "1.35"
	check("another version of Kubernetes", vet, 9)
	c.Kubernetes = ""
	check("its own", vet, 0)
	if err := os.WriteFile(filepath.Join(dir, "environments", "c3", "more.cue"), []byte("package fleet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	long("environments/c3")
	check("one more file of one", vet, 1)
	check("and again", vet, 0)
	c.NoCache = true
	check("no cache", vet, 9)
}
