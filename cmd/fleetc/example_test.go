package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const golden = "../../testdata/golden"

// fleetc runs the command line in this process and returns its output. The
// chart store is empty and the network is off; the example needs neither.
func fleetc(t *testing.T, args ...string) string {
	t.Helper()
	cmd := newRootCommand(&options{})
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"--offline", "--cache-dir", t.TempDir()}, args...))
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		t.Fatalf("fleetc %s: %v\n%s", strings.Join(args, " "), err, &out)
	}
	return out.String()
}

// TestExampleGolden exports the example fleet and compares it with the golden
// tree. Other job numbers and locations of the checkout must give the same
// bytes.
func TestExampleGolden(t *testing.T) {
	if *update {
		fleetc(t, "-C", "../..", "export", "--out", "testdata/golden")
	}
	want := treeOf(t, golden)
	if len(want) < 1000 {
		t.Fatalf("the golden tree has %d files", len(want))
	}
	copied, outs := copyExample(t), t.TempDir()
	var last string
	for _, args := range [][]string{{"-C", "../.."}, {"-C", "../..", "-j", "1"}, {"-C", filepath.Join(copied, "environments", "prod"), "-j", "8"}} {
		t.Run(strings.Join(args[2:], ""), func(t *testing.T) {
			out := filepath.Join(outs, strings.Join(args[2:], ""))
			if s := fleetc(t, append(args, "export", "--out", out)...); !strings.HasPrefix(lastLine(s), "7 clusters, ") {
				t.Errorf("export says %q", lastLine(s))
			}
			sameTree(t, treeOf(t, out), want)
			last = out
		})
	}
	if s := fleetc(t, "-C", "../..", "export", "--out", last); !strings.HasSuffix(lastLine(s), ": 0 changed") || s != lastLine(s)+"\n" {
		t.Errorf("an export to where there is one says %q", s)
	}
}

// TestExampleCharts checks that the chart packages of the example are up to
// date with chart add.
func TestExampleCharts(t *testing.T) {
	dir := filepath.Join("..", "..")
	if !*update {
		dir = copyExample(t)
	}
	packages, err := filepath.Glob("../../environments/charts/*/chart.cue")
	if err != nil || len(packages) < 9 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	for _, file := range packages {
		name := filepath.Base(filepath.Dir(file))
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fleetc(t, "-C", dir, "chart", "add", "./testdata/charts/"+strings.ReplaceAll(name, "_", "-"))
		got, err := os.ReadFile(filepath.Join(dir, "environments", "charts", name, "chart.cue"))
		if err != nil {
			t.Fatal(err)
		}
		if !*update && !bytes.Equal(got, want) {
			t.Errorf("%s is not what fleetc chart add writes: run the tests with -update", file)
		}
	}
}

// copyExample copies the sources of the example fleet.
func copyExample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"cue.mod", "schema", "environments", "testdata/charts", "testdata/components"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("../..", part))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	return lines[len(lines)-1]
}

func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		switch g, ok := got[name]; {
		case !ok:
			t.Errorf("%s is missing", name)
		case g != text:
			t.Errorf("%s differs", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is not in the golden tree", name)
		}
	}
}

// TestExampleCUE checks the example with the cue command, as editors and users
// without fleetc do.
func TestExampleCUE(t *testing.T) {
	cmd := exec.Command("go", "tool", "-modfile=testdata/tools/go.mod", "cue", "vet", "./environments/...")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("cue vet: %v\n%s", err, out)
	}
}

// TestExampleLayers checks the differences between clusters that the example
// demonstrates.
func TestExampleLayers(t *testing.T) {
	files := treeOf(t, golden)
	for _, test := range []struct{ file, want string }{
		// A default of the root, one of an environment, and a value of a
		// cluster.
		{"staging/main/cert-manager/deployment-cert-manager-cert-manager.yaml", "replicas: 1\n"},
		{"prod/us/west-2/cert-manager/deployment-cert-manager-cert-manager.yaml", "replicas: 2\n"},
		{"prod/us/west-2/ingress-controller/deployment-ingress-ingress-controller-controller.yaml", "replicas: 3\n"},
		{"prod/us/east-1/ingress-controller/deployment-ingress-ingress-controller-controller.yaml", "replicas: 5\n"},
		// References see final values: bob's port, and the namespace of eu.
		{"dev/alice/kibana/deployment-logging-kibana.yaml", "http://elasticsearch-master.logging.svc:9200\n"},
		{"dev/bob/kibana/deployment-logging-kibana.yaml", "http://elasticsearch-master.logging.svc:9201\n"},
		{"prod/eu/central-1/kibana/deployment-logging-kibana.yaml", "http://elasticsearch-master.elastic.svc:9200\n"},
		{"prod/eu/central-1/base/namespace-elastic.yaml", "name: elastic\n"},
		// Capabilities come from the CRDs of another release.
		{"prod/us/west-2/ingress-controller/servicemonitor-ingress-ingress-controller-controller.yaml", "kind: ServiceMonitor\n"},
		// The layer between an environment and its clusters.
		{"prod/us/west-2/elasticsearch/statefulset-logging-elasticsearch-master.yaml", "storageClassName: gp3\n"},
		{"prod/eu/central-1/elasticsearch/statefulset-elastic-elasticsearch-master.yaml", "storageClassName: premium-rwo\n"},
	} {
		text, ok := files[test.file]
		if !ok {
			t.Errorf("no %s", test.file)
		} else if !strings.Contains(text, test.want) {
			t.Errorf("%s has no %q", test.file, test.want)
		}
	}
	for _, name := range []string{"dev/alice/log-exporter", "dev/ci/ingress-controller"} {
		tests := 0
		for f := range files {
			if strings.HasPrefix(f, name+"/") && strings.Contains(f, "test") {
				tests++
			}
		}
		if want := strings.Contains(name, "ci"); (tests > 0) != want {
			t.Errorf("%s has %d test hooks", name, tests)
		}
	}
}
