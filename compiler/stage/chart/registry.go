package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// OCIScheme is the prefix of addresses in a registry.
const OCIScheme = "oci://"

// ErrNotInRegistry says that the registry does not have the tag or the repository.
var ErrNotInRegistry = errors.New("not in the registry")

// RegistryTransport returns an HTTP transport with timeouts for untrusted hosts.
func RegistryTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    20 * time.Second,
		ResponseHeaderTimeout:  2 * time.Minute,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// OpenRegistry returns the repository oci://host/path and the options of one operation
// over the transport. The operation may send at most 200 requests and receive
// at most most bytes. The error is an invalid address.
func OpenRegistry(ctx context.Context, at string, transport http.RoundTripper, most int64) (name.Repository, []remote.Option, error) {
	repo, options, err := open(at, newLimited(transport, most))
	return repo, append(options, remote.WithContext(ctx)), err
}

func open(at string, transport http.RoundTripper) (name.Repository, []remote.Option, error) {
	repo, err := name.NewRepository(strings.TrimPrefix(at, OCIScheme), name.StrictValidation)
	return repo, []remote.Option{
		remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(transport),
		remote.WithUserAgent("fleetc"),
		remote.WithRetryBackoff(backoff),
	}, err
}

// RegistryFault turns an error of a registry into a fault. verb is the failed action,
// "read" or "write". The fault wraps [ErrNotInRegistry] when the artifact does not
// exist.
func RegistryFault(at, verb string, err error) error {
	d := &diag.Diag{Code: diag.CodeNetwork, Msg: at + ": " + registryReason(err), Hint: "check the address and the network", Cause: err}
	host, _, _ := strings.Cut(strings.TrimPrefix(at, OCIScheme), "/")
	answer, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return d
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		d.Msg = at + ": it does not exist, or these credentials cannot " + verb + " it"
		d.Hint = "check the address, then run docker login " + host
	case http.StatusNotFound:
		d.Code = diag.CodeChartNotFound
		d.Msg, d.Hint = at+" is not in the registry", "check the name and the version"
		d.Cause = errors.Join(ErrNotInRegistry, err)
	case http.StatusTooManyRequests:
		d.Msg, d.Hint = at+": the registry received too many requests", "run the command again later, or log in with docker login "+host+": many registries then allow more"
	default:
		d.Hint = "run the command again"
	}
	return d
}

// registryReason returns why a request failed, in one line and without the URL, which may be
// secret.
func registryReason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the server closed the connection"
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return diag.Brief(err)
}

// limitedTransport limits the requests and the bytes of one operation,
// including pages and redirects.
type limitedTransport struct {
	base     http.RoundTripper
	most     int64
	requests atomic.Int64 // remaining
	bytes    atomic.Int64 // remaining
}

func newLimited(base http.RoundTripper, most int64) *limitedTransport {
	l := &limitedTransport{base: base, most: most}
	l.requests.Store(200)
	l.bytes.Store(most)
	return l
}

// RoundTrip implements [http.RoundTripper].
func (l *limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.requests.Add(-1) < 0 {
		return nil, errors.New("the registry needs more than 200 requests for one repository")
	}
	resp, err := l.base.RoundTrip(req)
	if err == nil {
		resp.Body = &limitedBody{resp.Body, l}
	}
	return resp, err
}

type limitedBody struct {
	io.ReadCloser
	limit *limitedTransport
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.limit.bytes.Add(int64(-n)) < 0 {
		return n, fmt.Errorf("the registry sends more than %d MiB", b.limit.most>>20)
	}
	return n, err
}
