package cluster

import (
	"errors"
	"io"
	"net/http"
)

// A responseTransport calls seen with each response or error of the next transport. seen may
// change the response.
type responseTransport struct {
	next http.RoundTripper
	seen func(*http.Response, error)
}

// onResponse returns a wrapper of transports, for Config.Wrap of client-go, that calls seen.
func onResponse(seen func(*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return responseTransport{next, seen} }
}

// WrappedRoundTripper returns the next transport, so that Kubernetes' code can close it.
func (t responseTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements [http.RoundTripper].
func (t responseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	t.seen(resp, err)
	return resp, err
}

// limitBody lets at most maxResponse bytes of a response be read.
func limitBody(resp *http.Response, err error) {
	if err == nil && resp.Body != nil {
		resp.Body = &limitedBody{resp.Body, maxResponse}
	}
}

var errTooLong = errors.New("the response is too large")

type limitedBody struct {
	io.ReadCloser
	remaining int
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.remaining <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.remaining)])
	b.remaining -= n
	return n, err
}
