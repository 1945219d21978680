package cluster

import (
	"errors"
	"io"
	"net/http"
)

// limitedTransport reads at most maxResponse bytes of each response.
type limitedTransport struct{ next http.RoundTripper }

// WrappedRoundTripper returns the next transport, so that Kubernetes' code can close it.
func (b limitedTransport) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements [http.RoundTripper].
func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil && resp.Body != nil {
		resp.Body = &limitedBody{resp.Body, maxResponse}
	}
	return resp, err
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
