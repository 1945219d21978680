package cluster

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stored returns a Secret in Helm's format with an arbitrary text as the revision.
func stored(t *testing.T, text string, packed bool) *unstructured.Unstructured {
	t.Helper()
	data := []byte(text)
	if packed {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	twice := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(data)))
	return &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"release": twice}}}
}

func TestDecode(t *testing.T) {
	const text = `{"name": "app", "version": 3, "manifest": "kind: ConfigMap", "info": {"status": "deployed"}}`
	for _, packed := range []bool{true, false} {
		r, err := decode(stored(t, text, packed))
		if err != nil || r.Name != "app" || r.Version != 3 || r.Manifest != "kind: ConfigMap" {
			t.Errorf("packed %v: %+v, %v", packed, r, err)
		}
	}
	inConfigMap := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "data": map[string]any{"release": base64.StdEncoding.EncodeToString([]byte(text))}}}
	if r, err := decode(inConfigMap); err != nil || r.Version != 3 {
		t.Errorf("in a ConfigMap: %+v, %v", r, err)
	}
	for name, text := range map[string]string{"no JSON": "app", "too large": `{"name": "` + strings.Repeat("a", maxRelease) + `"}`} {
		if _, err := decode(stored(t, text, true)); err == nil {
			t.Errorf("%s: decodes", name)
		}
	}
	if _, err := decode(&unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"release": "%"}}}); err == nil {
		t.Error("what is no base64 decodes")
	}
}

// Block scalars keep the line break at the end of their document.
func TestObjectsOf(t *testing.T) {
	doc := func(name string) string {
		return "---\n# Source: a/b.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: x}\ndata:\n  a: |\n    text\n"
	}
	objs, err := objectsOf(t.Context(), nil, &release.Release{Manifest: doc("one") + doc("two")})
	if err != nil || len(objs) != 2 {
		t.Fatalf("%d objects, %v", len(objs), err)
	}
	for _, o := range objs {
		if got, _, _ := unstructured.NestedString(o.Object, "data", "a"); got != "text\n" {
			t.Errorf("%s has %q", o.GetName(), got)
		}
	}
}

// An object with the labels of a record is a record only if its type or name fits.
func TestIsRecord(t *testing.T) {
	for _, test := range []struct {
		in        HelmStorage
		name, typ string
		want      bool
	}{
		{HelmSecrets, "sh.helm.release.v1.app.v2", "helm.sh/release.v1", true},
		{HelmSecrets, "sh.helm.release.v1.app.v2", "Opaque", false},
		{HelmConfigMaps, "sh.helm.release.v1.app.v2", "", true},
		{HelmConfigMaps, "sh.helm.release.v1.app.v1", "", false},
		{HelmConfigMaps, "settings", "", false},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"type": test.typ, "metadata": map[string]any{"name": test.name}}}
		if got := test.in.isRecord(o, "app", 2); got != test.want {
			t.Errorf("%s %s of type %q: %v", test.in, test.name, test.typ, got)
		}
	}
}

func TestIsPending(t *testing.T) {
	for status, want := range map[string]bool{
		"deployed": false, "failed": false, "superseded": false, "uninstalled": false, "": false,
		"pending-install": true, "pending-upgrade": true, "pending-rollback": true, "uninstalling": true,
	} {
		if s := (&HelmState{Status: status}); s.IsPending() != want {
			t.Errorf("%q: %v", status, !want)
		}
	}
}
