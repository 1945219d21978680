package render

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// helmBinary builds helm from the source of the version in go.mod.
func helmBinary(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "tool", "-modfile=../../../testdata/tools/go.mod", "-n", "helm").Output()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// TestHelmIsThatOfTheModule checks that the helm binary has the version that
// is compiled in.
func TestHelmIsThatOfTheModule(t *testing.T) {
	for _, mod := range []string{"helm.sh/helm/v3", "cuelang.org/go"} {
		want, got := required(t, "../../../go.mod", mod), required(t, "../../../testdata/tools/go.mod", mod)
		if got != want {
			t.Errorf("testdata/tools/go.mod has %s %s, go.mod has %s", mod, got, want)
		}
	}
}

func required(t *testing.T, file, module string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(strings.TrimPrefix(line, "require ")); len(f) >= 2 && f[0] == module {
			return f[1]
		}
	}
	t.Fatalf("%s does not require %s", file, module)
	return ""
}

// TestSameAsHelmTemplate renders every chart of testdata with its default
// values and with each file of its ci folder, for two Kubernetes versions, and
// compares the bytes with helm template.
func TestSameAsHelmTemplate(t *testing.T) {
	helm := helmBinary(t)
	charts, err := filepath.Glob("../../../testdata/charts/*/Chart.yaml")
	if err != nil || len(charts) < 10 {
		t.Fatalf("%d charts, %v", len(charts), err)
	}
	for _, c := range charts {
		dir := filepath.Dir(c)
		values, err := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append(values, "") {
			sameAsHelm(t, helm, dir, v, "1.33", nil)
			sameAsHelm(t, helm, dir, v, "1.36.2", []string{"monitoring.coreos.com/v1", "monitoring.coreos.com/v1/ServiceMonitor"})
		}
	}
}

// TestSameAsHelmTemplateReal does the same for Istio's charts, which a Go
// module ships, with three sets of values each.
func TestSameAsHelmTemplateReal(t *testing.T) {
	helm := helmBinary(t)
	dir := istio(t)
	for _, name := range []string{"base", "istiod", "istio-cni", "gateway", "ztunnel"} {
		values, err := filepath.Glob("../../../testdata/realcharts/values/" + name + "-*.yaml")
		if err != nil || len(values) != 3 {
			t.Fatalf("%s has %d sets of values, %v", name, len(values), err)
		}
		for _, v := range values {
			sameAsHelm(t, helm, filepath.Join(dir, name), v, "1.36", nil)
		}
	}
}

// istio writes Istio's charts to a directory.
func istio(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "charts")
	cmd := exec.Command("go", "run", ".", dir)
	cmd.Dir = "../../../testdata/realcharts"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write the charts: %v\n%s", err, out)
	}
	return dir
}

func sameAsHelm(t *testing.T, binary, dir, valuesFile, kubeVersion string, apis []string) {
	name := fmt.Sprintf("%s/%s/%s", filepath.Base(dir), strings.TrimSuffix(filepath.Base(valuesFile), ".yaml"), kubeVersion)
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		args := []string{"template", "my-release", dir, "--namespace", "my-namespace", "--include-crds", "--kube-version", kubeVersion}
		for _, a := range apis {
			args = append(args, "--api-versions", a)
		}
		values := map[string]any{}
		if valuesFile != "" {
			args = append(args, "--values", valuesFile)
			data, err := os.ReadFile(valuesFile)
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(data, &values); err != nil {
				t.Fatal(err)
			}
		}
		var stderr bytes.Buffer
		cmd := exec.Command(binary, args...)
		cmd.Stderr = &stderr
		want, err := cmd.Output()
		if err != nil {
			t.Fatalf("helm %v: %v\n%s", args, err, &stderr)
		}
		tree, err := fleet.TreeOf(values)
		if err != nil {
			t.Fatal(err)
		}
		r := &fleet.Release{Name: "my-release", Namespace: "my-namespace", Values: tree}
		c := &fleet.Cluster{KubeVersion: kubeVersion}
		docs, err := documentsOf(t, c, r, loaded(t, dir), apis)
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(docs); got != string(want) {
			t.Errorf("differs from helm %s\n%s", strings.Join(args, " "), firstDifference(got, string(want)))
		}
		sameObjects(t, docs, string(want))
		sameEngines(t, c, r, loaded(t, dir))
	})
}

// sameObjects compares the objects of the documents with the objects in helm's
// output.
func sameObjects(t *testing.T, docs []document, printed string) {
	t.Helper()
	var got, want []any
	for _, d := range docs {
		for _, err := range d.errs {
			t.Errorf("%s: %v", d.source, err)
		}
		for _, o := range d.objs {
			got = append(got, o.Object)
		}
	}
	for _, text := range regexp.MustCompile(`(?m)^---`).Split(printed, -1) {
		v, err := decodeByJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		objs, err := objectsOf(v, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objs {
			want = append(want, o)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d objects, a reader of helm's output gets %d, or others", len(got), len(want))
	}
}

// loaded returns the chart in a directory.
func loaded(t testing.TB, dir string) *fleet.Chart {
	t.Helper()
	c, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	ch := &fleet.Chart{Ref: fleet.ChartRef{Path: filepath.Base(dir)}}
	for _, f := range c.Raw {
		ch.Files = append(ch.Files, fleet.File{Name: f.Name, Data: f.Data})
	}
	return ch
}

// documentsOf renders the chart once.
func documentsOf(t testing.TB, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string) ([]document, error) {
	t.Helper()
	j := &job{cluster: c, release: r, chart: ch, source: new(Charts).source(ch), apis: DefaultAPIs(c, apis...), limits: new(Charts).limits()}
	in, err := j.input()
	if err != nil {
		return nil, err
	}
	docs, _, _, err := j.documents(t.Context(), in, newEntropy(clock(j.source)), nil)
	return docs, err
}

// printed returns the documents as helm template prints them.
func printed(docs []document) string {
	var manifests, hooks strings.Builder
	for _, d := range docs {
		w := &manifests
		if d.hook {
			w = &hooks
		}
		fmt.Fprintf(w, "---\n# Source: %s\n%s\n", d.source, d.text)
	}
	return strings.TrimSpace(manifests.String()) + "\n" + hooks.String()
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n got %q\nwant %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
