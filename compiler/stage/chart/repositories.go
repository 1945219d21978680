package chart

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/helmpath"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A repository is an entry of Helm's repositories.yaml. Helm's own type would import
// all of Helm's client.
type repository struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Username string `json:"username"`
	Password string `json:"password"`
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
	CAFile   string `json:"caFile"`
	Insecure bool   `json:"insecure_skip_tls_verify"`
	PassAll  bool   `json:"pass_credentials_all"`
}

// repositories returns the entries of Helm's repositories.yaml, or none when the
// file does not exist.
func (s *Source) repositories(ctx context.Context) ([]repository, error) {
	file := cmp.Or(os.Getenv("HELM_REPOSITORY_CONFIG"), helmpath.ConfigPath("repositories.yaml"))
	return s.helm.do(ctx, file, func() ([]repository, error) {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read helm's repositories: %w", err)
		}
		var list struct {
			Repositories []repository `json:"repositories"`
		}
		if err := yaml.Unmarshal(text, &list); err != nil {
			// The error may quote the file, which contains passwords.
			return nil, fault(diag.CodeChartReference, "run helm repo list", "%s is not in the format that helm repo add writes", file)
		}
		return list.Repositories, nil
	})
}

// client returns an HTTP client for a repository with the credentials from Helm's
// configuration. All requests to a repository share it, and the limit of its waits.
func (s *Source) client(ctx context.Context, repo string) (*http.Client, error) {
	return s.clients.do(ctx, repo, func() (*http.Client, error) { return s.newClient(ctx, repo) })
}

func (s *Source) newClient(ctx context.Context, repo string) (*http.Client, error) {
	known, err := s.repositories(ctx)
	if err != nil {
		return nil, err
	}
	origin, err := url.Parse(repo)
	if err != nil {
		return nil, err
	}
	t := &credentials{repository: repository{URL: repo}, origin: origin, other: s.plain()}
	for _, r := range known {
		if sameRepo(r.URL, origin) {
			t.repository = r
			break
		}
	}
	t.own = t.other
	config, err := t.tls()
	if err != nil {
		return nil, err
	}
	if config != nil {
		own := s.plain().Clone()
		own.TLSClientConfig = config
		t.own = own
	}
	return &http.Client{Transport: retryingTransport(t), CheckRedirect: checkRedirect}, nil
}

// sameRepo reports whether a URL of repositories.yaml names the repository.
func sameRepo(raw string, repo *url.URL) bool {
	u, err := url.Parse(raw)
	return err == nil && sameOrigin(u, repo) && strings.TrimRight(u.Path, "/") == strings.TrimRight(repo.Path, "/")
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// tls returns the TLS configuration of a repository, or nil for the default.
func (r repository) tls() (*tls.Config, error) {
	if r.CertFile == "" && r.KeyFile == "" && r.CAFile == "" && !r.Insecure {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: r.Insecure}
	if r.CertFile != "" || r.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate of helm's repository %s: %w", r.Name, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if r.CAFile != "" {
		text, err := os.ReadFile(r.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificate authority of helm's repository %s: %w", r.Name, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fault(diag.CodeFileSystem, "", "%s contains no certificate (the caFile of helm's repository %s)", r.CAFile, r.Name)
		}
	}
	return config, nil
}

// plain returns the transport for hosts without configuration.
func (s *Source) plain() *http.Transport {
	s.transportOnce.Do(func() {
		s.transport = RegistryTransport()
		s.waiting = WaitingTransport(s.transport)
	})
	return s.transport
}

// forRegistries returns the transport for registries. They share the limit of its waits.
func (s *Source) forRegistries() http.RoundTripper {
	s.plain() // also sets s.waiting
	return s.waiting
}

// credentials is a transport that adds the user, password and client certificate of
// a repository. It sends them only to the repository's origin, or to all hosts if
// Helm's configuration says pass_credentials_all. It handles each hop of a redirect:
// net/http alone would send them to other ports and subdomains.
type credentials struct {
	repository
	origin     *url.URL
	own, other http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (c *credentials) RoundTrip(req *http.Request) (*http.Response, error) {
	downgrade := c.origin.Scheme == "https" && req.URL.Scheme != "https"
	if !sameOrigin(req.URL, c.origin) && (!c.PassAll || downgrade) {
		return c.other.RoundTrip(req)
	}
	if c.Username != "" || c.Password != "" {
		req = req.Clone(req.Context())
		req.SetBasicAuth(c.Username, c.Password)
	}
	return c.own.RoundTrip(req)
}

// checkRedirect limits redirects and removes the Referer header.
func checkRedirect(req *http.Request, via []*http.Request) error {
	req.Header.Del("Referer")
	switch last := via[len(via)-1]; {
	case len(via) > 5:
		return errors.New("more than 5 redirects")
	case req.URL.Scheme != "https" && req.URL.Scheme != "http":
		return fmt.Errorf("a redirect to %s://", req.URL.Scheme)
	case last.URL.Scheme == "https" && req.URL.Scheme == "http":
		return errors.New("a redirect from https to http")
	}
	return nil
}
