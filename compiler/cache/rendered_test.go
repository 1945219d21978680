package cache_test

import (
	"crypto/sha256"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/deliver/export/oci"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// TestInvalidShared checks that invalid records and contents in a shared cache are cache
// misses, and are not copied to the disk.
func TestInvalidShared(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	var shared *oci.Cache // of the latest machine
	machine := func() *cache.Store {
		var err error
		shared, err = oci.NewCache(t.Context(), strings.Replace(server.URL, "http://", "oci://", 1)+"/cache")
		if err != nil {
			t.Fatal(err)
		}
		return cache.New("test", t.TempDir(), false, shared)
	}
	encode := func(v any) []byte {
		data, err := direct.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}
	one := fleet.Object{Unstructured: &unstructured.Unstructured{Object: object}, Template: "t.yaml"}
	content := encode(object)
	sum := sha256.Sum256(content)
	record := encode(recordOf(sum[:]))
	send := func(key string, record []byte, content []byte) {
		r := machine()
		sum := sha256.Sum256(content)
		shared.Put(r.KeyOf("release", key), record, []cache.Part{{Digest: sum, Size: int64(len(content))}}, func(fleet.Sum) ([]byte, bool) { return content, true })
		if why := shared.Close(); why != "" {
			t.Fatal(why)
		}
	}
	from := machine()
	stored, ok := from.StoreRendered("good", &fleet.Release{}, render.Result{Objects: []fleet.Object{one}})
	if !ok {
		t.Fatal("it is not stored")
	}
	from.SendRendered("good", stored)
	if why := shared.Close(); why != "" {
		t.Fatal(why)
	}
	send("no record", []byte("hello"), content)
	send("a record of another kind", encode("hello"), content)
	send("a record of what is not there", encode(recordOf(make([]byte, sha256.Size))), content)
	send("a record without digests", encode(recordOf([]byte("short"))), content)
	for name, bad := range map[string]any{
		"a text": "hello", "a list": []any{object}, "no metadata": map[string]any{"apiVersion": "v1", "kind": "ConfigMap"},
		"no kind": map[string]any{"apiVersion": "v1", "metadata": map[string]any{}}, "nothing": nil,
	} {
		data := encode(bad)
		sum := sha256.Sum256(data)
		send(name, encode(recordOf(sum[:])), data)
	}
	send("no encoding", record, []byte("\xff\xff"))
	for _, key := range []string{
		"no record", "a record of another kind", "a record of what is not there", "a record without digests",
		"a text", "a list", "no metadata", "no kind", "nothing", "no encoding", "nobody's",
	} {
		r := machine()
		r.FetchRendered(t.Context(), key)
		if result, ok := r.Rendered(key); ok {
			t.Errorf("%s: got %v", key, result)
		}
		if r.Cache.Has(r.KeyOf("release", key)) {
			t.Errorf("%s: it is on the disk", key)
		}
		if why := shared.Close(); why != "" {
			t.Errorf("%s: %s", key, why)
		}
	}
	r := machine()
	r.FetchRendered(t.Context(), "good")
	result, ok := r.Rendered("good")
	if !ok || len(result.Objects) != 1 || result.Objects[0].GetName() != "a" || result.Objects[0].Template != "t.yaml" {
		t.Errorf("got %v, %v", result, ok)
	}
}

// recordOf returns the record of a release with one object, by the digest of its content.
func recordOf(digest []byte) any {
	return []map[string]any{{"content": digest, "template": ""}}
}
