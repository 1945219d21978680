package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// The hosts of the documented jobs and their secrets.
const (
	githubHost, githubAPI, githubRegistry = "github.com", "api.github.com", "ghcr.io"
	gitlabHost, gitlabRegistry, plainHost = "gitlab.example.com", "registry.gitlab.example.com", "git.example.com"
	tektonRegistry, chartsHost            = "registry.example.com", "charts.example.com"
	jobToken, clustersToken               = "token-of-the-job", "token-of-the-clusters"
)

// A forge emulates the hosts of the documented jobs: a git server, registries,
// and the comment parts of an API. Programs connect through a proxy with TLS.
type forge struct {
	t     *testing.T
	root  string // contains the repositories of each host
	ca    string // file with the certificate
	proxy string // URL

	mu       sync.Mutex
	private  bool                       // whether the chart host requires a password
	given    map[string][]string        // values of Authorization, by host
	comments []map[string]any           // of the only pull request on GitHub
	notes    []string                   // of the only merge request on GitLab
	pulls    map[string]string          // titles of pull requests, by branch
	images   map[string]map[string]bool // written tags, by host
	releases map[string][]byte          // files of releases of fleetc, by path
}

// newForge starts a forge with empty repositories for clusters.
func newForge(t *testing.T) *forge {
	t.Helper()
	f := &forge{t: t, root: t.TempDir(), given: map[string][]string{}, comments: []map[string]any{}, pulls: map[string]string{}, images: map[string]map[string]bool{}}
	hosts := map[string]http.Handler{
		githubHost: f.withReleases(f.git(githubHost, "x-access-token", clustersToken)), gitlabHost: f.gitlab(),
		plainHost: f.git(plainHost, "ci", clustersToken), githubAPI: f.github(), chartsHost: f.charts(),
	}
	for _, host := range []string{githubRegistry, gitlabRegistry, tektonRegistry} {
		hosts[host] = f.registry(host)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if value := r.Header.Get("Authorization"); value != "" {
			f.mu.Lock()
			f.given[r.Host] = append(f.given[r.Host], value)
			f.mu.Unlock()
		}
		hosts[r.Host].ServeHTTP(w, r)
	}))
	server.TLS = f.certificate(hosts)
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, _ := strings.Cut(r.Host, ":"); r.Method != http.MethodConnect || hosts[host] == nil {
			http.Error(w, "the forge has no "+r.Host, http.StatusBadGateway)
			return
		}
		tunnel(w, server.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	f.proxy = proxy.URL
	return f
}

// tunnel connects the client of a proxy to an address.
func tunnel(w http.ResponseWriter, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	from, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
	_ = from.Close()
}

// certificate returns a certificate for the hosts.
func (f *forge) certificate(hosts map[string]http.Handler) *tls.Config {
	f.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "forge"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for host := range hosts {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	f.ca = filepath.Join(f.root, "ca.pem")
	if err := os.WriteFile(f.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		f.t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// bare creates a repository with the files of a directory.
func (f *forge) bare(host, name, files string) {
	f.t.Helper()
	dir := filepath.Join(f.root, host, name)
	for _, args := range [][]string{
		{"init", "-q", "--bare", "-b", "main", dir},
		{"--git-dir", dir, "config", "http.receivepack", "true"},
		{"--git-dir", dir, "--work-tree", files, "add", "-A", "."},
		{"--git-dir", dir, "--work-tree", files, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "a"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			f.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// git serves the repositories of a host with a password.
func (f *forge) git(host, user, password string) http.Handler {
	f.bare(host, "example/clusters.git", f.t.TempDir())
	return withPassword(f.backend(host), user, password)
}

func (f *forge) backend(host string) http.Handler {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		f.t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + filepath.Join(f.root, host), "GIT_HTTP_EXPORT_ALL=1"},
		Stderr: io.Discard,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, ".git/") { // forges accept both paths
			r.URL.Path = strings.Replace(r.URL.Path, "/clusters/", "/clusters.git/", 1)
		}
		backend.ServeHTTP(w, r)
	})
}

// charts serves chart repositories, with a password if private is set.
func (f *forge) charts() http.Handler {
	f.bare(chartsHost, "charts.git", "../../testdata/charts")
	open := f.backend(chartsHost)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		private := f.private
		f.mu.Unlock()
		if private {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(w, r)
	})
}

// registry serves a registry with a password.
func (f *forge) registry(host string) http.Handler {
	f.images[host] = map[string]bool{}
	serve := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	return withPassword(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before, tag, ok := strings.Cut(r.URL.Path, "/manifests/"); ok && r.Method == http.MethodPut {
			f.mu.Lock()
			f.images[host][strings.TrimPrefix(before, "/v2/")+":"+tag] = true
			f.mu.Unlock()
		}
		serve.ServeHTTP(w, r)
	}), "ann", jobToken)
}

// github implements comments and pull requests of GitHub's API.
func (f *forge) github() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status int, v any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	body := func(r *http.Request) map[string]any {
		var v map[string]any
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			f.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		return v
	}
	handle := func(pattern, token string, serve http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				answer(w, http.StatusUnauthorized, nil)
				return
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			serve(w, r)
		})
	}
	handle("GET /repos/example/fleet/issues/7/comments", jobToken, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, f.comments)
	})
	handle("POST /repos/example/fleet/issues/7/comments", jobToken, func(w http.ResponseWriter, r *http.Request) {
		f.comments = append(f.comments, map[string]any{"id": len(f.comments) + 1, "body": body(r)["body"], "user": map[string]any{"type": "Bot"}})
		answer(w, http.StatusCreated, f.comments[len(f.comments)-1])
	})
	handle("PATCH /repos/example/fleet/issues/comments/{id}", jobToken, func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		f.comments[id-1]["body"] = body(r)["body"]
		answer(w, http.StatusOK, f.comments[id-1])
	})
	handle("POST /repos/example/clusters/pulls", clustersToken, func(w http.ResponseWriter, r *http.Request) {
		pull := body(r)
		head, _ := pull["head"].(string)
		title, _ := pull["title"].(string)
		switch {
		case head == "" || title == "" || pull["base"] != "main":
			answer(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed"})
		case f.pulls[head] != "":
			answer(w, http.StatusUnprocessableEntity, map[string]any{"errors": []any{map[string]any{"message": "A pull request already exists for example:" + head + "."}}})
		default:
			f.pulls[head] = title
			answer(w, http.StatusCreated, map[string]any{"number": len(f.pulls)})
		}
	})
	return mux
}

// gitlab serves repositories and implements notes of GitLab's API.
func (f *forge) gitlab() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", f.git(gitlabHost, "ci", clustersToken))
	handle := func(pattern string, serve http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("PRIVATE-TOKEN") != jobToken {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			serve(w, r)
		})
	}
	const notes = "/api/v4/projects/42/merge_requests/7/notes"
	handle("GET "+notes, func(w http.ResponseWriter, _ *http.Request) {
		list := []map[string]any{}
		for i, body := range f.notes {
			list = append(list, map[string]any{"id": i + 1, "body": body})
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	handle("POST "+notes, func(w http.ResponseWriter, r *http.Request) {
		f.notes = append(f.notes, r.PostFormValue("body"))
		w.WriteHeader(http.StatusCreated)
	})
	handle("PUT "+notes+"/{id}", func(_ http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		f.notes[id-1] = r.PostFormValue("body")
	})
	return mux
}

// withReleases serves the files of releases of fleetc, and everything else from
// another handler.
func (f *forge) withReleases(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		file, ok := f.releases[r.URL.Path]
		f.mu.Unlock()
		switch {
		case ok:
			_, _ = w.Write(file)
		case strings.HasPrefix(r.URL.Path, "/fleetc/fleetc/releases/"):
			http.NotFound(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
