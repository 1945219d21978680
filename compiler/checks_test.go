package compiler_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// TestChartsPassEveryVersion renders Istio's charts and those of testdata for all versions
// of Kubernetes that fleetc knows. The objects must have no faults.
func TestChartsPassEveryVersion(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "run", ".", filepath.Join(dir, "istio"))
	cmd.Dir = "../testdata/realcharts"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write Istio's charts: %v\n%s", err, out)
	}
	if err := os.CopyFS(filepath.Join(dir, "charts"), os.DirFS("../testdata/charts")); err != nil {
		t.Fatal(err)
	}
	var layer strings.Builder
	layer.WriteString("package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\ncluster?: schema.#Cluster\nreleases: schema.#Releases\n")
	for _, name := range []string{"istio/base", "istio/istiod", "istio/istio-cni", "istio/gateway", "istio/ztunnel"} {
		fmt.Fprintf(&layer, "releases: %q: {namespace: \"istio-system\", chart: path: %q}\n", filepath.Base(name), name)
	}
	for _, name := range []string{"cert-manager", "elasticsearch", "fluentd", "ingress-controller", "kibana", "metrics-server", "monitoring", "curator"} {
		fmt.Fprintf(&layer, "releases: %q: {namespace: %[1]q, chart: path: \"charts/%[1]s\"}\n", name)
	}
	files := map[string]string{
		"cue.mod/module.cue":     "module: \"example.com/checks\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/fleet.cue": layer.String(),
	}
	for _, v := range kube.Versions() {
		id := strings.ReplaceAll(v.String(), ".", "-")
		files["environments/v"+id+"/cluster.cue"] = fmt.Sprintf("package fleet\n\ncluster: {name: \"v%s\", kubernetes: %q}\n", id, v)
	}
	fleets.Write(t, dir, files)
	f, err := (&compiler.Compiler{Dir: dir, Offline: true, Cache: t.TempDir()}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clusters := 0
	for b, err := range f.Bundles(t.Context()) {
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if clusters++; len(b.Objects) < 150 {
			t.Errorf("%s has only %d objects", b.Cluster.ID, len(b.Objects))
		}
	}
	if clusters != len(kube.Versions()) {
		t.Errorf("%d of %d versions", clusters, len(kube.Versions()))
	}
}
