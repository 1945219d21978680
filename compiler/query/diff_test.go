package query_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets/exported"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// generateCommitted writes a fleet of n clusters and commits it. It also sets and returns
// the directory for temporary files, so that tests can check that none are left.
func generateCommitted(t *testing.T, n int) (dir, temp string) {
	t.Helper()
	dir, temp = fleets.Generate(t, n), t.TempDir()
	t.Setenv("TMPDIR", temp)
	git(t, dir, "init", "--quiet")
	commit(t, dir)
	return dir, temp
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=me", "-c", "user.email=me@example.com"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

func commit(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message=x")
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(data, text...), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left over in %s: %v, %v", dir, left, err)
	}
}

// TestDiffIsDeterministic compares a fleet with its commit and with its export, with
// several numbers of jobs.
func TestDiffIsDeterministic(t *testing.T) {
	dir, temp := generateCommitted(t, 12)
	tree := filepath.Join(t.TempDir(), "tree")
	exported.Fleet(t, dir, tree)
	layers := filepath.Join(dir, "environments")
	appendTo(t, filepath.Join(layers, "prod/env.cue"), "\nreleases: elasticsearch: values: replicas: 2\n")
	appendTo(t, filepath.Join(layers, "dev/new/cluster.cue"), "package fleet\n\ncluster: {name: \"new\", kubernetes: \"1.36\"}\n")
	var want *diff.Result
	for _, req := range []query.DiffRequest{{Commit: "HEAD"}, {Tree: tree}} {
		for _, jobs := range []int{1, 2, 16} {
			calls := 0
			req.Each = func(of int) {
				if calls++; of != 13 {
					t.Errorf("of %d clusters, want 13", of)
				}
			}
			got, err := query.Diff(t.Context(), (&compiler.Compiler{Dir: dir, Jobs: jobs, Offline: true, Cache: t.TempDir()}), req)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
				if s := want.Summary; s.Of != 12 || s.Clusters != 4 || len(want.Created) != 1 || want.Created[0].Cluster != "dev/new" {
					t.Fatalf("got %+v", want)
				}
			}
			if !reflect.DeepEqual(got, want) || calls != 13 {
				t.Errorf("%d jobs: got %+v after %d calls, want %+v", jobs, got, calls, want)
			}
			wantEmpty(t, temp)
		}
	}
}

func TestDiffInterrupted(t *testing.T) {
	dir, temp := generateCommitted(t, 6)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := query.DiffRequest{Commit: "HEAD", Each: func(int) { cancel() }}
	got, err := query.Diff(ctx, (&compiler.Compiler{Dir: dir, Offline: true, Cache: t.TempDir()}), req)
	if got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", got, err)
	}
	wantEmpty(t, temp)
}

// A commit with vendored packages of another fleetc is compiled with the packages of this
// fleetc. The vendored copies may be links.
func TestDiffOfOtherSchema(t *testing.T) {
	dir, _ := generateCommitted(t, 3)
	pkg := filepath.Join(dir, "cue.mod/pkg/github.com/fleetc/fleetc")
	appendTo(t, filepath.Join(pkg, "schema/release.cue"), "package schema\n\n#Cluster: {}\n")
	appendTo(t, filepath.Join(pkg, "schema/gone.cue"), "package schema\n\n#Releases: string\n")
	commit(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, "cue.mod/pkg")); err != nil {
		t.Fatal(err)
	}
	diffHead := func() error {
		got, err := query.Diff(t.Context(), (&compiler.Compiler{Dir: dir, Offline: true, Cache: t.TempDir()}), query.DiffRequest{Commit: "HEAD"})
		if err == nil && !got.Empty() {
			t.Errorf("got %+v", got)
		}
		return err
	}
	if err := diffHead(); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	kept := filepath.Join(outside, "github.com/fleetc/fleetc/schema/release.cue")
	appendTo(t, kept, "package schema\n")
	if err := os.Symlink(outside, filepath.Join(dir, "cue.mod/pkg")); err != nil {
		t.Fatal(err)
	}
	commit(t, dir)
	if err := os.Remove(filepath.Join(dir, "cue.mod/pkg")); err != nil {
		t.Fatal(err)
	}
	if err := diffHead(); err == nil || !strings.Contains(err.Error(), "HEAD: remove the copy of ") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// Faults of a commit do not name the temporary directory of its files.
func TestFaultsOfCommits(t *testing.T) {
	dir, temp := generateCommitted(t, 3)
	broken := map[string]string{
		"layer":    "package fleet\n\nreleases: base: objects: x: {\n",
		"import":   "package fleet\n\nimport \"example.com/nowhere\"\n\nreleases: nowhere.x\n",
		"chart":    "package fleet\n\nreleases: other: {namespace: \"x\", chart: path: \"charts/nowhere\"}\n",
		"conflict": "package fleet\n\nreleases: base: stage: \"apps\"\n",
		"stray":    "package other\n",
	}
	file := filepath.Join(dir, "environments/dev/broken.cue")
	for name, text := range broken {
		t.Run(name, func(t *testing.T) {
			appendTo(t, file, text)
			commit(t, dir)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			got, err := query.Diff(t.Context(), (&compiler.Compiler{Dir: dir, Offline: true, Cache: t.TempDir()}), query.DiffRequest{Commit: "HEAD"})
			if name == "stray" { // all clusters can be compared without it
				if err != nil || !got.Empty() {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if err == nil {
				t.Fatal("no fault")
			}
			var b strings.Builder
			if err := diag.WriteText(&b, err, load.FileNames(dir)); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(b.String(), "HEAD:environments/") || strings.Contains(b.String(), temp) || strings.Contains(b.String(), "fleetc-") {
				t.Errorf("got %s", b.String())
			}
			if got == nil || len(got.NotCompared) == 0 {
				t.Errorf("got %+v", got)
			}
		})
		wantEmpty(t, temp)
	}
}

// If the commit has the current files, diff returns their faults. affected reads no layers, but
// checks patterns.
func TestNothingDiffers(t *testing.T) {
	dir, temp := generateCommitted(t, 3)
	c := &compiler.Compiler{Dir: dir, Offline: true, Cache: t.TempDir()}
	got, err := query.Diff(t.Context(), c, query.DiffRequest{Commit: "HEAD"})
	if err != nil || !got.Empty() || got.Summary.Of != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	appendTo(t, filepath.Join(dir, "environments/dev/broken.cue"), "package fleet\n\nreleases: {\n")
	commit(t, dir)
	if got, err := query.Diff(t.Context(), c, query.DiffRequest{Commit: "HEAD"}); err == nil {
		t.Errorf("got %+v of a layer that does not parse", got)
	}
	report, err := incremental.AffectedSince(t.Context(), c, "HEAD", "dev", "prod/*")
	if err != nil || report.OldFaults != nil || len(report.Affected) > 0 {
		t.Errorf("got %+v, %v", report, err)
	}
	if _, err := incremental.AffectedSince(t.Context(), c, "HEAD", "prdo"); err == nil || diag.All(err)[0].Hint != "did you mean prod?" {
		t.Errorf("a pattern that selects nothing gives %v", err)
	}
	report, err = incremental.AffectedSince(t.Context(), c, "HEAD~1")
	if err == nil {
		t.Errorf("got %+v of a layer that does not parse", report)
	}
	wantEmpty(t, temp)
}
