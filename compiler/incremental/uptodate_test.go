package incremental

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// exportOutdated exports a fleet. It returns the IDs of the clusters that were compiled,
// and an element for each release that was rendered.
func exportOutdated(t *testing.T, c *compiler.Compiler, out string) (compiled, rendered []string) {
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
	f, upToDate, err := Load(t.Context(), c, Task{
		Name: "export", Values: true, Holds: func(id, digest string) bool { return session.DirectoryState(id).Digest == digest },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer upToDate.Close()
	for id := range upToDate.Outcomes {
		if err := session.MarkUnchanged(id, session.DirectoryState(id).Files); err != nil {
			t.Fatal(err)
		}
	}
	f.OnCacheLookup = func(_ *fleet.Release, hit bool) {
		if !hit {
			rendered = append(rendered, "a release")
		}
	}
	f.Slots = make(chan struct{}, 1) // OnCacheLookup is called by one goroutine at a time
	for b, err := range f.Bundles(t.Context()) {
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
	if got := len(summary.Clusters); got != len(compiled)+len(upToDate.Outcomes) {
		t.Errorf("the summary has %d clusters: %d were compiled, %d up to date", got, len(compiled), len(upToDate.Outcomes))
	}
	for _, r := range summary.Clusters {
		if i := slices.IndexFunc(f.Clusters, func(c *fleet.Cluster) bool { return c.ID == r.Cluster }); i >= 0 {
			upToDate.Record(t.Context(), f.Clusters[i], r.Index)
		}
	}
	return compiled, rendered
}

// TestExportOutdated checks that an export compiles the clusters whose inputs or exported
// files changed, and renders the releases whose inputs changed.
func TestExportOutdated(t *testing.T) {
	dir, out := fleets.Shared(t, 9, 4), filepath.Join(t.TempDir(), "out")
	c := &compiler.Compiler{Dir: dir, Cache: t.TempDir(), Build: "test", Offline: true}
	// setTimes sets the modification times of all files: an hour ago, or in the future, as
	// if they changed during the export.
	const past, future = -time.Hour, time.Hour
	setTimes := func(offset time.Duration) {
		t.Helper()
		at := time.Now().Add(offset)
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
		compiled, rendered := exportOutdated(t, c, out)
		if len(compiled) != wantCompiled || len(rendered) != wantRendered {
			t.Errorf("%s: %d clusters were compiled, with %d renderings: want %d and %d", what, len(compiled), len(rendered), wantCompiled, wantRendered)
		}
	}
	// Two of the three charts have equal releases for each of two versions of Kubernetes,
	// and the third for each of these with one of four values.
	setTimes(future)
	check("files that change during the export", 9, 2+2+4)
	check("again, since the clusters were not recorded", 9, 0)
	setTimes(past)
	check("old files", 9, 0)
	check("nothing has changed", 0, 0)
	edit("environments/c3/cluster.cue", "httpPort: 9203", "httpPort: 9400")
	setTimes(future)
	check("a value of a cluster that changes during the export", 1, 1)
	setTimes(past)
	check("a value of a cluster that changed before the export", 1, 0)
	check("nothing has changed since that export", 0, 0)
	edit("environments/fleet.cue", "controller: replicaCount: 2", "controller: replicaCount: 3")
	setTimes(past)
	check("a default of the root", 9, 2)
	check("nothing has changed since the default", 0, 0)
	if err := os.WriteFile(filepath.Join(out, "c1", "search", "more.yaml"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("a file that fleetc did not write", 0, 0)
	if err := os.RemoveAll(filepath.Join(out, "c1", "search")); err != nil {
		t.Fatal(err)
	}
	check("removed files", 1, 0)
	edit("charts/elasticsearch/Chart.yaml", "description: ", "description: another ")
	setTimes(past)
	check("a chart", 9, 5)
	c.Build = "another"
	check("another build", 9, 2+2+5)
	c.NoCache = true
	check("no cache", 9, 2+2+5)
}

// TestCheckOutdated checks that a task without files runs for clusters without a stored
// outcome only.
func TestCheckOutdated(t *testing.T) {
	dir := fleets.Shared(t, 9, 4)
	c := &compiler.Compiler{Dir: dir, Cache: t.TempDir(), Build: "test", Offline: true}
	check := func(what string, task Task, want int) {
		t.Helper()
		f, upToDate, err := Load(t.Context(), c, task)
		if err != nil {
			t.Fatal(what, err)
		}
		defer upToDate.Close()
		if len(f.Clusters) != want || len(upToDate.Outcomes) != 9-want {
			t.Errorf("%s: %d clusters were checked and %d up to date: want %d checked", what, len(f.Clusters), len(upToDate.Outcomes), want)
		}
		for id, text := range upToDate.Outcomes {
			if text != "valid "+id {
				t.Errorf("%s: the outcome of %s is %q", what, id, text)
			}
		}
		for _, cluster := range f.Clusters {
			upToDate.Record(t.Context(), cluster, "valid "+cluster.ID)
		}
	}
	setPast := func(name string) {
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
	setPast("")
	vet := Task{Name: "vet", Charts: true}
	check("first", vet, 9)
	check("again", vet, 0)
	check("another task", Task{Name: "vet --render", Charts: true}, 9)
	check("an outcome that no longer holds", Task{Name: "vet", Holds: func(id, outcome string) bool { return id != "c3" || outcome != "valid c3" }}, 1)
	c.Kubernetes = "1.35"
	check("another version of Kubernetes", vet, 9)
	c.Kubernetes = ""
	check("the cluster's version of Kubernetes", vet, 0)
	if err := os.WriteFile(filepath.Join(dir, "environments", "c3", "more.cue"), []byte("package fleet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	setPast("environments/c3")
	check("a new file of one cluster", vet, 1)
	check("and again", vet, 0)
	c.NoCache = true
	check("no cache", vet, 9)
}

// Clusters with encrypted values are up to date until a SOPS file or a rule changes.
// Clusters whose values no file has are never up to date.
func TestSecretsOutdated(t *testing.T) {
	dir, out := fleets.Shared(t, 3, 1), filepath.Join(t.TempDir(), "out")
	c := &compiler.Compiler{Dir: dir, Cache: t.TempDir(), Build: "test", Offline: true}
	past := time.Now().Add(-time.Hour)
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644), os.Chtimes(name, past, past), os.Chtimes(filepath.Dir(name), past, past),
		); err != nil {
			t.Fatal(err)
		}
	}
	copied := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("../../testdata/secrets", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	check := func(what string, want int) {
		t.Helper()
		if compiled, _ := exportOutdated(t, c, out); len(compiled) != want {
			t.Errorf("%s: %d clusters were compiled, want %d", what, len(compiled), want)
		}
	}
	layer := func(source string) string {
		return fmt.Sprintf(`package fleet

cluster?: sealedSecrets: cert: %q
secrets: db: %s
releases: login: {
	namespace: "a"
	objects: login: {apiVersion: "v1", kind: "Secret", metadata: name: "login", stringData: password: secrets.db.ref}
}
`, copied("sealing.crt"), source)
	}
	t.Setenv("SOPS_AGE_KEY", copied("key.txt"))
	t.Setenv("DB", "a value")
	if err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error { return cmp.Or(err, os.Chtimes(name, past, past)) }); err != nil {
		t.Fatal(err)
	}
	write("secrets/prod.yaml", copied("prod.yaml"))
	write("environments/secrets.cue", layer(`{sops: "secrets/prod.yaml", key: "db.password"}`))
	check("the first export", 3)
	check("again", 0)
	write("secrets/prod.yaml", copied("rotated.yaml"))
	check("after a rotation", 3)
	check("again", 0)
	write(".sops.yaml", "creation_rules: []\n")
	check("with rules", 3)
	check("again", 0)
	write("environments/secrets.cue", layer(`env: "DB"`))
	check("an environment variable", 3)
	check("again", 3)
}
