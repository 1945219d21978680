package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// troubleTransport records why requests fail. The client library retries some of them, and
// its error then says only that the time is over.
type troubleTransport struct {
	next    http.RoundTripper
	cluster *Cluster
}

// WrappedRoundTripper returns the next transport, so that Kubernetes' code can close it.
func (t troubleTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements [http.RoundTripper].
func (t troubleTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	var nerr net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &nerr) && nerr.Timeout():
	case err != nil:
		t.set(err.Error())
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= http.StatusInternalServerError:
		t.set(fmt.Sprintf("HTTP status %d (%s)", resp.StatusCode, http.StatusText(resp.StatusCode)))
	default:
		t.cluster.trouble.Store(nil)
	}
	return resp, err
}

func (t troubleTransport) set(cause string) {
	cause = t.cluster.visible(cause)
	t.cluster.trouble.Store(&cause)
}
