package source

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// stack renders testdata/library.jsonnet.
func stack(t testing.TB) []fleet.Object {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	r := &JsonnetRenderer{Dir: dir, Library: libraryOf(t)}
	defer r.Close()
	req := requestOf("library.jsonnet")
	req.Params = map[string]any{"replicas": 3, "image": "registry.example.com/web:1.2.3"}
	req.HelmTemplate = func(_ context.Context, call HelmCall) ([]fleet.Object, error) {
		o := named("ConfigMap", "", "from-"+call.Name)
		o.SetAPIVersion("v1")
		return []fleet.Object{o}, nil
	}
	got, err := r.Render(t.Context(), req)
	if err != nil {
		t.Fatal(textOfFaults(t, err))
	}
	return got.Objects
}

// TestLibrary compares the output of the library with testdata/library.yaml,
// which UPDATE_GOLDEN=1 writes.
func TestLibrary(t *testing.T) {
	var got bytes.Buffer
	for _, o := range stack(t) {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString("---\n")
		got.Write(data)
	}
	const golden = "testdata/library.yaml"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		write(t, golden, got.Bytes())
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s is not what comes out:\n%s", golden, &got)
	}
}

// TestLibraryIsValid validates the output of the library for every supported
// version of Kubernetes.
func TestLibraryIsValid(t *testing.T) {
	for _, v := range kube.Versions() {
		if err := (&validate.Checker{}).Objects(&fleet.Cluster{ID: "c", KubeVersion: v.String(), Stages: []string{"apps"}}, stack(t)); err != nil {
			t.Errorf("Kubernetes %s: %s", v, textOfFaults(t, err))
		}
	}
}

// member matches a function of the library and the line above it.
var member = regexp.MustCompile(`(?m)^(.*)\n  ([a-zA-Z]+)\(.*\)::`)

// TestLibraryIsDocumented tests that every function has a comment and a test,
// that mixins are named as such, and that the library stays small.
func TestLibraryIsDocumented(t *testing.T) {
	text := string(libraryOf(t))
	used, err := os.ReadFile("testdata/library.jsonnet")
	if err != nil {
		t.Fatal(err)
	}
	found := member.FindAllStringSubmatch(text, -1)
	if n := strings.Count(text, "::"); len(found) != n {
		t.Errorf("%d functions of %d fields are seen", len(found), n)
	}
	for _, m := range found {
		if !strings.HasPrefix(m[1], "  // ") {
			t.Errorf("%s has no comment", m[2])
		}
		if !regexp.MustCompile(`\bk\.` + m[2] + `\(`).MatchString(text + string(used)) {
			t.Errorf("%s is neither in testdata/library.jsonnet nor in what is", m[2])
		}
	}
	if n := strings.Count(text, "\n"); n > 300 {
		t.Errorf("the library has %d lines", n)
	}
}
