package secret

import (
	"fmt"
	"slices"
	"testing"
)

// Values has something in the place of each encrypted value, and the plain values.
func TestValues(t *testing.T) {
	for _, name := range []string{"all.yaml", "all.json", "maconly.yaml", "secret.yaml"} {
		f, err := ParseSOPS(name, read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		values, err := f.Values(func(key, kind string) any {
			keys = append(keys, key)
			return "<" + key + " " + kind + ">"
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(keys)
		if !slices.Equal(keys, f.EncryptedKeys()) {
			t.Errorf("%s: got %q, want %q", name, keys, f.EncryptedKeys())
		}
		if _, ok := values["sops"]; ok {
			t.Errorf("%s: the metadata is part of the values", name)
		}
		const want = "map[apiVersion:v1 data:map[key:<data.key str>] kind:Secret metadata:map[name:x] stringData:map[long:<stringData.long str> password:<stringData.password str>]]"
		if name == "secret.yaml" && fmt.Sprint(values) != want {
			t.Errorf("got %v\nwant %s", values, want)
		}
	}
}
