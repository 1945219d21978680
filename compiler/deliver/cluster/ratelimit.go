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

// see checks a response for the header.
func (l *fairLimiter) see(resp *http.Response, err error) {
	if err == nil {
		l.fair.Store(resp.Header.Get(flowSchema) != "")
	}
}
