package gitops

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Servers serve the sources of Flux on one port of 127.0.0.1: git repositories
// below /git, a registry in memory at the top, and the files of a directory
// below /charts.
type Servers struct {
	URL    string // http://127.0.0.1:…
	Host   string // 127.0.0.1:…, for references to images
	Charts string // directory of the files below /charts

	dir    string
	server *http.Server
}

// Serve starts the servers. They store their data in the directory, which must
// be empty.
func Serve(ctx context.Context, dir string) (*Servers, error) {
	s := &Servers{dir: dir, Charts: filepath.Join(dir, "charts")}
	for _, d := range []string{s.Charts, s.repositories()} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	programs, err := s.git(ctx, "--exec-path")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	mux.Handle("/charts/", http.StripPrefix("/charts", http.FileServer(http.Dir(s.Charts))))
	mux.Handle("/git/", &cgi.Handler{
		Path:   filepath.Join(programs, "git-http-backend"),
		Root:   "/git",
		Env:    []string{"GIT_PROJECT_ROOT=" + s.repositories(), "GIT_HTTP_EXPORT_ALL=1"},
		Stderr: io.Discard,
	})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.Host = l.Addr().String()
	s.URL = "http://" + s.Host
	s.server = &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0)}
	go s.server.Serve(l) // until Close
	return s, nil
}

// Close stops the servers.
func (s *Servers) Close() error { return s.server.Close() }

func (s *Servers) repositories() string { return filepath.Join(s.dir, "git") }

// Repository makes an empty git repository that accepts pushes from everybody,
// and returns its URL.
func (s *Servers) Repository(ctx context.Context, name string) (url string, err error) {
	name += ".git"
	dir := filepath.Join(s.repositories(), name)
	if _, err := s.git(ctx, "init", "-q", "--bare", "-b", "main", dir); err != nil {
		return "", err
	}
	if _, err := s.git(ctx, "-C", dir, "config", "http.receivepack", "true"); err != nil {
		return "", err
	}
	return s.URL + "/git/" + name, nil
}

// git runs git and returns its output.
func (s *Servers) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(os.Environ(), Git...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, complaints.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// Git is an environment for git without the user's name and configuration.
var Git = []string{
	"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
	"GIT_AUTHOR_NAME=fleet", "GIT_AUTHOR_EMAIL=fleet@example.com", "GIT_COMMITTER_NAME=fleet", "GIT_COMMITTER_EMAIL=fleet@example.com",
}
