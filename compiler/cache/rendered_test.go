package cache_test

import (
	"crypto/sha256"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// TestInvalidRecords checks that a stored release is the one that was rendered, and that
// records and contents of another form are cache misses.
func TestInvalidRecords(t *testing.T) {
	r := cache.New("test", t.TempDir(), false)
	encode := func(v any) []byte {
		data, err := direct.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}
	one := fleet.Object{Unstructured: &unstructured.Unstructured{Object: object}, Template: "t.yaml"}
	if !r.StoreRendered("good", &fleet.Release{}, render.Result{Objects: []fleet.Object{one}}) {
		t.Fatal("it is not stored")
	}
	result, ok := r.Rendered("good")
	if !ok || len(result.Objects) != 1 || result.Objects[0].GetName() != "a" || result.Objects[0].Template != "t.yaml" {
		t.Errorf("got %v, %v", result, ok)
	}
	content := func(data []byte) []byte {
		sum := fleet.Sum(sha256.Sum256(data))
		r.Cache.Put(r.KeyOf("content", sum.String()), data)
		return sum[:]
	}
	other := content([]byte("another content"))
	r.Cache.Put(r.KeyOf("content", fleet.Sum(other).String()), encode(object))
	for key, record := range map[string][]byte{
		"no record":                  []byte("hello"),
		"a record of another kind":   encode("hello"),
		"a missing content":          encode(recordOf(make([]byte, sha256.Size))),
		"a digest of another length": encode(recordOf([]byte("short"))),
		"a text as content":          encode(recordOf(content(encode("hello")))),
		"a list as content":          encode(recordOf(content(encode([]any{object})))),
		"no encoding":                encode(recordOf(content([]byte("\xff\xff")))),
		"the content of another sum": encode(recordOf(other)),
	} {
		r.Cache.Put(r.KeyOf("release", key), record)
		if result, ok := r.Rendered(key); ok {
			t.Errorf("%s: got %v", key, result)
		}
	}
}

// recordOf returns the record of a release with one object, by the digest of its content.
func recordOf(digest []byte) any {
	return []map[string]any{{"content": digest, "template": ""}}
}
