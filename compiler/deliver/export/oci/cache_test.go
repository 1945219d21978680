package oci

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/cache"
)

func (s *server) cache(t *testing.T) *Cache {
	t.Helper()
	address, err := ParseRepository("oci://" + s.host() + "/example/cache")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCache(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A folder stores parts by digest.
type folder struct {
	mu   sync.Mutex
	data map[fleet.Sum][]byte
}

func newFolder(parts ...string) *folder {
	f := &folder{data: map[fleet.Sum][]byte{}}
	for _, p := range parts {
		f.take(sha256.Sum256([]byte(p)), []byte(p))
	}
	return f
}

func (f *folder) get(sum fleet.Sum) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.data[sum]
	return data, ok
}

func (f *folder) has(sum fleet.Sum) bool {
	_, ok := f.get(sum)
	return ok
}

func (f *folder) take(sum fleet.Sum, data []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data[sum] = data
	return true
}

func partsOf(texts ...string) []cache.Part {
	var out []cache.Part
	for _, p := range texts {
		out = append(out, cache.Part{Digest: sha256.Sum256([]byte(p)), Size: int64(len(p))})
	}
	return out
}

// put stores a result in the registry.
func (s *server) put(t *testing.T, key, record string, parts ...string) {
	t.Helper()
	c := s.cache(t)
	c.Put(key, []byte(record), partsOf(parts...), newFolder(parts...).get)
	if why := c.Close(); why != "" {
		t.Fatal(why)
	}
}

// misses wants a cache miss and returns the line of Close.
func (s *server) misses(t *testing.T, key string) string {
	t.Helper()
	c := s.cache(t)
	if record, ok := c.Get(t.Context(), key, newFolder().has, newFolder().take); ok {
		t.Errorf("got %q", record)
	}
	return c.Close()
}

func TestCache(t *testing.T) {
	s := serve(t)
	if why := s.misses(t, "k"); why != "" {
		t.Error(why)
	}
	// One part occurs twice, and one is empty.
	s.put(t, "k", "record", "one", "two", "", "one")
	c := s.cache(t)
	into := newFolder("two")
	var taken []string
	record, ok := c.Get(t.Context(), "k", into.has, func(sum fleet.Sum, data []byte) bool {
		into.take(sum, data)
		into.mu.Lock()
		defer into.mu.Unlock()
		taken = append(taken, string(data))
		return true
	})
	if !ok || string(record) != "record" || len(taken) != 2 || !into.has(sha256.Sum256([]byte("one"))) || !into.has(sha256.Sum256(nil)) {
		t.Errorf("got %q, %v with %q", record, ok, taken)
	}
	// Parts that the registry has are not uploaded again: only the record and
	// the manifest are.
	before := s.writes
	s.put(t, "other", "other record", "two", "one")
	if n := s.writes - before; n != 4 {
		t.Errorf("%d requests that write", n)
	}
	// A rejected part is a miss.
	if _, ok := c.Get(t.Context(), "k", newFolder().has, func(fleet.Sum, []byte) bool { return false }); ok {
		t.Error("a hit with a rejected part")
	}
	if why := c.Close(); why != "" {
		t.Error(why)
	}
	// A result with a missing part is dropped; other results are stored.
	c = s.cache(t)
	c.Put("gone", []byte("record"), partsOf("gone"), newFolder().get)
	c.Put("kept", []byte("record"), partsOf("kept"), newFolder("kept").get)
	if why := c.Close(); why != "" {
		t.Error(why)
	}
	s.misses(t, "gone")
	c = s.cache(t)
	if _, ok := c.Get(t.Context(), "kept", newFolder().has, newFolder().take); !ok {
		t.Errorf("the other result is not stored: %s", c.Close())
	}
}

// Several processes may store the same results at the same time.
func TestCacheConcurrently(t *testing.T) {
	s := serve(t)
	var running sync.WaitGroup
	for range 3 {
		c := s.cache(t)
		running.Go(func() {
			for i := range 20 {
				key := fmt.Sprint(i)
				c.Put(key, []byte("record "+key), partsOf("shared", "of "+key), newFolder("shared", "of "+key).get)
				c.Get(t.Context(), key, newFolder().has, newFolder().take)
			}
			if why := c.Close(); why != "" {
				t.Error(why)
			}
		})
	}
	running.Wait()
	c, into := s.cache(t), newFolder()
	for i := range 20 {
		running.Go(func() {
			record, ok := c.Get(t.Context(), fmt.Sprint(i), into.has, into.take)
			if !ok || string(record) != fmt.Sprintf("record %d", i) {
				t.Errorf("%d: %q, %v", i, record, ok)
			}
		})
	}
	running.Wait()
	if len(into.data) != 21 {
		t.Errorf("%d parts", len(into.data))
	}
}

// Credentials that may only read can read; after a refused read there are no
// more reads.
func TestCacheRefused(t *testing.T) {
	s := serve(t)
	s.put(t, "k", "record", "one")
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	refuse := func(w http.ResponseWriter) { http.Error(w, "no", http.StatusForbidden) }
	mayRead := 0
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/"):
			mayRead++
			refuse(w)
		case r.Method == http.MethodPost:
			refuse(w)
		default:
			real.ServeHTTP(w, r)
		}
	})
	c := s.cache(t)
	for range 3 {
		if _, ok := c.Get(t.Context(), "k", newFolder().has, newFolder().take); ok {
			t.Error("a hit without permission to read")
		}
	}
	if mayRead != 1 {
		t.Errorf("it was asked %d times", mayRead)
	}
	for i := range 50 {
		c.Put(fmt.Sprint(i), []byte("record"), nil, newFolder().get)
	}
	if why := c.Close(); !strings.HasSuffix(why, "/example/cache: it does not exist, or these credentials cannot write it; nothing more was pushed") {
		t.Errorf("got %q", why)
	}
	// Some registries answer 403 until the repository exists.
	var there atomic.Bool
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/") && !there.Load() {
			refuse(w)
			return
		}
		real.ServeHTTP(w, r)
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			there.Store(true)
		}
	})
	c = s.cache(t)
	c.Get(t.Context(), "k", newFolder().has, newFolder().take)
	c.Put("k", []byte("record"), nil, newFolder().get)
	c.running.Wait()
	if _, ok := c.Get(t.Context(), "k", newFolder().has, newFolder().take); !ok {
		t.Error("a miss after a push")
	}
	if why := c.Close(); why != "" {
		t.Error(why)
	}
}

// After a failed request there are no more requests; nonsense is a miss.
func TestCacheHostile(t *testing.T) {
	s := serve(t)
	s.put(t, "k", "record", "one")
	var requests atomic.Int64
	counted := func(h http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			if r.URL.Path != "/v2/" {
				h(w, r)
			}
		})
	}
	for name, h := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"broken": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no\x1b[31m", http.StatusTeapot) }, "418"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, "the server closed the connection"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "did not finish within 50ms"},
	} {
		s.handler = counted(h.handler)
		c := s.cache(t)
		if name == "silent" {
			c.limits.get = 50 * time.Millisecond
		}
		for range 3 {
			if _, ok := c.Get(t.Context(), "k", newFolder().has, newFolder().take); ok {
				t.Errorf("%s: it has something", name)
			}
		}
		before := requests.Load()
		c.Put("k", []byte("record"), nil, newFolder().get)
		why, more := c.Close(), requests.Load()-before
		if !strings.Contains(why, h.want) || more != 0 || strings.ContainsAny(why, "\x1b\n") {
			t.Errorf("%s: got %q and %d requests", name, why, more)
		}
	}
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	if why := s.misses(t, "k"); why != "" {
		t.Errorf("nonsense: %s", why)
	}
	// Close waits for running pushes, up to a limit.
	s.handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := s.cache(t)
	c.limits.rest = 50 * time.Millisecond
	c.Put("k", []byte("record"), nil, newFolder().get)
	if why := c.Close(); !strings.Contains(why, "the remaining pushes did not finish within 50ms") {
		t.Errorf("got %q", why)
	}
}

// An artifact of another tool and a damaged one are misses, and the next push
// replaces them.
func TestCacheForeign(t *testing.T) {
	s := serve(t)
	image, err := random.Image(10, 1)
	if err == nil {
		err = remote.Write(s.cache(t).tag("k"), image)
	}
	if err != nil {
		t.Fatal(err)
	}
	if why := s.misses(t, "k"); why != "" {
		t.Error(why)
	}
	s.put(t, "k", "record", "one")
	real := s.Config.Handler
	for name, damage := range map[string]func([]byte) []byte{
		"changed": func(b []byte) []byte { return bytes.ToUpper(b) },
		"longer":  func(b []byte) []byte { return append(b, 'x') },
		"empty":   func([]byte) []byte { return nil },
	} {
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "/blobs/") {
				real.ServeHTTP(w, r)
				return
			}
			_, _ = w.Write(damage([]byte("one")))
		})
		if why := s.misses(t, "k"); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	s.Config.Handler = real
	if _, ok := s.cache(t).Get(t.Context(), "k", newFolder().has, newFolder().take); !ok {
		t.Error("it is a miss when nothing is wrong")
	}
}

func TestParseManifest(t *testing.T) {
	sum := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("a", 64)}
	good := func() *v1.Manifest {
		return &v1.Manifest{
			SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: v1.Descriptor{MediaType: resultType, Digest: sum},
			Layers: []v1.Descriptor{{MediaType: recordType, Digest: sum, Size: 1}, {MediaType: partType, Digest: sum, Size: 2}},
		}
	}
	read := func(m *v1.Manifest) ([]cache.Part, error) {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return parseManifest(data)
	}
	if parts, err := read(good()); err != nil || len(parts) != 2 || parts[1].Size != 2 {
		t.Errorf("%v, %v", parts, err)
	}
	for name, spoil := range map[string]func(*v1.Manifest){
		"another config":   func(m *v1.Manifest) { m.Config.MediaType = configType },
		"no layer":         func(m *v1.Manifest) { m.Layers = nil },
		"no record":        func(m *v1.Manifest) { m.Layers = m.Layers[1:] },
		"two records":      func(m *v1.Manifest) { m.Layers[1].MediaType = recordType },
		"another digest":   func(m *v1.Manifest) { m.Layers[1].Digest.Algorithm = "sha512" },
		"a short digest":   func(m *v1.Manifest) { m.Layers[1].Digest.Hex = "aa" },
		"a negative size":  func(m *v1.Manifest) { m.Layers[1].Size = -1 },
		"a part too large": func(m *v1.Manifest) { m.Layers[1].Size = maxPart + 1 },
		"too many parts":   func(m *v1.Manifest) { m.Layers = append(m.Layers, make([]v1.Descriptor, maxParts)...) },
		"too much altogether": func(m *v1.Manifest) {
			for range maxAnswer / maxPart {
				m.Layers = append(m.Layers, v1.Descriptor{MediaType: partType, Digest: sum, Size: maxPart})
			}
		},
	} {
		m := good()
		spoil(m)
		if parts, err := read(m); err == nil {
			t.Errorf("%s: got %v", name, parts)
		}
	}
	for _, data := range []string{"", "null", "[]", "{}", "hello", `{"layers": 1}`, strings.Repeat(" ", maxManifest+1) + "{}"} {
		if parts, err := parseManifest([]byte(data)); err == nil {
			t.Errorf("%.20q: got %v", data, parts)
		}
	}
}

func TestParseRepository(t *testing.T) {
	if address, err := ParseRepository("oci://127.0.0.1:5000/a/b"); err != nil || address != "oci://127.0.0.1:5000/a/b" {
		t.Errorf("%s, %v", address, err)
	}
	for text, want := range map[string]string{
		"": "does not begin with oci://", "oci://": "has no path", "oci://example.com": "has no path", "oci://example.com/a:1": "has a tag",
		"oci://example.com/A": "its path may have", "oci://u:secret@example.com/a": "has credentials", "oci:///a": "its registry has no host",
		"oci://example.com/" + strings.Repeat("a", 256): "longer than 255",
	} {
		_, err := ParseRepository(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
