package live

import (
	"context"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/util/flowcontrol"
)

// A fairLimiter limits requests on the client's side until the API server shows
// that it has API Priority and Fairness, which then limits them by what the server
// can take. An overloaded server answers 429, and the client waits as it says.
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

// flowSchema is the header in which an API server names the flow schema that
// applied to a request, if it has priority and fairness.
const flowSchema = "X-Kubernetes-PF-FlowSchema-UID"

// watch returns a round tripper that looks for the header.
func (l *fairLimiter) watch(next http.RoundTripper) http.RoundTripper { return fairTripper{next, l} }

type fairTripper struct {
	next    http.RoundTripper
	limiter *fairLimiter
}

// RoundTrip implements [http.RoundTripper].
func (t fairTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		t.limiter.fair.Store(resp.Header.Get(flowSchema) != "")
	}
	return resp, err
}
