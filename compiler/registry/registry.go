// Package registry talks to registries of charts and other artifacts: with the
// credentials that docker login has left, over HTTPS but for this machine and
// private addresses, and within bounds, since their answers are anybody's.
//
// It knows no kind of artifact, keeps nothing and prints nothing.
package registry

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

	"github.com/fleetc/fleetc/compiler/diag"
)

// Scheme begins the addresses of what is in a registry.
const Scheme = "oci://"

// ErrNotFound says that the registry does not have the tag or the repository.
var ErrNotFound = errors.New("not in the registry")

// Transport returns a transport for hosts that nothing is known about.
func Transport() *http.Transport {
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

// Open returns the repository oci://host/path, and how one operation talks to
// it over the transport: with at most 200 requests, to which it answers with at
// most so many bytes. The error is what is wrong with the address.
func Open(ctx context.Context, at string, over http.RoundTripper, most int64) (name.Repository, []remote.Option, error) {
	repo, options, err := open(at, newLimited(over, most))
	return repo, append(options, remote.WithContext(ctx)), err
}

// OpenMany is [Open] for any number of operations, which have contexts of their
// own. Each answer has at most so many bytes.
func OpenMany(at string, over http.RoundTripper, most int64) (name.Repository, []remote.Option, error) {
	return open(at, eachLimited{over, most})
}

func open(at string, over http.RoundTripper) (name.Repository, []remote.Option, error) {
	repo, err := name.NewRepository(strings.TrimPrefix(at, Scheme), name.StrictValidation)
	return repo, []remote.Option{
		remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(over),
		remote.WithUserAgent("fleetc"),
		remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 3}),
	}, err
}

// Fault says in the user's words what a registry answered to one who wanted to
// read or write, which is the verb, what is at the address. The error is an
// [ErrNotFound] when it is not there.
func Fault(at, verb string, err error) error {
	d := &diag.Diag{Msg: at + ": " + reason(err), Hint: "check the address and the network", Cause: err}
	host, _, _ := strings.Cut(strings.TrimPrefix(at, Scheme), "/")
	answer, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return d
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		d.Msg = at + ": the registry does not let these credentials " + verb + " it, or it does not exist"
		d.Hint = "check the address, then run docker login " + host
	case http.StatusNotFound:
		d.Msg, d.Hint = at+" is not in the registry", "check the name and the version"
		d.Cause = errors.Join(ErrNotFound, err)
	default:
		d.Hint = "run the command again"
	}
	return d
}

// reason is the error of a client as one line, without the URL.
func reason(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return diag.Visible(strings.Join(strings.Fields(err.Error()), " "), diag.MaxText)
}

// limited is a transport that bounds what one operation on a registry may
// send and ask for, however many pages or redirects it answers with.
type limited struct {
	base     http.RoundTripper
	most     int64
	requests atomic.Int64 // left
	bytes    atomic.Int64 // left
}

func newLimited(base http.RoundTripper, most int64) *limited {
	l := &limited{base: base, most: most}
	l.requests.Store(200)
	l.bytes.Store(most)
	return l
}

// RoundTrip implements [http.RoundTripper].
func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.requests.Add(-1) < 0 {
		return nil, errors.New("the registry needs more than 200 requests for one artifact")
	}
	resp, err := l.base.RoundTrip(req)
	if err == nil {
		resp.Body = &limitedBody{resp.Body, l}
	}
	return resp, err
}

// eachLimited is a transport that bounds each answer on its own.
type eachLimited struct {
	base http.RoundTripper
	most int64
}

// RoundTrip implements [http.RoundTripper].
func (e eachLimited) RoundTrip(req *http.Request) (*http.Response, error) {
	return newLimited(e.base, e.most).RoundTrip(req)
}

type limitedBody struct {
	io.ReadCloser
	limit *limited
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.limit.bytes.Add(int64(-n)) < 0 {
		return n, fmt.Errorf("the registry sends more than %d MiB", b.limit.most>>20)
	}
	return n, err
}
