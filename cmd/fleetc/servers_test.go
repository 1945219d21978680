package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/rogpeppe/go-internal/testscript"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/repo"
)

type serversKey struct{}

// servers are the servers of one script, by the variable with their URL.
type servers map[string]*server

// A server records requests.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int // number of requests to a registry, by method and kind
}

// cmdServe starts a real server on loopback and puts its URL into a variable:
//
//	serve http REPO DIR [USER PASSWORD]   a Helm repository of the charts in DIR
//	serve https FILES DIR                 the files in DIR, with a certificate that is trusted
//	serve oci REGISTRY DIR [USER PASSWORD] a registry with the charts in DIR below /charts
//	serve git GIT DIR [USER PASSWORD]      a git server with the files of DIR in fleet.git, tagged v1.0.0
//
// With - for DIR, the registry or fleet.git is empty. The repository is
// $WORK/gitroot/fleet.git; the password allows pushes.
//
// Packaged charts of http are also in $WORK/packaged, where a script can
// replace them.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 5 {
		ts.Fatalf("usage: serve http|https|oci|git VARIABLE DIR [USER PASSWORD]")
	}
	kind, variable, dir := args[0], args[1], ts.MkAbs(args[2])
	var user, password string
	if len(args) == 5 {
		user, password = args[3], args[4]
	}
	var handler http.Handler
	switch kind {
	case "http":
		packaged := ts.MkAbs("packaged")
		ts.Check(packageCharts(dir, packaged))
		handler = http.FileServer(http.Dir(packaged))
	case "https":
		handler = http.FileServer(http.Dir(dir))
	case "oci":
		handler = registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	case "git":
		handler = gitHandler(ts, dir, args[2] == "-")
	default:
		ts.Fatalf("no server %q", kind)
	}
	if user != "" {
		handler = withPassword(handler, user, password)
	}
	server := &server{asked: map[string]int{}}
	if kind == "https" {
		server.Server = httptest.NewTLSServer(server.note(handler))
		file := ts.MkAbs("trusted.pem")
		ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644))
		ts.Setenv("SSL_CERT_FILE", file)
	} else {
		server.Server = httptest.NewServer(server.note(handler))
	}
	ts.Defer(server.Close)
	(*ts.Value(serversKey{}).(*servers))[variable] = server
	ts.Setenv(variable, server.URL)
	if kind == "oci" {
		host := strings.TrimPrefix(server.URL, "http://")
		ts.Setenv(variable, host)
		if args[2] != "-" {
			ts.Check(pushCharts(dir, host, user, password))
		}
	}
}

// note records requests to a registry.
func (s *server) note(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &statusWriter{w, http.StatusOK}
		next.ServeHTTP(answer, r)
		for _, kind := range []string{"manifests", "blobs"} {
			if strings.Contains(r.URL.Path, "/"+kind+"/") && answer.status < 300 {
				s.mu.Lock()
				s.asked[r.Method+" "+kind]++
				s.mu.Unlock()
			}
		}
	})
}

// A statusWriter records the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// serverOf returns the server of a variable.
func serverOf(ts *testscript.TestScript, variable string) *server {
	server := (*ts.Value(serversKey{}).(*servers))[variable]
	if server == nil {
		ts.Fatalf("no server is called %s", variable)
	}
	return server
}

// cmdShut stops a server: shut VARIABLE. (stop is a command of testscript,
// which ends the script.).
func cmdShut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shut VARIABLE")
	}
	serverOf(ts, args[0]).Close()
}

// cmdAsked prints how many manifests and blobs of a registry were read and
// written since the last call: asked VARIABLE.
func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked VARIABLE")
	}
	s := serverOf(ts, args[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, what := range []string{"GET manifests", "PUT manifests", "GET blobs", "PUT blobs"} {
		_, err := fmt.Fprintf(ts.Stdout(), "%s: %d\n", what, s.asked[what])
		ts.Check(err)
	}
	clear(s.asked)
}

func withPassword(next http.Handler, user, password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// packageCharts packages every chart below dir and writes the index.
func packageCharts(dir, into string) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	_, err := eachChart(dir, func(c *chart.Chart) error {
		_, err := chartutil.Save(c, into)
		return err
	})
	if err != nil {
		return err
	}
	index, err := repo.IndexDirectory(into, "")
	if err != nil {
		return err
	}
	index.SortEntries()
	return index.WriteFile(filepath.Join(into, "index.yaml"), 0o644)
}

func eachChart(dir string, f func(*chart.Chart) error) (int, error) {
	entries, err := filepath.Glob(filepath.Join(dir, "*", "Chart.yaml"))
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		c, err := loader.Load(filepath.Dir(e))
		if err != nil {
			return 0, err
		}
		if err := f(c); err != nil {
			return 0, err
		}
	}
	if len(entries) == 0 {
		return 0, fmt.Errorf("no charts in %s", dir)
	}
	return len(entries), nil
}

// pushCharts pushes every chart below dir as helm push does.
func pushCharts(dir, host, user, password string) error {
	temp, err := os.MkdirTemp("", "push")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	_, err = eachChart(dir, func(c *chart.Chart) error {
		file, err := chartutil.Save(c, temp)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		tag, err := name.NewTag(host + "/charts/" + c.Name() + ":" + strings.ReplaceAll(c.Metadata.Version, "+", "_"))
		if err != nil {
			return err
		}
		img, err := chartImage(data)
		if err != nil {
			return err
		}
		auth := authn.Anonymous
		if user != "" {
			auth = authn.FromConfig(authn.AuthConfig{Username: user, Password: password})
		}
		return remote.Write(tag, img, remote.WithAuth(auth))
	})
	return err
}

// chartImage returns a chart's archive in the form of a registry.
func chartImage(archive []byte) (v1.Image, error) {
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, "application/vnd.cncf.helm.config.v1+json")
	return mutate.AppendLayers(img, static.NewLayer(archive, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
}

// gitHandler creates a repository of the directory and serves it with git.
func gitHandler(ts *testscript.TestScript, dir string, empty bool) http.Handler {
	root := ts.MkAbs("gitroot")
	bare := filepath.Join(root, "fleet.git")
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "HOME="+root, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
			"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
		out, err := cmd.CombinedOutput()
		if err != nil {
			ts.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(bytes.TrimSpace(out))
	}
	ts.Check(os.MkdirAll(root, 0o755))
	git("init", "-q", "--bare", "-b", "main", bare)
	git("--git-dir", bare, "config", "http.receivepack", "true")
	if !empty {
		git("--git-dir", bare, "--work-tree", dir, "add", "-A", ".")
		git("--git-dir", bare, "--work-tree", dir, "commit", "-q", "-m", "charts")
		git("--git-dir", bare, "tag", "v1.0.0")
		ts.Setenv("COMMIT", git("--git-dir", bare, "rev-parse", "HEAD"))
	}
	return &cgi.Handler{
		Path:   filepath.Join(git("--exec-path"), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
		Stderr: io.Discard,
	}
}
