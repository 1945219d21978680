package chart

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBasicAuth(t *testing.T) {
	repo := newRepo(t, archive(t, "web", "1.0.0"))
	repo.user, repo.password = "me", "hunter2"
	for name, c := range map[string]struct{ password, url, want string }{
		"right":         {"hunter2", repo.url(), ""},
		"slash":         {"hunter2", repo.url() + "/", ""},
		"wrong":         {"hunter3", repo.url(), "the server answered 401 Unauthorized"},
		"another one's": {"hunter2", repo.url() + "/sub", "the server answered 401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t)
			writeConfig(t, fmt.Sprintf("repositories:\n- {name: mine, url: %q, username: me, password: %q}\n", c.url, c.password))
			_, err := s.Chart(t.Context(), repo.pin(t, "web", "1.0.0"))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantFault(t, err, c.want, "check the user and password")
			if strings.Contains(err.Error(), "hunter") {
				t.Errorf("a secret in %v", err)
			}
		})
	}
}

// TestCredentialsStayWithTheirHost includes another port, to which net/http alone
// would send the header.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	for name, c := range map[string]struct {
		all      bool
		redirect bool
	}{
		"redirect": {redirect: true}, "index": {}, "redirect, all": {all: true, redirect: true}, "index, all": {all: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t)
			data := archive(t, "web", "1.0.0")
			repo, cdn := newRepo(t, data), newRepo(t, data)
			if c.all {
				cdn.user, cdn.password = "me", "hunter2"
			}
			repo.user, repo.password = "me", "hunter2"
			if c.redirect {
				repo.moved["/web-1.0.0.tgz"] = cdn.url() + "/web-1.0.0.tgz"
			} else {
				repo.replace("index.yaml", []byte(`{"entries": {"web": [{"version": "1.0.0", "urls": ["`+cdn.url()+`/web-1.0.0.tgz"]}]}}`))
			}
			writeConfig(t, fmt.Sprintf("repositories:\n- {name: mine, url: %q, username: me, password: hunter2, pass_credentials_all: %t}\n", repo.url(), c.all))
			if _, err := s.Resolve(t.Context(), Request{Ref: "mine/web"}); err != nil {
				t.Fatal(err)
			}
			if len(cdn.asked) != 1 {
				t.Fatalf("%d requests to the other host, want 1", len(cdn.asked))
			}
			if got := cdn.asked[0].Header.Get("Authorization") != ""; got != c.all {
				t.Errorf("credentials sent to the other host: %t, want %t", got, c.all)
			}
			if referer := cdn.asked[0].Referer(); referer != "" {
				t.Errorf("the other host learns of %s", referer)
			}
		})
	}
}

func TestRedirectsEnd(t *testing.T) {
	s := source(t)
	repo := newRepo(t)
	repo.moved["/index.yaml"] = "/index.yaml"
	_, err := s.Resolve(t.Context(), Request{Ref: repo.url() + "/web"})
	wantFault(t, err, "more than 5 redirects")
	for scheme, want := range map[string]string{"ftp": "a redirect to ftp", "http": ""} {
		req := httptest.NewRequest(http.MethodGet, scheme+"://127.0.0.1/", nil)
		err := checkRedirect(req, []*http.Request{httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)})
		if got := fmt.Sprint(err); want != "" && !strings.Contains(got, want) || want == "" && err != nil {
			t.Errorf("%s: got %v", scheme, err)
		}
	}
	req := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	if err := checkRedirect(req, []*http.Request{httptest.NewRequest(http.MethodGet, "https://127.0.0.1/", nil)}); err == nil {
		t.Error("a redirect from https to http is followed")
	}
}

func TestTLS(t *testing.T) {
	data := archive(t, "web", "1.0.0")
	repo := newRepo(t, data)
	server := httptest.NewUnstartedServer(repo)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	own := server.TLS.Certificates[0]
	key, err := tlsKey(own)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})
	write(t, dir, map[string]string{"cert.pem": string(cert), "key.pem": string(key), "bad.pem": "nothing"})
	for name, c := range map[string]struct{ config, want string }{
		"all":         {"caFile: DIR/cert.pem, certFile: DIR/cert.pem, keyFile: DIR/key.pem", ""},
		"insecure":    {"insecure_skip_tls_verify: true, certFile: DIR/cert.pem, keyFile: DIR/key.pem", ""},
		"no client":   {"caFile: DIR/cert.pem", "certificate required"},
		"unknown":     {"certFile: DIR/cert.pem, keyFile: DIR/key.pem", "certificate"},
		"no CA in it": {"caFile: DIR/bad.pem", "contains no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t)
			config := strings.ReplaceAll(c.config, "DIR", filepath.ToSlash(dir))
			writeConfig(t, fmt.Sprintf("repositories:\n- {name: mine, url: %q, %s}\n", server.URL, config))
			_, err := s.Resolve(t.Context(), Request{Ref: "mine/web"})
			if c.want != "" {
				wantFault(t, err, c.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRepositoriesFile(t *testing.T) {
	s := source(t)
	writeConfig(t, "repositories:\n- password: hunter2\n  name: {}\n  url: [\n")
	_, err := s.Resolve(t.Context(), Request{Ref: "mine/web"})
	wantFault(t, err, os.Getenv("HELM_REPOSITORY_CONFIG"), "run helm repo list")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret in %v", err)
	}
	// Without variables, the source reads Helm's default path.
	s = source(t)
	writeConfig(t, "repositories:\n- {name: mine, url: 'ftp://example.com'}\n")
	t.Setenv("HELM_REPOSITORY_CONFIG", "")
	_, err = s.Resolve(t.Context(), Request{Ref: "mine/web"})
	wantFault(t, err, `the scheme "ftp"`)
}

func tlsKey(c tls.Certificate) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// TestCredentialsNeedEncryption checks that pass_credentials_all does not send the
// credentials of an https repository over http.
func TestCredentialsNeedEncryption(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer server.Close()
	for origin, want := range map[string]bool{"https://charts.example.com": false, "http://charts.example.com": true} {
		from, err := url.Parse(origin)
		if err != nil {
			t.Fatal(err)
		}
		c := &credentials{repository{Username: "me", Password: "hunter2", PassAll: true}, from, http.DefaultTransport, http.DefaultTransport}
		resp, err := (&http.Client{Transport: c}).Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if (got != "") != want {
			t.Errorf("from %s to http: Authorization is %q", origin, got)
		}
	}
}
