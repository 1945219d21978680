package registry

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Limits of the waits that a registry may ask a client for.
const (
	longestWait = 30 * time.Second // one wait
	mostWaiting = 2 * time.Minute  // all waits of a transport
	mostRetries = 5                // of one request
)

// A waitingTransport repeats requests that the registry rejects with Retry-After, after
// the wait. It returns the answer instead if the waits are too long or too many.
type waitingTransport struct {
	base   http.RoundTripper
	wait   func(ctx context.Context, d time.Duration) error
	waited atomic.Int64 // nanoseconds
}

func newWaiting(base http.RoundTripper) *waitingTransport {
	return &waitingTransport{base: base, wait: sleep}
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
		if err != nil || req.Body != nil || try == mostRetries {
			return resp, err
		}
		pause, ok := retryAfter(resp)
		if !ok || pause > longestWait || time.Duration(w.waited.Add(int64(pause))) > mostWaiting {
			return resp, nil
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		if err := w.wait(req.Context(), pause); err != nil {
			return nil, err
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
