package cluster

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func things(t testing.TB) *Schemas {
	t.Helper()
	document, err := os.ReadFile("testdata/things.json")
	if err != nil {
		t.Fatal(err)
	}
	s := ReadSchemas(document)
	if !s.Has(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}) {
		t.Fatal("the document has no schema of Thing")
	}
	return s
}

// object returns a Thing with the spec and the managed fields of fleetc and
// kubectl.
func object(t testing.TB, spec, own, others string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "namespace": "b"},
	}}
	var v any
	if err := json.Unmarshal([]byte(spec), &v); err != nil {
		t.Fatal(err)
	}
	o.Object["spec"] = v
	var managed []any
	for manager, text := range map[string]string{"fleetc": own, "kubectl": others} {
		var fields map[string]any
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		entry := map[string]any{
			"manager": manager, "operation": "Apply", "apiVersion": "example.com/v1", "fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z",
			"fieldsV1": map[string]any{"f:spec": fields},
		}
		if manager != "fleetc" {
			entry["operation"] = "Update"
		}
		managed = append(managed, entry)
	}
	if managed != nil {
		o.Object["metadata"].(map[string]any)["managedFields"] = managed
	}
	// Use the types that decoding JSON yields.
	text, err := o.MarshalJSON()
	if err == nil {
		err = o.UnmarshalJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestApply(t *testing.T) {
	for _, tt := range []struct {
		name, live, own, others, bundle, want string
		conflicts                             string
	}{
		{name: "the same", live: `{"size": 1}`, own: `{"f:size": {}}`, bundle: `{"size": 1}`, want: `{"size": 1}`},
		{name: "another value", live: `{"size": 1}`, own: `{"f:size": {}}`, bundle: `{"size": 2}`, want: `{"size": 2}`},
		{name: "taken out", live: `{"size": 1, "name": "x"}`, own: `{"f:size": {}, "f:name": {}}`, bundle: `{"size": 1}`, want: `{"size": 1}`},
		{name: "added by others", live: `{"size": 1, "name": "x"}`, own: `{"f:size": {}}`, others: `{"f:name": {}}`, bundle: `{"size": 1}`, want: `{"size": 1, "name": "x"}`},
		{name: "added by nobody", live: `{"size": 1, "name": "x"}`, own: `{"f:size": {}}`, bundle: `{"size": 1}`, want: `{"size": 1, "name": "x"}`},
		{name: "changed by others", live: `{"size": 5}`, others: `{"f:size": {}}`, bundle: `{"size": 1}`, want: `{"size": 1}`, conflicts: ".spec.size kubectl"},
		{name: "shared", live: `{"name": "x", "size": 1}`, own: `{"f:name": {}, "f:size": {}}`, others: `{"f:name": {}}`, bundle: `{"size": 1}`, want: `{"name": "x", "size": 1}`},
		{name: "quantities", live: `{"cpu": "1"}`, own: `{"f:cpu": {}}`, bundle: `{"cpu": "1000m"}`, want: `{"cpu": "1"}`},
		{name: "quantities as numbers", live: `{"cpu": "1"}`, own: `{"f:cpu": {}}`, bundle: `{"cpu": 1}`, want: `{"cpu": "1"}`},
		{name: "another quantity", live: `{"cpu": "1"}`, own: `{"f:cpu": {}}`, bundle: `{"cpu": "2000m"}`, want: `{"cpu": "2"}`},
		{name: "bytes", live: `{"bytes": "aHVudGVy"}`, own: `{"f:bytes": {}}`, bundle: `{"bytes": "aHVu\ndGVy"}`, want: `{"bytes": "aHVudGVy"}`},
		{name: "nulls", live: `{"size": 1}`, own: `{"f:size": {}}`, bundle: `{"size": 1, "name": null}`, want: `{"size": 1}`},
		{name: "empty and not stored", live: `{"size": 1}`, own: `{"f:size": {}, "f:name": {}, "f:on": {}}`, bundle: `{"size": 1, "name": "", "on": false}`, want: `{"size": 1}`},
		{name: "empty and new", live: `{"size": 1}`, own: `{"f:size": {}}`, bundle: `{"size": 1, "on": false}`, want: `{"size": 1, "on": false}`},
		{name: "no items", live: `{"size": 1}`, own: `{"f:size": {}}`, bundle: `{"size": 1, "keyed": []}`, want: `{"size": 1}`},
		{name: "a null as an empty text", live: `{"size": 1, "name": ""}`, own: `{"f:size": {}, "f:name": {}}`, bundle: `{"size": 2, "name": null}`, want: `{"size": 2, "name": ""}`},
		{name: "no items as null", live: `{"whole": null}`, own: `{"f:whole": {}}`, bundle: `{"whole": []}`, want: `{"whole": null}`},
		{
			name: "keys", live: `{"keyed": [{"port": 1, "protocol": "TCP", "name": "x"}, {"port": 1, "protocol": "UDP"}]}`,
			own:    `{"f:keyed": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}`,
			others: `{"f:keyed": {"k:{\"port\":1,\"protocol\":\"UDP\"}": {".": {}, "f:port": {}, "f:protocol": {}}}}`,
			bundle: `{"keyed": [{"port": 1}]}`, want: `{"keyed": [{"port": 1, "protocol": "TCP", "name": "x"}, {"port": 1, "protocol": "UDP"}]}`,
		},
		{
			name: "an item taken out", live: `{"keyed": [{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "TCP"}]}`,
			own:    `{"f:keyed": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}, "k:{\"port\":2,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}`,
			bundle: `{"keyed": [{"port": 1}]}`, want: `{"keyed": [{"port": 1, "protocol": "TCP"}]}`,
		},
		{name: "a new item", live: `{"keyed": []}`, bundle: `{"keyed": [{"port": 3, "name": "y"}]}`, want: `{"keyed": [{"port": 3, "name": "y", "protocol": "TCP"}]}`},
		{name: "a list as a whole", live: `{"whole": [{"name": "a", "mode": "plain"}]}`, own: `{"f:whole": {}}`, bundle: `{"whole": [{"name": "a"}]}`, want: `{"whole": [{"name": "a", "mode": "plain"}]}`},
		{
			name: "more in a list as a whole", live: `{"whole": [{"name": "a", "mode": "plain", "more": "x"}]}`, others: `{"f:whole": {}}`, bundle: `{"whole": [{"name": "a"}]}`,
			want: `{"whole": [{"name": "a", "mode": "plain"}]}`, conflicts: ".spec.whole kubectl",
		},
		{
			name: "another default", live: `{"whole": [{"name": "a", "mode": "fancy"}]}`, others: `{"f:whole": {}}`, bundle: `{"whole": [{"name": "a"}]}`,
			want: `{"whole": [{"name": "a", "mode": "plain"}]}`, conflicts: ".spec.whole kubectl",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			current, bundle := object(t, tt.live, tt.own, tt.others), object(t, tt.bundle, "", "")
			oldCurrent, oldBundle := current.DeepCopy(), bundle.DeepCopy()
			got, conflicts, err := things(t).Apply(current, bundle)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(current, oldCurrent) || !reflect.DeepEqual(bundle, oldBundle) {
				t.Error("the objects were modified")
			}
			text, err := json.Marshal(got.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(object(t, tt.want, "", "").Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			if string(text) != string(want) {
				t.Errorf("it would be %s, want %s", text, want)
			}
			var fields []string
			for _, f := range conflicts {
				fields = append(fields, f.Path+" "+f.Manager)
			}
			if got := strings.Join(fields, ", "); got != tt.conflicts {
				t.Errorf("conflicts: %s, want %s", got, tt.conflicts)
			}
		})
	}
}

// Without schemas, lists are atomic and values are compared literally.
func TestApplyWithoutSchemas(t *testing.T) {
	for _, document := range []string{"", "null", "[]", "{}", `{"components": {"schemas": {"a": {"$ref": "#/nowhere"}}}}`} {
		s := ReadSchemas([]byte(document))
		if s.Has(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}) {
			t.Errorf("%s has a schema", document)
		}
	}
	current := object(t, `{"size": 1, "keyed": [{"port": 1, "protocol": "TCP"}, {"port": 2}]}`, `{"f:size": {}, "f:keyed": {}}`, "")
	got, _, err := ReadSchemas(nil).Apply(current, object(t, `{"keyed": [{"port": 1}]}`, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(got.Object["spec"]); err != nil || string(text) != `{"keyed":[{"port":1}]}` {
		t.Errorf("it would be %s (%v)", text, err)
	}
}

// An error about a schema shows no values.
func TestApplyMisfit(t *testing.T) {
	_, _, err := things(t).Apply(object(t, `{"size": 1}`, "", ""), object(t, `{"nothing": "hunter2"}`, "", ""))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

func FuzzRead(f *testing.F) {
	document, err := os.ReadFile("testdata/things.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document, []byte(`{"size": 1, "keyed": [{"port": 1}], "whole": [{}, 1]}`))
	f.Fuzz(func(t *testing.T, document, spec []byte) {
		var v map[string]any
		if json.Unmarshal(spec, &v) != nil {
			return
		}
		current := object(t, string(spec), `{"f:size": {}, "f:keyed": {}}`, "")
		_, _, _ = ReadSchemas(document).Apply(current, object(t, string(spec), "", ""))
	})
}

// Invalid OpenAPI documents are ignored.
func TestReadInvalid(t *testing.T) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "X"}
	for _, text := range []string{"", "[]", `{"components":null}`, `{"components":{"schemas":{"x":null}}}`, `{"components":{"schemas":{"x":{"properties":{"a":null}}}}}`} {
		if s := ReadSchemas([]byte(text)); s.Has(gvk) {
			t.Errorf("%s has a schema of %v", text, gvk)
		}
	}
}
