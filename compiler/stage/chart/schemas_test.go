package chart

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestSchemasAreFetchedSafely has a chart that references forbidden URLs.
func TestSchemasAreFetchedSafely(t *testing.T) {
	var credentials []string
	mux := http.NewServeMux()
	mux.HandleFunc("/ok.json", func(w http.ResponseWriter, r *http.Request) {
		credentials = append(credentials, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{}`))
	})
	mux.HandleFunc("/text.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("text")) })
	mux.HandleFunc("/large.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat(" ", maxSchema) + "{}"))
	})
	plain := httptest.NewServer(mux)
	defer plain.Close()
	mux.Handle("/down.json", http.RedirectHandler(plain.URL+"/ok.json", http.StatusFound))
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	other := httptest.NewTLSServer(mux)
	defer other.Close()

	config := filepath.Join(t.TempDir(), "repositories.yaml")
	t.Setenv("HELM_REPOSITORY_CONFIG", config)
	known := "repositories:\n- {name: a, url: " + server.URL + ", username: u, password: p}\n"
	if err := os.WriteFile(config, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Source{Cache: t.TempDir()}
	trusted := server.Client().Transport.(*http.Transport).Clone()
	s.transportOnce.Do(func() { s.transport = trusted })
	ref := fleet.ChartRef{Repo: server.URL, Name: "app", Version: "1.0.0", Digest: "sha256:" + strings.Repeat("0", 64)}

	for at, want := range map[string]string{
		other.URL + "/ok.json":    "",
		server.URL + "/text.json": "is not JSON",
		other.URL + "/large.json": "is larger than 16 MiB",
		server.URL + "/down.json": "a redirect from https to http",
		plain.URL + "/ok.json":    `fleetc fetches schemas only from URLs that begin with https://`,
		"file:///etc/passwd":      `fleetc fetches schemas only from URLs that begin with https://`,
		strings.Replace(server.URL, "https://", "https://u:p@", 1) + "/ok.json": "credentials",
		server.URL + "/ok.json?token=1":                                         "query",
	} {
		pinned, left, err := s.PinSchemas(context.Background(), ref, []string{at}, nil)
		switch {
		case want == "" && (err != nil || pinned.Schemas == ""):
			t.Errorf("%s: %v", at, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || pinned.Schemas != "" || len(left) != 1):
			t.Errorf("%s: %v, want %q", at, err, want)
		}
	}
	if len(credentials) != 1 || credentials[0] != "" {
		t.Errorf("another host got the credentials of the repository: %q", credentials)
	}
	pinned, _, err := s.PinSchemas(context.Background(), ref, []string{server.URL + "/ok.json"}, nil)
	if err != nil || len(credentials) != 2 || credentials[1] == "" {
		t.Errorf("the repository of the chart did not get its credentials: %v, %q", err, credentials)
	}
	changed := pinned
	changed.Schemas = fleet.Digests(server.URL + "/ok.json sha256:" + strings.Repeat("1", 64) + "\n")
	if _, err := s.schemas(context.Background(), changed); err == nil || !strings.Contains(err.Error(), "the pin of app says") && !strings.Contains(err.Error(), "has the digest") {
		t.Errorf("a document with another digest: %v", err)
	}
	s.Offline = true
	if _, err := s.schemas(context.Background(), pinned); err != nil {
		t.Errorf("the store: %v", err)
	}
}
