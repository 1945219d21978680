package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
)

var rewrite = flag.Bool("update", false, "rewrite testdata; read the diff")

// release is the release of all tests.
func release() *fleet.Release {
	return &fleet.Release{Name: "web", SourcePos: diag.Pos{File: "environments/fleet.cue", Line: 7, Col: 2}}
}

// unpack writes an archive below a new root, and returns the root.
func unpack(t *testing.T, archive []byte) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range txtar.Parse(archive).Files {
		file := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// faults returns the text of the faults of an error.
func faults(t *testing.T, err error) string {
	t.Helper()
	var b strings.Builder
	for _, d := range diag.All(err) {
		if err != nil && d.Code == diag.CodeSourceFile && d.Hint == "" {
			t.Errorf("no hint: %s", d.Msg)
		}
	}
	if err := diag.WriteText(&b, err, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func good(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/good/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".txtar")] = data
	}
	return out
}

// plain builds like the kustomize command, on the disk and without
// restrictions.
func plain(t *testing.T, dir string) []map[string]any {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	options.LoadRestrictions = types.LoadRestrictionsNone
	running <- struct{}{}
	defer func() { <-running }()
	m, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		data, err := sigsyaml.YAMLToJSON([]byte(doc + "\n")) // the split removes the line end
		if err != nil {
			t.Fatal(err)
		}
		var o map[string]any
		if err := utiljson.Unmarshal(data, &o); err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func contents(objs []fleet.Object) []map[string]any {
	var out []map[string]any
	for _, o := range objs {
		out = append(out, o.Object)
	}
	return out
}

// TestBuildsWhatKustomizeBuilds compares builds with those of kustomize and
// with golden files.
func TestBuildsWhatKustomizeBuilds(t *testing.T) {
	for name, archive := range good(t) {
		t.Run(name, func(t *testing.T) {
			root := unpack(t, archive)
			objs, reads, err := BuildKustomization(t.Context(), root, "deploy/app", release(), KustomizeInputs{})
			if err != nil {
				t.Fatal(faults(t, err))
			}
			got, want := contents(objs), plain(t, filepath.Join(root, "deploy/app"))
			if !reflect.DeepEqual(got, want) {
				g, _ := sigsyaml.Marshal(got)
				w, _ := sigsyaml.Marshal(want)
				t.Errorf("got\n%s\nkustomize builds\n%s", g, w)
			}
			golden(t, name+".yaml", objs, reads)
			for _, o := range objs {
				if o.Template != "deploy/app/kustomization.yaml" || o.Pos.File != o.Template || o.Release == nil {
					t.Errorf("%s is of %q at %s", o.ID(), o.Template, o.Pos)
				}
			}
		})
	}
}

func golden(t *testing.T, name string, objs []fleet.Object, reads []string) {
	t.Helper()
	var b bytes.Buffer
	for _, r := range reads {
		b.WriteString("# " + r + "\n")
	}
	for _, o := range objs {
		text, err := sigsyaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	file := filepath.Join("testdata/golden", name)
	if *rewrite {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s is now\n%s", name, b.String())
	}
}

// TestReads tests that a build gives the same result with nothing but the files
// in reads.
func TestReads(t *testing.T) {
	for name, archive := range good(t) {
		root := unpack(t, archive)
		want, reads, err := BuildKustomization(t.Context(), root, "deploy/app", release(), KustomizeInputs{})
		if err != nil {
			t.Fatal(name, err)
		}
		alone := t.TempDir()
		for _, file := range reads {
			data, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(alone, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(alone, file), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, again, err := BuildKustomization(t.Context(), alone, "deploy/app", release(), KustomizeInputs{})
		if err != nil || !reflect.DeepEqual(contents(got), contents(want)) || !slices.Equal(reads, again) {
			t.Errorf("%s: of the files that were read come %v, %v", name, again, err)
		}
	}
}

// TestConcurrentBuilds builds in several goroutines: the objects are the same.
func TestConcurrentBuilds(t *testing.T) {
	archives := good(t)
	var group sync.WaitGroup
	for name, archive := range archives {
		root := unpack(t, archive)
		want := plain(t, filepath.Join(root, "deploy/app"))
		for range 4 {
			group.Go(func() {
				objs, _, err := BuildKustomization(t.Context(), root, "deploy/app", release(), KustomizeInputs{})
				if err != nil || !reflect.DeepEqual(contents(objs), want) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	group.Wait()
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := BuildKustomization(ctx, unpack(t, good(t)["generators"]), "deploy/app", release(), KustomizeInputs{})
	if err != context.Canceled {
		t.Errorf("the error is %v", err)
	}
}

func TestKustomizeNoRoot(t *testing.T) {
	if _, _, err := BuildKustomization(t.Context(), filepath.Join(t.TempDir(), "no"), "app", release(), KustomizeInputs{}); err == nil {
		t.Error("there is no fault")
	}
}

// TestNumbers tests that numbers have the types of Kubernetes' libraries.
func TestNumbers(t *testing.T) {
	root := unpack(t, []byte(`
-- app/kustomization.yaml --
resources: [x.yaml]
-- app/x.yaml --
apiVersion: example.com/v1
kind: X
metadata: {name: x}
spec: {i: 9007199254740993, n: -1, f: 1.5, e: 1e3, s: "1", b: true, l: [1, 2.5]}
`))
	objs, _, err := BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{})
	if err != nil {
		t.Fatal(err)
	}
	spec, _, _ := unstructured.NestedMap(objs[0].Object, "spec")
	want := map[string]any{"i": int64(9007199254740993), "n": int64(-1), "f": 1.5, "e": int64(1000), "s": "1", "b": true, "l": []any{int64(1), 2.5}}
	if !reflect.DeepEqual(spec, want) {
		text, _ := json.Marshal(spec)
		t.Errorf("spec is %s", text)
	}
	objs[0].DeepCopy() // panics on numbers of other types
}

// TestQuiet tests that BuildKustomization prints nothing where kustomize prints warnings.
func TestQuiet(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "printed"))
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, logged := os.Stdout, os.Stderr, log.Writer()
	os.Stdout, os.Stderr = file, file
	log.SetOutput(io.Discard) // as the program does
	defer func() {
		os.Stdout, os.Stderr = stdout, stderr
		log.SetOutput(logged)
	}()
	printed := func() string {
		data, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, archive := range good(t) {
		if _, _, err := BuildKustomization(t.Context(), unpack(t, archive), "deploy/app", release(), KustomizeInputs{}); err != nil {
			t.Fatal(err)
		}
	}
	if p := printed(); p != "" {
		t.Errorf("printed:\n%s", p)
	}
	plain(t, filepath.Join(unpack(t, good(t)["vars"]), "deploy/app"))
	if !strings.Contains(printed(), "deprecated") {
		t.Error("kustomize printed nothing: the test checks nothing")
	}
}

// TestLimits tests the limits of time and memory: they give a fault, and no
// other build starts afterwards.
func TestLimits(t *testing.T) {
	bomb := func(n int) string {
		return "-- app/kustomization.yaml --\nresources: [a.yaml]\nvars:\n" +
			"- {name: A, objref: {apiVersion: v1, kind: ConfigMap, name: a}, fieldref: {fieldpath: data.a}}\n-- app/a.yaml --\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: " + strings.Repeat("x", 100_000) + "}\n---\n" +
			"apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: a, image: b, args: [" + strings.Repeat("'$(A)$(A)$(A)$(A)', ", n) + "]}]}\n"
	}
	before := limits
	defer func() { limits = before }()
	for name, test := range map[string]struct {
		limits par.Limits
		size   int
		want   string
	}{
		"time":   {par.Limits{Time: time.Millisecond}, 1, "the kustomization takes longer than 1ms [FL1407]"},
		"memory": {par.Limits{Memory: 4 << 20}, 15, "the kustomization takes more than 4 MiB of memory [FL1407]"},
	} {
		limits = test.limits
		root := unpack(t, []byte(bomb(test.size)))
		_, _, err := BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{})
		if got := faults(t, err); !strings.HasPrefix(got, "app/kustomization.yaml: releases.web.kustomize: "+test.want+"\n") || !errors.Is(err, diag.ErrRunaway) {
			t.Errorf("%s:\n%s", name, got)
		}
		if _, _, err = BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{}); !strings.Contains(faults(t, err), "another kustomization exceeded its limits") {
			t.Errorf("%s: then\n%s", name, faults(t, err))
		}
		running <- struct{}{} // after the end of the abandoned build
		<-running
		for range 20 {
			_, _, _ = BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{})
		}
		if len(running) > 0 {
			t.Fatalf("%s: a refused build counts as running", name)
		}
		exceeded = make(chan struct{})
		exceed = sync.OnceFunc(func() { close(exceeded) })
	}
}
