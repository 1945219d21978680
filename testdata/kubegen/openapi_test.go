package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// source writes a source directory with the OpenAPI documents and the generated
// Go code of one enum, and returns it.
func source(t *testing.T, documents ...string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"pkg/generated/openapi/zz_generated.openapi.go": enumsFixture}
	for i, doc := range documents {
		files["api/openapi-spec/v3/"+string(rune('a'+i))+".json"] = `{"components": {"schemas": {` + doc + `}}}`
	}
	fleets.Write(t, dir, files)
	return dir
}

const (
	podFixture = `"io.k8s.api.core.v1.Pod": {"description": "a pod", "type": "object",
		"x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
		"properties": {
			"spec": {"description": "what it is", "default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]},
			"raw": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"}}},
	"io.k8s.api.core.v1.PodSpec": {"type": "object", "required": ["policy", "limits"], "properties": {
		"policy": {"type": "string"}, "usages": {"type": "array", "items": {"type": "string", "default": ""}, "x-kubernetes-list-type": "set"},
		"limits": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}}}},
	"io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
	"io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"}`
	listFixture = `"io.k8s.api.core.v1.PodList": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "PodList"}]},
	"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions": {"type": "object", "x-kubernetes-group-version-kind": [
		{"group": "", "version": "v1", "kind": "DeleteOptions"}, {"group": "apps", "version": "v1", "kind": "DeleteOptions"}]}`
)

func TestDefinitions(t *testing.T) {
	pod := map[kind]bool{{"v1", "Pod", "Namespaced"}: true}
	got, err := definitions(source(t, podFixture, listFixture), pod)
	if err != nil {
		t.Fatal(err)
	}
	for minor, want := range map[int]string{30: `io.k8s.api.core.v1.Pod 1.30 {"kind":"v1 Pod","type":"object","properties":{"raw":{"$ref":"io.k8s.apimachinery.pkg.runtime.RawExtension"},"spec":{"$ref":"io.k8s.api.core.v1.PodSpec"}}}
io.k8s.api.core.v1.PodSpec 1.30 {"type":"object","properties":{"limits":{"type":"object","additionalProperties":{"$ref":"io.k8s.apimachinery.pkg.api.resource.Quantity"}},"policy":{"type":"string","enum":["Always","Never"]},"usages":{"type":"array","items":{"type":"string","default":"","enum":["a","b"]},"x-kubernetes-list-type":"set"}},"required":["limits","policy"]}
io.k8s.apimachinery.pkg.api.resource.Quantity 1.30 {"format":"quantity"}
io.k8s.apimachinery.pkg.runtime.RawExtension 1.30 {"type":"object","x-kubernetes-preserve-unknown-fields":true}
`} {
		schemas := map[int]map[string]*definition{minor: got}
		unifyRequired(schemas)
		text, err := formatSchemas(schemas)
		if err != nil || string(text) != want {
			t.Errorf("%v, got\n%swant\n%s", err, text, want)
		}
	}
}

func TestDefinitionsFaults(t *testing.T) {
	pod := map[kind]bool{{"v1", "Pod", "Namespaced"}: true}
	for name, tt := range map[string]struct{ document, want string }{
		"no kind":      {strings.Replace(podFixture, `"kind": "Pod"`, `"kind": "Pid"`, 1), "no schema of v1 Pod"},
		"no JSON":      {`"a": 3`, "cannot unmarshal number"},
		"reference":    {strings.Replace(podFixture, `"io.k8s.apimachinery.pkg.runtime.RawExtension": {`, `"other": {`, 1), "no definition of io.k8s.apimachinery.pkg.runtime.RawExtension"},
		"two of allOf": {strings.Replace(podFixture, `"allOf": [`, `"allOf": [{"type": "object"}, `, 1), "io.k8s.api.core.v1.Pod.spec: allOf is more than a reference"},
		"oneOf":        {strings.Replace(podFixture, "Quantity\": {", "Amount\": {", 1), "io.k8s.apimachinery.pkg.api.resource.Amount: oneOf of a type that is not known"},
	} {
		if _, err := definitions(source(t, tt.document), pod); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The required fields of a stable version come from the newest version; for
// alpha and beta versions, it only removes requirements.
func TestSettle(t *testing.T) {
	parse := func(text string) map[string]*definition {
		var out map[string]*definition
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	schemas := map[int]map[string]*definition{
		29: parse(`{"io.v1.A": {"properties": {"a": {}, "b": {}, "old": {}}, "required": ["b", "old"]},
			"io.v1beta1.B": {"properties": {"a": {}, "b": {}}, "required": ["b"]}}`),
		30: parse(`{"io.v1.A": {"properties": {"a": {}, "b": {}}, "required": ["a"]},
			"io.v1beta1.B": {"properties": {"a": {}, "b": {}}, "required": ["a"]}}`),
	}
	unifyRequired(schemas)
	text, err := formatSchemas(schemas)
	want := `io.v1.A 1.29 {"properties":{"a":{},"b":{},"old":{}},"required":["a","old"]}
io.v1.A 1.30 {"properties":{"a":{},"b":{}},"required":["a"]}
io.v1beta1.B 1.29 {"properties":{"a":{},"b":{}}}
io.v1beta1.B 1.30 {"properties":{"a":{},"b":{}},"required":["a"]}
`
	if err != nil || string(text) != want {
		t.Errorf("%v, got\n%swant\n%s", err, text, want)
	}
}

// A definition of several versions is written once, and the packed bytes are
// reproducible.
func TestPack(t *testing.T) {
	d := map[string]*definition{"io.v1.A": {Type: "object"}}
	text, err := formatSchemas(map[int]map[string]*definition{29: d, 30: d, 32: d})
	if want := `io.v1.A 1.29-1.30,1.32 {"type":"object"}` + "\n"; err != nil || string(text) != want {
		t.Fatalf("%v, got\n%s", err, text)
	}
	one, err := pack(text)
	if err != nil {
		t.Fatal(err)
	}
	two, err := pack(text)
	if err != nil || string(one) != string(two) {
		t.Errorf("%v: packed differently", err)
	}
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if back, err := r.DecodeAll(one, nil); err != nil || string(back) != string(text) {
		t.Errorf("%v: unpacked to\n%s", err, back)
	}
}

// The embedded file equals the output of the program.
func TestEmbedded(t *testing.T) {
	packed, err := os.ReadFile("../../compiler/base/kube/schemas.txt.zst")
	if err != nil {
		t.Fatal(err)
	}
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := r.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := pack(text)
	if err != nil || string(again) != string(packed) {
		t.Errorf("%v: run go generate: the compressor has changed", err)
	}
}
