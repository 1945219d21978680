package export

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A registryServer is a registry for tests.
type registryServer struct {
	*httptest.Server
	registry http.Handler
	handler  http.Handler // replaces the registry when it is set
	mu       sync.Mutex
	writes   int // requests that change something
}

func serveRegistry(t *testing.T) *registryServer {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	s := &registryServer{registry: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			s.mu.Lock()
			s.writes++
			s.mu.Unlock()
		}
		if s.handler != nil {
			s.handler.ServeHTTP(w, r)
			return
		}
		s.registry.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *registryServer) host() string { return strings.TrimPrefix(s.URL, "http://") }

func (s *registryServer) client(t *testing.T, tag string) *RegistryClient {
	t.Helper()
	target, err := ParseTarget("oci://" + s.host() + "/example/clusters:" + tag)
	if err != nil {
		t.Fatal(err)
	}
	return NewRegistryClient(target)
}

func testBundle() map[string][]byte {
	return map[string][]byte{
		"bundle.json": []byte("{}\n"), "web/deployment-web.yaml": []byte("kind: Deployment\n"),
		"web/" + strings.Repeat("n", 199) + ".yaml": []byte("kind: Long\n"), "empty/x.yaml": {},
	}
}

func pack(t *testing.T, files map[string][]byte, p Provenance) *Artifact {
	t.Helper()
	p.Fleet, p.Cluster, p.Digest = "example.com/fleet", "prod/eu-1", "sha256:1"
	a, err := PackArtifact(files, p, filepath.Join(t.TempDir(), "layer"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOCIPush(t *testing.T) {
	s := serveRegistry(t)
	c := s.client(t, "main")
	checked, err := c.Push(t.Context(), pack(t, testBundle(), Provenance{}), true)
	if err != nil || checked.State != PushChanged || s.writes > 0 {
		t.Fatalf("%+v, %v, %d writes", checked, err, s.writes)
	}
	first, err := c.Push(t.Context(), pack(t, testBundle(), Provenance{}), false)
	address := "oci://" + s.host() + "/example/clusters/prod/eu-1"
	want := PushResult{"prod/eu-1", address + ":main", first.Digest, address + "@" + first.Digest, PushChanged}
	if err != nil || first != want || first != checked {
		t.Fatalf("%+v, %v, want %+v", first, err, want)
	}
	// The digest is stable across machines and versions.
	if first.Digest != "sha256:17f1a2f68b1460eed21aa50486fcdc866a140fd65a0a466c52307f0c40e4b525" {
		t.Errorf("the digest is %s", first.Digest)
	}
	writes := s.writes
	for _, check := range []bool{true, false} {
		again, err := c.Push(t.Context(), pack(t, testBundle(), Provenance{}), check)
		first.State = PushUnchanged
		if err != nil || again != first || s.writes != writes {
			t.Errorf("%+v, %v, %d writes", again, err, s.writes-writes)
		}
	}
	files, err := c.Files(t.Context(), "prod/eu-1")
	if err != nil || !maps.EqualFunc(files, testBundle(), bytes.Equal) {
		t.Errorf("got %q, %v", files, err)
	}
	// Another client reads what Flux looks for.
	ref, err := name.ParseReference(strings.TrimPrefix(first.Tag, "oci://"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	m, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.MediaType != "application/vnd.oci.image.manifest.v1+json" || m.Config.MediaType != configType || len(m.Layers) != 1 || m.Layers[0].MediaType != layerType {
		t.Errorf("the manifest is %+v", m)
	}
	if fmt.Sprint(m.Annotations) != "map[fleetc.dev/cluster:prod/eu-1 fleetc.dev/digest:sha256:1 fleetc.dev/fleet:example.com/fleet]" {
		t.Errorf("the annotations are %v", m.Annotations)
	}
	other := testBundle()
	other["bundle.json"] = []byte("{ }\n")
	if p, err := c.Push(t.Context(), pack(t, other, Provenance{}), false); err != nil || p.State != PushChanged || p.Digest == first.Digest {
		t.Errorf("%+v, %v", p, err)
	}
	if none, err := c.Files(t.Context(), "dev"); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

// A registry may limit each request of a push, and says when to repeat it.
func TestPushRetryAfter(t *testing.T) {
	s := serveRegistry(t)
	var mu sync.Mutex
	rejected := map[string]int{}
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		request := r.Method + " " + r.URL.Path
		if rejected[request] < 5 {
			rejected[request]++
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		s.registry.ServeHTTP(w, r)
	})
	c := s.client(t, "main")
	if p, err := c.Push(t.Context(), pack(t, testBundle(), Provenance{}), false); err != nil || p.State != PushChanged {
		t.Fatalf("%+v, %v", p, err)
	}
	if len(rejected) < 8 {
		t.Errorf("limited only %v", rejected)
	}
	if files, err := c.Files(t.Context(), "prod/eu-1"); err != nil || !maps.EqualFunc(files, testBundle(), bytes.Equal) {
		t.Errorf("got %q, %v", files, err)
	}
}

// Source and revision belong to the push that changed the content.
func TestRevision(t *testing.T) {
	s := serveRegistry(t)
	c := s.client(t, "main")
	push := func(files map[string][]byte, p Provenance) PushResult {
		t.Helper()
		pushed, err := c.Push(t.Context(), pack(t, files, p), false)
		if err != nil {
			t.Fatal(err)
		}
		return pushed
	}
	first := push(testBundle(), Provenance{Source: "https://example.com/a", Revision: "main@sha1:1"})
	second := push(testBundle(), Provenance{Source: "https://example.com/b", Revision: "main@sha1:2"})
	if first.State = PushUnchanged; second != first {
		t.Errorf("%+v, want %+v", second, first)
	}
	other := testBundle()
	other["bundle.json"] = []byte("{ }\n")
	if third := push(other, Provenance{Revision: "main@sha1:3"}); third.State != PushChanged {
		t.Error("a change was not pushed")
	}
	ref, err := name.ParseReference(s.host() + "/example/clusters/prod/eu-1:main")
	if err != nil {
		t.Fatal(err)
	}
	// An artifact of another tool does not prevent a push.
	image, err := random.Image(10, 1)
	if err == nil {
		err = remote.Write(ref, image)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Files(t.Context(), "prod/eu-1"); err == nil || !strings.Contains(err.Error(), "is not an artifact of fleetc") {
		t.Errorf("got %v", err)
	}
	if p := push(other, Provenance{Revision: "main@sha1:4"}); p.State != PushChanged {
		t.Error("nothing was pushed")
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"oci://example.com/a:1", "oci://example.com:5000/a/b-c/d_e.f:v1.2", "oci://127.0.0.1:5000/a:main"} {
		if _, err := ParseTarget(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"": "does not begin with oci://", "https://example.com/a:1": "does not begin with oci://", "oci://": "has no path", "oci://example.com/a": "has no tag",
		"oci://example.com:5000/a": "has no tag", "oci://example.com/A:1": "its path may have", "oci://example.com/a//b:1": "its path may have", "oci://example.com/../a:1": "its path may have",
		"oci://example.com/a:1/b": "its tag may have", "oci://example.com/a:": "its tag may have", "oci://example.com/a:-x": "its tag may have", "oci://example.com/a@sha256:1": "it has a digest instead of a tag",
		"oci://u:secret@example.com/a:1": "has credentials", "oci:///a:1": "its registry has no host", "oci://a b/a:1": "its registry has no host",
	} {
		_, err := ParseTarget(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	c := NewRegistryClient(RegistryTarget{"example.com", "a", "1"})
	for _, cluster := range []string{"prod/eu-1", "Prod/EU-1"} {
		if got, err := c.target.repository(cluster); err != nil || got != "oci://example.com/a/prod/eu-1" {
			t.Errorf("%s: got %s, %v", cluster, got, err)
		}
	}
	for cluster, want := range map[string]string{"prod/eu..1": "separated by single dots", "prod/-a": "separated by single dots", strings.Repeat("a", 300): "longer than 255"} {
		if err := c.Check(cluster); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", cluster, err)
		}
	}
}

// Credentials come from docker login.
func TestOCICredentials(t *testing.T) {
	s := serveRegistry(t)
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != "ann" || p != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		real.ServeHTTP(w, r)
	})
	c := s.client(t, "main")
	a := pack(t, testBundle(), Provenance{})
	_, err := c.Push(t.Context(), a, false)
	d := diag.All(err)
	if len(d) != 1 || !strings.Contains(d[0].Msg, "these credentials cannot write it") || d[0].Hint != "check the address, then run docker login "+s.host() {
		t.Errorf("got %v", err)
	}
	if _, err := c.Files(t.Context(), "prod/eu-1"); err == nil || !strings.Contains(err.Error(), "these credentials cannot read it") {
		t.Errorf("an unreadable artifact counts as missing: %v", err)
	}
	config := `{"auths": {"` + s.host() + `": {"username": "ann", "password": "secret"}}}`
	if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := c.Push(t.Context(), a, false); err != nil || p.State != PushChanged {
		t.Errorf("%+v, %v", p, err)
	}
}

// A registry that fails, answers nonsense or does not answer.
func TestHostile(t *testing.T) {
	s := serveRegistry(t)
	c := s.client(t, "main")
	a := pack(t, testBundle(), Provenance{Revision: "1"})
	for name, handler := range map[string]http.HandlerFunc{
		"broken":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no\x1b[31m", http.StatusTeapot) },
		"nonsense": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"null": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			_, _ = io.WriteString(w, "null")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.handler = handler
			for _, work := range []func() error{
				func() error { _, err := c.Push(t.Context(), a, false); return err },
				func() error { _, err := c.Files(t.Context(), "prod/eu-1"); return err },
			} {
				if err := work(); len(diag.All(err)) != 1 || !strings.Contains(err.Error(), s.host()) || strings.ContainsRune(err.Error(), 0x1b) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	s.handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Push(ctx, a, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestUnpack(t *testing.T) {
	pack := func(headers ...tar.Header) []byte {
		var out bytes.Buffer
		zipped := gzip.NewWriter(&out)
		w := tar.NewWriter(zipped)
		for _, hd := range headers {
			if err := w.WriteHeader(&hd); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), zipped.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if files, err := unpack(bytes.NewReader(pack(tar.Header{Typeflag: tar.TypeReg, Name: "a/b"}))); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	for _, blob := range [][]byte{
		nil, []byte("hello"), pack(tar.Header{Typeflag: tar.TypeReg, Name: "../a"}), pack(tar.Header{Typeflag: tar.TypeReg, Name: "/a"}),
		pack(tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc"}), pack(tar.Header{Typeflag: tar.TypeDir, Name: "a/"}),
	} {
		if files, err := unpack(bytes.NewReader(blob)); err == nil {
			t.Errorf("%v was read", files)
		}
	}
}
