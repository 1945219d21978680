package values

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// fleetChart returns a chart of the files, with a default Chart.yaml if they
// have none.
func fleetChart(files map[string]string) *fleet.Chart {
	ch := &fleet.Chart{Ref: fleet.ChartRef{Path: "charts/app"}}
	if _, ok := files["Chart.yaml"]; !ok {
		ch.Files = append(ch.Files, fleet.File{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n")})
	}
	for name, text := range files {
		ch.Files = append(ch.Files, fleet.File{Name: name, Data: []byte(text)})
	}
	return ch
}

// chartAt returns the chart in a directory.
func chartAt(t testing.TB, dir string) *fleet.Chart {
	t.Helper()
	ch := &fleet.Chart{Ref: fleet.ChartRef{Path: filepath.ToSlash(dir)}}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		name, _ := filepath.Rel(dir, p)
		ch.Files = append(ch.Files, fleet.File{Name: filepath.ToSlash(name), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// chartDirs returns the directories of the charts of the tests.
func chartDirs(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob("../../../testdata/charts/*/Chart.yaml")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%d charts, %v", len(dirs), err)
	}
	for i, d := range dirs {
		dirs[i] = filepath.Dir(d)
	}
	return dirs
}

// istio returns the directories of Istio's charts, which are part of a Go
// module.
func istio(t testing.TB) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "charts")
	cmd := exec.Command("go", "run", ".", dir)
	cmd.Dir = "../../../testdata/realcharts"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write the charts: %v\n%s", err, out)
	}
	var dirs []string
	for _, name := range []string{"base", "istiod", "istio-cni", "gateway", "ztunnel"} {
		dirs = append(dirs, filepath.Join(dir, name))
	}
	return dirs
}

// valuesOf returns the chart's own values.yaml.
func valuesOf(ch *fleet.Chart) []byte {
	for _, f := range ch.Files {
		if f.Name == "values.yaml" {
			return f.Data
		}
	}
	return nil
}

func derive(t testing.TB, ch *fleet.Chart) *Type {
	t.Helper()
	typ, err := Derive(ch)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// tree returns the values in a YAML text, with their source positions.
func tree(t testing.TB, file, text string) *fleet.Tree {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(n.Content) == 0 {
		return fleet.Map(nil)
	}
	return treeOf(t, file, n.Content[0], &n)
}

func treeOf(t testing.TB, file string, n, key *yaml.Node) *fleet.Tree {
	t.Helper()
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	layer := filepath.Base(filepath.Dir(file))
	out := &fleet.Tree{Pos: diag.Pos{File: file, Line: key.Line, Col: key.Column}, Layer: layer}
	switch n.Kind {
	case yaml.MappingNode:
		out.Fields = map[string]*fleet.Tree{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Tag == "!!merge" {
				from := treeOf(t, file, n.Content[i+1], n.Content[i])
				for k, v := range from.Fields {
					out.Fields[k] = v
				}
				continue
			}
			out.Fields[n.Content[i].Value] = treeOf(t, file, n.Content[i+1], n.Content[i])
		}
	case yaml.SequenceNode:
		out.List = []*fleet.Tree{}
		for _, e := range n.Content {
			out.List = append(out.List, treeOf(t, file, e, e))
		}
	default:
		var v any
		if err := n.Decode(&v); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		if err := d.Decode(&out.Scalar); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// faults returns the first line and the hint of each fault.
func faults(l diag.List) string {
	sorted, _ := l.Err().(diag.List)
	var b strings.Builder
	for _, d := range sorted {
		fmt.Fprintf(&b, "%s\n", d.Error())
		for _, p := range d.At[min(1, len(d.At)):] {
			fmt.Fprintf(&b, "    %s: and here\n", p)
		}
		if d.Hint != "" {
			fmt.Fprintf(&b, "    hint: %s\n", d.Hint)
		}
	}
	return b.String()
}
