package chart

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// answers is a server that limits the first requests, each for 25 seconds.
type answers struct{ limits atomic.Int64 }

// RoundTrip implements [http.RoundTripper].
func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	if a.limits.Add(-1) >= 0 {
		resp.StatusCode = http.StatusTooManyRequests
		resp.Header.Set("Retry-After", "25")
	}
	return resp, nil
}

// Requests that wait at the same time share the time that a transport waits in all.
func TestParallelWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &answers{}
		w := WaitingTransport(server)
		send := func() int {
			resp, err := w.RoundTrip(&http.Request{})
			if err != nil {
				t.Error(err)
				return 0
			}
			defer resp.Body.Close()
			return resp.StatusCode
		}
		start := time.Now()
		for range 4 {
			server.limits.Store(20)
			var requests sync.WaitGroup
			for range 20 {
				requests.Go(func() {
					if status := send(); status != http.StatusOK {
						t.Errorf("status %d after %s", status, time.Since(start))
					}
				})
			}
			requests.Wait()
		}
		if got := time.Since(start); got != 100*time.Second {
			t.Errorf("waited %s, want 100s", got)
		}
		server.limits.Store(1)
		if status := send(); status != http.StatusTooManyRequests || time.Since(start) != 100*time.Second {
			t.Errorf("status %d after %s, want 429 at once: two minutes are the limit", status, time.Since(start))
		}
	})
}
