package chart

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// backoff is the wait before a request is repeated.
var backoff = transport.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 3}

// Limits of the waits that a registry may ask a client for.
const (
	longestWait = 30 * time.Second // one wait
	mostWaiting = 2 * time.Minute  // the time in which requests of a transport wait
	mostRetries = 5                // of one request
)

// A waitingTransport repeats requests that the registry rejects with Retry-After, after
// the wait. It returns the answer instead if the waits are too long or too many.
type waitingTransport struct {
	base http.RoundTripper
	wait func(ctx context.Context, d time.Duration) error
	now  func() time.Time

	mu     sync.Mutex
	waited time.Duration // in which at least one request has waited, up to until
	until  time.Time     // the end of the last wait
}

// WaitingTransport returns a transport that waits as Retry-After says and repeats the request, at
// most two minutes in all. It repeats a request with a body only if that
// has GetBody.
func WaitingTransport(base http.RoundTripper) http.RoundTripper {
	return &waitingTransport{base: base, wait: sleep, now: time.Now}
}

// retryingTransport is [WaitingTransport] for servers that are not registries: it also repeats what
// [OpenRegistry] repeats without Retry-After, requests that are limited or that a proxy answers.
func retryingTransport(base http.RoundTripper) http.RoundTripper {
	return transport.NewRetry(WaitingTransport(base), transport.WithRetryBackoff(backoff), transport.WithRetryStatusCodes(
		http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout))
}

// mayWait reports whether a request may wait, and counts the time that the wait adds to
// those of parallel requests.
func (w *waitingTransport) mayWait(pause time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	begin := w.now()
	end := begin.Add(pause)
	if begin.Before(w.until) {
		begin = w.until
	}
	added := max(0, end.Sub(begin))
	if pause > longestWait || w.waited+added > mostWaiting {
		return false
	}
	w.waited, w.until = w.waited+added, begin.Add(added)
	return true
}

// sleep waits, or returns the error of the context.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RoundTrip implements [http.RoundTripper].
func (w *waitingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	for try := 0; ; try++ {
		resp, err := w.base.RoundTrip(req)
		if err != nil || req.Body != nil && req.GetBody == nil || try == mostRetries {
			return resp, err
		}
		pause, ok := retryAfter(resp)
		if !ok || !w.mayWait(pause) {
			return resp, nil
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		if err := w.wait(req.Context(), pause); err != nil {
			return nil, err
		}
		if req.GetBody != nil {
			req = req.Clone(req.Context())
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retryAfter returns how long a registry wants its client to wait; false if it does not.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	return max(0, time.Until(at)), err == nil
}
