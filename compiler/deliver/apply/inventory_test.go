package apply

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// An inventory of any size is read back unchanged.
func TestPack(t *testing.T) {
	v := &Inventory{Format: inventoryFormat, Fleet: "f", Cluster: "c", UID: "u", Stages: map[string]string{"a": "b"}}
	for i := range 5000 {
		v.Objects = append(v.Objects, Entry{Version: "v1", Kind: "ConfigMap", Namespace: "n", Name: fmt.Sprint("c", i), Release: "r", Stage: "a", UID: fmt.Sprint(i)})
	}
	packed, err := pack(v)
	if err != nil {
		t.Fatal(err)
	}
	if len(packed) > maxChunk {
		t.Errorf("5000 objects take %d bytes", len(packed))
	}
	text, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := decodeInventory(text)
	if err != nil || !v.equal(w) {
		t.Errorf("it is read as another, %v", err)
	}
	w.Objects[7].UID = "other"
	if v.equal(w) {
		t.Error("inventories with other UIDs are equal")
	}
}

// A malformed inventory is a fault.
func TestDecodeInventory(t *testing.T) {
	object := `{"version":"v1","kind":"Secret","name":"a","release":"r","stage":"s"}`
	for _, tt := range []struct{ text, want string }{
		{`{"format":1,"objects":[` + object + `]}`, ""},
		{`{"format":1,"objects":[` + object + `,` + object + `]}`, "twice"},
		{`{"format":1,"objects":[{"version":"v1","kind":"Secret","release":"r","stage":"s"}]}`, "an object in it has no name"},
		{`{"format":1,"objects":[{"version":"v1","kind":"Secret","name":"a","stage":"s"}]}`, "no release"},
		{`{"format":1,"hooks":{"a":"bundle-00000000000000000000000000000000"}}`, ""},
		{`{"format":1,"hooks":{"a":"kube-root"}}`, "the hooks of release a are in Secret kube-root, which fleetc did not write"},
		{`{"format":2}`, "has format 2, but this fleetc supports 1"},
		{`{}`, "has format 0"},
		{`[]`, "not in the format that fleetc writes"},
		{``, "not in the format that fleetc writes"},
	} {
		_, err := decodeInventory([]byte(tt.text))
		if got := fmt.Sprint(err); (tt.want == "") != (err == nil) || !strings.Contains(got, tt.want) && err != nil {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// The state of a Secret does not depend on its values.
func TestStateOf(t *testing.T) {
	object := func(kind, value, version string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": kind, "metadata": map[string]any{"uid": "u", "resourceVersion": version}, "data": map[string]any{"a": value},
		}}
	}
	if (&Item{Before: object("Secret", "x", "1")}).state() != (&Item{Before: object("Secret", "y", "1")}).state() {
		t.Error("the state of a Secret depends on its values")
	}
	if (&Item{Before: object("Secret", "x", "1")}).state() == (&Item{Before: object("Secret", "x", "2")}).state() {
		t.Error("a Secret that was written has the same state")
	}
	if (&Item{Before: object("ConfigMap", "x", "1")}).state() != (&Item{Before: object("ConfigMap", "x", "2")}).state() {
		t.Error("the state of an object depends on its resource version")
	}
	if (&Item{Before: object("ConfigMap", "x", "1")}).state() == (&Item{Before: object("ConfigMap", "y", "1")}).state() {
		t.Error("a change of an object does not change its state")
	}
}

func TestContains(t *testing.T) {
	whole := map[string]any{"a": int64(1), "b": map[string]any{"c": "d", "e": []any{map[string]any{"x": "y", "z": true}}}}
	for _, tt := range []struct {
		part any
		want bool
	}{
		{map[string]any{}, true},
		{map[string]any{"a": int64(1)}, true},
		{map[string]any{"a": int64(2)}, false},
		{map[string]any{"a": "1"}, false},
		{map[string]any{"f": nil}, false},
		{map[string]any{"b": map[string]any{"e": []any{map[string]any{"x": "y"}}}}, true},
		{map[string]any{"b": map[string]any{"e": []any{}}}, false},
		{map[string]any{"b": []any{}}, false},
		{[]any{}, false},
	} {
		if got := contains(tt.part, whole); got != tt.want {
			t.Errorf("within(%v) = %v", tt.part, got)
		}
	}
}

// The limit is a fifth of all objects, and at least ten.
func TestPruneLimit(t *testing.T) {
	for objects, want := range map[int]int{0: 10, 50: 10, 51: 11, 100: 20} {
		if got := (Options{}).pruneLimit(objects); got != want {
			t.Errorf("of %d objects, %d may be pruned, want %d", objects, got, want)
		}
	}
	for _, want := range []int{0, 3} {
		if got := (Options{PruneLimit: &want}).pruneLimit(1000); got != want {
			t.Errorf("the limit is %d, want %d", got, want)
		}
	}
}

func FuzzDecodeInventory(f *testing.F) {
	f.Add([]byte(`{"format":1,"objects":[{"version":"v1","kind":"Secret","name":"a","release":"r","stage":"s"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decodeInventory(data)
		if err == nil && !v.equal(v.clone()) {
			t.Error("it is not equal to itself")
		}
	})
}

// TestInventoryOfAnother checks that an inventory is used only for the cluster and fleet
// that it names: otherwise objects of others would be pruned.
func TestInventoryOfAnother(t *testing.T) {
	const fleet, id, uid = "example.com/infra", "prod/eu", "u1"
	for name, test := range map[string]struct {
		inventory Inventory
		want      string
	}{
		"its own":         {Inventory{Fleet: fleet, Cluster: id, UID: uid}, ""},
		"another UID":     {Inventory{Fleet: fleet, Cluster: id, UID: "u2"}, "is not the cluster that fleetc knows as"},
		"another fleet":   {Inventory{Fleet: "example.com/other", Cluster: id, UID: "u2"}, `belongs to the fleet "example.com/other", and the fleet "example.com/infra"`},
		"another cluster": {Inventory{Fleet: fleet, Cluster: "prod/us", UID: uid}, "is cluster"},
	} {
		err := test.inventory.check(&cluster.Cluster{Server: "https://api", UID: uid}, fleet, id)
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
