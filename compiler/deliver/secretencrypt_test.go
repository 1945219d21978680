package deliver

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An object of the previous export is read and decrypted once, however many new fields have a copy
// of its kept value.
func TestKeptOnce(t *testing.T) {
	const generated = "Z2VuZXJhdGVk"
	r := &fleet.Release{Name: "r"}
	secretOf := func(name string, keys ...string) fleet.Object {
		data := map[string]any{}
		o := fleet.Object{Release: r}
		for _, key := range keys {
			data[key] = fleet.KeptText
			o.Kept = append(o.Kept, fleet.RandomField{Field: []string{"data", key}, Value: generated})
		}
		o.Unstructured = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "data": data}}
		return o
	}
	reads := 0
	e := encrypter{
		resolver: &SecretResolver{}, decrypted: map[string]map[string]any{},
		bundle: &fleet.Bundle{Objects: []fleet.Object{secretOf("before", "a"), secretOf("new", "b", "c", "d")}},
		last: LastExport{Object: func(o fleet.Object) (map[string]any, error) {
			if o.GetName() == "new" {
				return nil, nil
			}
			reads++
			return map[string]any{"data": map[string]any{"a": "bGFzdA=="}}, nil
		}},
	}
	o, err := e.kept(e.bundle.Objects[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"b", "c", "d"} {
		if v, _ := fleet.Lookup(o.Object, []string{"data", key}); v != "bGFzdA==" {
			t.Errorf("data.%s is %v", key, v)
		}
	}
	if reads != 1 {
		t.Errorf("the object of the previous export was read %d times", reads)
	}
}
