package deliver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/validate"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// crdModules are the Go modules with the CRDs of Flux and Argo CD, and their checksums.
var crdModules = []struct{ module, version, sum, crds string }{
	{"github.com/fluxcd/kustomize-controller", "v1.9.5", "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc=", "config/crd/bases"},
	{"github.com/fluxcd/helm-controller", "v1.6.4", "h1:u/Ew7LehrwDQaE/NqWdaB3XnNDCxRGDcp1FZl7RKj4g=", "config/crd/bases"},
	{"github.com/fluxcd/source-controller", "v1.9.5", "h1:MFPyCodUi9hZIMaKDsC/rYbNoyzpvrAdrPVixj7W9F0=", "config/crd/bases"},
	{"github.com/argoproj/argo-cd/v3", "v3.5.7", "h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0=", "manifests/crds"},
}

// gitopsCRDs downloads the CRDs of Flux and Argo CD.
var gitopsCRDs = sync.OnceValues(func() (crds []fleet.Object, err error) {
	for _, m := range crdModules {
		cmd := exec.Command("go", "mod", "download", "-json", m.module+"@"+m.version)
		cmd.Dir = os.TempDir() // outside of this module, whose go.sum does not have them
		out, err := cmd.Output()
		var got struct{ Dir, Sum, Error string }
		if jerr := json.Unmarshal(out, &got); jerr != nil || got.Error != "" || err != nil || got.Sum != m.sum {
			return nil, &diag.Diag{Msg: m.module + " " + m.version + " cannot be gitopsCRDs, or has another checksum: " + got.Sum + got.Error, Cause: err}
		}
		files, err := filepath.Glob(filepath.Join(got.Dir, filepath.FromSlash(m.crds), "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			o, err := objectOf(text)
			if err != nil {
				return nil, err
			}
			if o.GetKind() == "CustomResourceDefinition" {
				crds = append(crds, o)
			}
		}
	}
	return crds, nil
})

func objectOf(text []byte) (fleet.Object, error) {
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	return fleet.Object{Unstructured: u, Release: &fleet.Release{Name: "their"}}, err
}

// gitopsObjects returns the objects of Flux and Argo CD in a bundle.
func gitopsObjects(t *testing.T, b *fleet.Bundle) []fleet.Object {
	t.Helper()
	objs := slices.DeleteFunc(slices.Clone(b.Objects), func(o fleet.Object) bool { return !strings.HasSuffix(o.GroupVersionKind().Group, ".fluxcd.io") })
	for _, f := range b.Files {
		if path.Base(f.Name) == "kustomization.yaml" {
			continue
		}
		o, err := objectOf(f.Data)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		objs = append(objs, o)
	}
	return objs
}

// checkGitopsObjects checks the objects of Flux and Argo CD against their CRDs.
func checkGitopsObjects(t *testing.T, checker *validate.CRDChecker, b *fleet.Bundle) {
	t.Helper()
	known, err := gitopsCRDs()
	if err != nil {
		t.Fatal(err)
	}
	objs := gitopsObjects(t, b)
	if len(objs) == 0 {
		t.Errorf("%s has no objects of Flux or Argo CD", b.Cluster.ID)
	}
	kinds := map[string]bool{}
	for _, o := range known {
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		kinds[kind+"."+group] = true
	}
	for _, o := range objs {
		if gk := o.GroupVersionKind().GroupKind().String(); !kinds[gk] {
			t.Errorf("there is no CRD of %s", gk)
		}
	}
	if err := checker.Objects(b.Cluster, objs, known); err != nil {
		var text bytes.Buffer
		_ = diag.WriteText(&text, err, load.FileNames(""))
		t.Errorf("%s: %s", b.Cluster.ID, &text)
	}
	// The check finds an invalid field.
	wrong := fleet.Object{Unstructured: objs[0].DeepCopy(), Release: objs[0].Release}
	_ = unstructured.SetNestedField(wrong.Object, "10m", "spec", "intervall")
	if err := checker.Objects(b.Cluster, []fleet.Object{wrong}, known); err == nil {
		t.Error("a field that does not exist is not a fault")
	}
}

// checkBuilds checks that kustomize builds the expected objects in the path of each
// Kustomization.
func checkBuilds(t *testing.T, b *fleet.Bundle) {
	t.Helper()
	files := filesys.MakeFsInMemory()
	in := map[string][]fleet.Object{}
	names := map[string][]string{}
	for i, o := range b.Objects {
		in[b.Dirs[i]] = append(in[b.Dirs[i]], o)
	}
	for dir, objs := range in {
		names[dir] = export.FileNames(objs)
		for i, o := range objs {
			text, err := objects.Encode(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			WriteFile(t, files, path.Join("/", dir, names[dir][i]), text)
		}
	}
	for _, f := range b.Files {
		WriteFile(t, files, path.Join("/", f.Name), f.Data)
	}
	for dir, objs := range in {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, path.Join("/", dir))
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if built.Size() != len(objs) {
			t.Errorf("%s: %d objects, want %d", dir, built.Size(), len(objs))
			continue
		}
		for i, r := range built.Resources() {
			text, err := r.AsYAML()
			if err != nil {
				t.Fatal(err)
			}
			got, err := objectOf(text)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := objects.Encode(objs[i].Object)
			again, _ := objectOf(want)
			if len(again.GetAnnotations()) == 0 {
				again.SetAnnotations(nil) // kustomize removes an empty map
			}
			if !reflect.DeepEqual(got.Object, again.Object) {
				t.Errorf("%s: %s is\n%s\nwant\n%s", dir, objs[i].ID(), text, want)
			}
		}
	}
	checkOrder(t, b, in)
}

// checkOrder checks that there is one Kustomization for each directory, and that they
// depend on each other without a cycle.
func checkOrder(t *testing.T, b *fleet.Bundle, in map[string][]fleet.Object) {
	t.Helper()
	before, dirs := map[string]string{}, map[string]bool{}
	for _, f := range b.Files {
		if path.Dir(f.Name) != "flux" {
			continue
		}
		o, err := objectOf(f.Data)
		if err != nil {
			t.Fatal(err)
		}
		place, _, _ := unstructured.NestedString(o.Object, "spec", "path")
		dir := strings.TrimPrefix(place, "./"+path.Join(b.Cluster.GitOps.Flux.Prefix, b.Cluster.ID)+"/")
		if in[dir] == nil || dirs[dir] {
			t.Errorf("%s has the path %s", f.Name, place)
		}
		dirs[dir] = true
		depends, _, _ := unstructured.NestedSlice(o.Object, "spec", "dependsOn")
		before[o.GetName()] = ""
		if len(depends) > 0 {
			before[o.GetName()] = depends[0].(map[string]any)["name"].(string)
		}
	}
	if len(dirs) != len(in) {
		t.Errorf("%d Kustomizations for %d directories", len(dirs), len(in))
	}
	for name := range before {
		steps := 0
		for at := name; at != ""; at = before[at] {
			if _, ok := before[at]; !ok || steps > len(before) {
				t.Fatalf("%s depends on %s", name, at)
			}
			steps++
		}
	}
}

func WriteFile(t *testing.T, files filesys.FileSystem, name string, text []byte) {
	t.Helper()
	if err := files.WriteFile(name, text); err != nil {
		t.Fatal(err)
	}
}

// TestExportsExample exports the example fleet for Flux and Argo CD.
func TestExportsExample(t *testing.T) {
	c := compiler.Compiler{Dir: "../..", Cache: t.TempDir(), Offline: true}
	f, err := c.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var checker validate.CRDChecker
	for _, layout := range []fleet.Layout{fleet.FluxLayout, fleet.ArgoLayout} {
		for b, err := range deliver.Exports(t.Context(), f, layout, f.Clusters, false, nil) {
			if err != nil {
				t.Fatal(err)
			}
			checkGitopsObjects(t, &checker, b)
			if layout == fleet.FluxLayout {
				checkBuilds(t, b)
			}
		}
	}
}

// TestExportsHelm lays out releases that Helm delivers, with all options.
func TestExportsHelm(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	c := &fleet.Cluster{
		ID: "prod/eu", Name: "eu", KubeVersion: "1.36", Stages: []string{"default"},
		GitOps: fleet.GitOps{
			Flux: fleet.Flux{
				Namespace: "flux-system", Source: fleet.FluxSource{Kind: "OCIRepository", Name: "fleet", Namespace: "sources"},
				Prefix: "clusters", Interval: time.Hour, RetryInterval: time.Minute, Timeout: 90 * time.Second, ServiceAccountName: "deployer",
			},
			ArgoCD: fleet.ArgoCD{Namespace: "argocd", Project: "p", RepoURL: "https://example.com/r.git", TargetRevision: "main", Server: "https://eu.example.com"},
		},
	}
	b := &fleet.Bundle{Cluster: c, Digest: digest}
	for name, chart := range map[string]fleet.ChartRef{
		"git":  {Git: fleet.GitRef{URL: "https://example.com/charts.git", Ref: strings.Repeat("0", 40), Path: "charts/web"}, Digest: digest},
		"http": {Repo: "https://charts.example.com", Name: "web", Version: "1.2.3+4", Digest: digest},
		"oci":  {Repo: "oci://registry.example.com/charts", Name: "web", Version: "1.2.3+4", Digest: digest},
	} {
		values := fleet.Map(map[string]*fleet.Tree{"replicas": {Scalar: json.Number("2")}, "gone": {}})
		r := &fleet.Release{
			Name: name, Namespace: "web", Stage: "default", Delivery: fleet.ByHelm, Chart: chart, Values: values,
			Ownership: []fleet.Ownership{{Leave: true, Fields: []fleet.FieldPath{{Path: []fleet.Step{{Key: "data"}, {Key: "a/b"}}}}}},
		}
		c.Releases = append(c.Releases, r)
		b.Charts = append(b.Charts, fleet.Pin{Release: name, Chart: chart})
		o, err := objectOf([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: web}\ndata: {a/b: c}\n"))
		if err != nil {
			t.Fatal(err)
		}
		o.Release = r
		b.Objects, b.YAML = append(b.Objects, o), append(b.YAML, fleet.Text{})
	}
	l := export.Layouter{Fleet: "example.com/fleet", Names: export.FileNames, Encode: objects.Encode}
	var checker validate.CRDChecker
	for layout, want := range map[fleet.Layout]int{fleet.FluxLayout: 7, fleet.ArgoLayout: 3} {
		laid, err := l.Lay(b, layout)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(gitopsObjects(t, laid)); got != want {
			t.Errorf("%s: %d objects, want %d", layout, got, want)
		}
		checkGitopsObjects(t, &checker, laid)
	}
}
