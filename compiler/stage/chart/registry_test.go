package chart

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

func TestLimits(t *testing.T) {
	l := newLimited(http.NewFileTransport(http.Dir(t.TempDir())), 3)
	resp, err := l.RoundTrip(httptest.NewRequest(http.MethodGet, "file:///missing", nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("a body beyond the limit was read")
	}
	l.requests.Store(0)
	if _, err := l.RoundTrip(httptest.NewRequest(http.MethodGet, "file:///missing", nil)); err == nil {
		t.Error("a request beyond the limit was sent")
	}
}

// Local registries use plain HTTP, others HTTPS.
func TestOpen(t *testing.T) {
	for at, scheme := range map[string]string{"oci://127.0.0.1:5000/a": "http", "oci://localhost:5000/a": "http", "oci://example.com/a": "https", "oci://example.com:5000/a/b": "https"} {
		repo, _, err := OpenRegistry(t.Context(), at, RegistryTransport(), 1)
		if err != nil || repo.Scheme() != scheme {
			t.Errorf("%s: %s, %v", at, repo.Scheme(), err)
		}
	}
	for _, at := range []string{"oci://", "oci://a", "oci://example.com/A", "oci://example.com/a:b"} {
		if _, _, err := OpenRegistry(t.Context(), at, RegistryTransport(), 1); err == nil {
			t.Errorf("%s is no repository", at)
		}
	}
}

func TestFault(t *testing.T) {
	const at = "oci://example.com/a:1"
	for status, want := range map[int]string{401: "these credentials cannot write it", 403: "it does not exist, or", 404: "is not in the registry", 500: "500"} {
		err := RegistryFault(at, "write", &transport.Error{StatusCode: status})
		if !strings.HasPrefix(err.Error(), at) || !strings.Contains(err.Error(), want) || errors.Is(err, ErrNotInRegistry) != (status == 404) {
			t.Errorf("%d: %v", status, err)
		}
	}
	err := RegistryFault(at, "read", &url.Error{Op: "Get", URL: "https://example.com/?token=secret", Err: errors.New("no\nroute")})
	if strings.Contains(err.Error(), "secret") || strings.ContainsAny(diag.All(err)[0].Msg, "\n") {
		t.Errorf("got %v", err)
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, &url.Error{Op: "Get", URL: "https://example.com", Err: io.EOF}} {
		if got := RegistryFault(at, "read", err).Error(); !strings.Contains(got, "the server closed the connection") {
			t.Errorf("got %s", got)
		}
	}
}

// An endless answer is cut off.
func TestEndless(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	repo, options, err := OpenRegistry(t.Context(), strings.Replace(server.URL, "http://", OCIScheme, 1)+"/a", RegistryTransport(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Get(repo.Tag("v1"), options...); err == nil {
		t.Error("an endless answer was read")
	}
}
