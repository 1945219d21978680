package cluster

import (
	"context"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/util/flowcontrol"
)

// A fairLimiter limits the rate of requests until a response shows that the API
// server has API Priority and Fairness. An overloaded server then answers 429, and
// the client waits as long as it says.
type fairLimiter struct {
	flowcontrol.RateLimiter
	fair atomic.Bool
}

func newFairLimiter() *fairLimiter {
	return &fairLimiter{RateLimiter: flowcontrol.NewTokenBucketRateLimiter(qps, burst)}
}

// TryAccept implements [flowcontrol.RateLimiter].
func (l *fairLimiter) TryAccept() bool { return l.fair.Load() || l.RateLimiter.TryAccept() }

// Accept implements [flowcontrol.RateLimiter].
func (l *fairLimiter) Accept() {
	if !l.fair.Load() {
		l.RateLimiter.Accept()
	}
}

// Wait implements [flowcontrol.RateLimiter].
func (l *fairLimiter) Wait(ctx context.Context) error {
	if l.fair.Load() {
		return ctx.Err()
	}
	return l.RateLimiter.Wait(ctx)
}

// flowSchema is the header that API Priority and Fairness adds to responses.
const flowSchema = "X-Kubernetes-PF-FlowSchema-UID"

// transport returns a round tripper that checks responses for the header.
func (l *fairLimiter) transport(next http.RoundTripper) http.RoundTripper {
	return fairTransport{next, l}
}

type fairTransport struct {
	next    http.RoundTripper
	limiter *fairLimiter
}

// WrappedRoundTripper returns the next transport, so that Kubernetes' code can close it.
func (t fairTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements [http.RoundTripper].
func (t fairTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		t.limiter.fair.Store(resp.Header.Get(flowSchema) != "")
	}
	return resp, err
}
