package cluster

import (
	"errors"
	"io"
	"net/http"
)

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
