package query

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// wholeCommit is the state of a commit that reports all clusters as affected.
type wholeCommit struct{ *committedState }

func (wholeCommit) affected(_ context.Context, _ *compiler.Compiler, selected []string) ([]string, error) {
	return selected, nil
}

// TestDiffOfAffected edits the example fleet and compares it with its commit. Comparing only
// the affected clusters must give the same result as comparing all. With the race detector,
// which is slow, it makes two of the edits.
func TestDiffOfAffected(t *testing.T) {
	dir := fleets.Example(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=me", "-c", "user.email=me@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	const alerts = "testdata/components/alerts/"
	replace(t, filepath.Join(dir, alerts+"main.jsonnet"), "'PodsNotReady'", "(import 'names.libsonnet').alert")
	fleets.Write(t, dir, map[string]string{alerts + "names.libsonnet": "{ alert: 'PodsNotReady' }\n", alerts + "notes.txt": "notes\n"})
	git("init", "--quiet")
	git("add", "--all")
	git("commit", "--quiet", "--message=example")
	c := &compiler.Compiler{Dir: dir, Cache: t.TempDir(), Offline: true, Build: "test"}
	ids, err := load.ClusterIDs(dir)
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, req DiffRequest, all bool) (result *diff.Result, compared int) {
		t.Helper()
		old, err := openCommit(t.Context(), c, dir, "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		defer old.close()
		selected, err := load.Select(ids, req.Clusters)
		if err != nil {
			t.Fatal(err)
		}
		affected, err := old.affected(t.Context(), c, selected)
		if err != nil {
			t.Fatal(err)
		}
		var from oldState = old
		if all {
			from = wholeCommit{old}
		}
		if result, err = diffStates(t.Context(), c, req, ids, from); err != nil {
			t.Fatal(err)
		}
		return result, len(affected)
	}
	some := []string{"dev/ci", "prod/us/east-1"}
	for name, test := range map[string]struct {
		DiffRequest
		file, old, with  string
		affected, differ int // clusters
	}{
		"root":      {DiffRequest{Clusters: some}, "environments/network.cue", `"16m"`, `"32m"`, 2, 2},
		"prod":      {DiffRequest{Clusters: some}, "environments/prod/env.cue", `quota: "200"`, `quota: "300"`, 1, 1},
		"cluster":   {DiffRequest{Clusters: []string{"prod/*"}}, "environments/prod/us/east-1/cluster.cue", "replicaCount: 5", "replicaCount: 6", 1, 1},
		"release":   {DiffRequest{Clusters: some, Release: "curator"}, "environments/prod/us/east-1/cluster.cue", "replicaCount: 5", "replicaCount: 6", 1, 0},
		"template":  {DiffRequest{Clusters: some}, "testdata/charts/curator/templates/configmap.yaml", "  labels:\n", "  labels:\n    edited: x\n", 2, 2},
		"library":   {DiffRequest{Clusters: some}, alerts + "names.libsonnet", "PodsNotReady", "PodsNotRunning", 2, 2},
		"manifest":  {DiffRequest{Clusters: some}, "testdata/components/runbooks/runbooks.yaml", "  labels:\n", "  labels:\n    edited: x\n", 2, 2},
		"kustomize": {DiffRequest{Clusters: some}, "testdata/components/priorities/prod/kustomization.yaml", "100000", "200000", 1, 1},
		"notes":     {DiffRequest{Clusters: some}, alerts + "notes.txt", "notes", "more notes", 0, 0},
	} {
		if fleets.Racing && name != "cluster" && name != "library" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			defer replace(t, filepath.Join(dir, filepath.FromSlash(test.file)), test.old, test.with)()
			test.Key = []byte("0123456789abcdef")
			got, affected := run(t, test.DiffRequest, false)
			want, _ := run(t, test.DiffRequest, true)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
			if affected != test.affected || want.Summary.Clusters != test.differ {
				t.Errorf("%d clusters are affected and %d differ, want %d and %d", affected, want.Summary.Clusters, test.affected, test.differ)
			}
		})
	}
}

// replace replaces a text in a file and returns a function that restores it.
func replace(t *testing.T, file, old, with string) (undo func()) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	after := strings.Replace(string(before), old, with, 1)
	if after == string(before) {
		t.Fatalf("%s has no %q", file, old)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	write(after)
	return func() { write(string(before)) }
}
