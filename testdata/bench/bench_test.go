package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const ownCharts = "../charts"

func fleetOf(t *testing.T, n int) *work {
	t.Helper()
	w, err := generate(filepath.Join(t.TempDir(), "fleet"), ownCharts, n)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// read returns the files below dir by name.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The generated fleet is reproducible, and so are the inputs of the other
// tools.
func TestGenerateSame(t *testing.T) {
	first, second := fleetOf(t, 3), fleetOf(t, 3)
	for _, w := range []*work{first, second} {
		if err := os.Mkdir(filepath.Join(w.dir, "out"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, p := range peers {
			if err := p.write(w); err != nil {
				t.Fatal(p.name, err)
			}
		}
	}
	a, b := read(t, first.dir), read(t, second.dir)
	if len(a) < 500 || len(a) != len(b) {
		t.Fatalf("%d and %d files", len(a), len(b))
	}
	for name, text := range a {
		if b[name] != text {
			t.Errorf("%s differs", name)
		}
		if strings.Contains(text, first.dir) {
			t.Errorf("%s has the directory's path in it", name)
		}
	}
}

// The fleet has no faults and the expected size, and every release has as many
// objects as Helm renders from the values files.
func TestFleetIsThatOfHelm(t *testing.T) {
	w := fleetOf(t, 3)
	helmOnPath(t)
	i := slices.IndexFunc(peers, func(p peer) bool { return p.name == "xargs" })
	if missing := peers[i].missing(); len(missing) > 0 {
		t.Fatalf("%v is not on the PATH", missing)
	}
	r, err := peers[i].run(t.Context(), w)
	if err != nil || r.Fault != "" {
		t.Fatal(err, r.Fault)
	}
	if r.Clusters != 3 || r.Wall <= 0 || r.CPU <= 0 || runtime.GOOS == "linux" && r.Peak < 10 {
		t.Errorf("measured %+v", r)
	}
	f, err := (&compiler.Compiler{Dir: w.dir, Cache: t.TempDir(), Offline: true}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for b, err := range f.Bundles(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		count, size := map[string]int{}, 0
		for i, o := range slices.Concat(b.Objects, b.Hooks) {
			if !strings.Contains(o.GetAnnotations()["helm.sh/hook"], "test") { // no tool renders test hooks
				count[o.Release.Name]++
			}
			if i < len(b.YAML) {
				size += b.YAML[i].Len()
			}
		}
		for _, r := range releases {
			file := filepath.Join(w.dir, "out", b.Cluster.Name, r.name+".yaml")
			if want := objects(t, file); count[r.name] != want {
				t.Errorf("%s %s: %d objects, helm has %d", b.Cluster.ID, r.name, count[r.name], want)
			}
		}
		if n := len(b.Objects); n < 460 || n > 520 || size < 11e6 || size > 13e6 {
			t.Errorf("%s: %d objects of %d bytes", b.Cluster.ID, n, size)
		}
	}
	if seen != 3 {
		t.Errorf("%d clusters", seen)
	}
}

// helmOnPath puts the helm of testdata/tools first on the PATH.
func helmOnPath(t *testing.T) {
	t.Helper()
	out, err := exec.Command("go", "tool", "-modfile=../tools/go.mod", "-n", "helm").Output()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	t.Setenv("PATH", filepath.Dir(strings.TrimSpace(string(out)))+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// objects counts the objects of a file of manifests, including the items of
// lists.
func objects(t *testing.T, file string) int {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n := 0
	for d := yaml.NewYAMLOrJSONDecoder(in, 1<<16); ; {
		var o struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if err := d.Decode(&o); err != nil {
			return n
		}
		switch {
		case strings.HasSuffix(o.Kind, "List") && o.Items != nil:
			n += len(o.Items)
		case o.Kind != "":
			n++
		}
	}
}

// The steps with a change print changes.
func TestSteps(t *testing.T) {
	w := fleetOf(t, 3)
	digests := func() map[string]string {
		f, err := (&compiler.Compiler{Dir: w.dir, Cache: t.TempDir(), Offline: true}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list := map[string]string{}
		for b, err := range f.Bundles(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			list[b.Cluster.Name] = b.Digest
		}
		return list
	}
	want := []string{"c000", "c000 c001 c002", "c000"}
	before := digests()
	for _, s := range steps(w) {
		if s.file == "" {
			continue
		}
		if err := put(w.dir, s.file, s.text); err != nil {
			t.Fatal(err)
		}
		after := digests()
		var changed []string
		for _, name := range sorted(after) {
			if after[name] != before[name] {
				changed = append(changed, name)
			}
		}
		if got := strings.Join(changed, " "); len(want) == 0 || got != want[0] {
			t.Fatalf("%s changes %q, want %q", s.name, got, want)
		}
		before, want = after, want[1:]
	}
	if len(want) > 0 {
		t.Errorf("no step changes %v", want)
	}
}

func TestReport(t *testing.T) {
	r := &report{Machine: "m", Versions: map[string]string{"helm": "v3"}, Missing: map[string]string{"holos": "holos not on the PATH"}}
	for _, n := range []int{1, 10, 200} {
		r.Results = append(
			r.Results,
			result{What: cold, Clusters: n, Wall: float64(n), CPU: 2 * float64(n), Peak: 100},
			result{What: "tk export", Clusters: n, Wall: 3 * float64(n), CPU: float64(n), Peak: 10 * float64(n)},
			result{What: "other", Clusters: n, Fault: "killed"},
		)
	}
	r.grow([]int{1, 10, 200})
	if want := []growth{{cold, 10, 200, 1, 1, 1}, {"tk export", 10, 200, 1, 1, 20}}; !slices.Equal(r.Growth, want) {
		t.Errorf("growth %v, want %v", r.Growth, want)
	}
	few := &report{Results: r.Results}
	few.grow([]int{1, 10})
	if want := (growth{"tk export", 1, 10, 1, 1, 10}); len(few.Growth) != 2 || few.Growth[1] != want {
		t.Errorf("growth %v, want %v", few.Growth, want)
	}
	var text, data bytes.Buffer
	if err := r.write(&text, "text"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"holos: not run", "F(200) against F(10)", "failed: killed", "3.00           0.50"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &text)
		}
	}
	var back report
	if err := r.write(&data, "json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data.Bytes(), &back); err != nil || len(back.Results) != 9 {
		t.Errorf("%v: %s", err, &data)
	}
}

func TestParse(t *testing.T) {
	for _, bad := range [][3]string{{"0", "none", "text"}, {"1,x", "none", "text"}, {"1", "make", "text"}, {"1", "none", "yaml"}} {
		o := options{format: bad[2]}
		if err := o.parse(bad[0], bad[1]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	o := options{format: "json"}
	if err := o.parse("1,200", "tanka,helm"); err != nil || !slices.Equal(o.sizes, []int{1, 200}) || o.peers[0].name != "tanka" || len(o.peers) != 2 {
		t.Errorf("%+v: %v", o, err)
	}
}
