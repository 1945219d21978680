package cluster

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// A library reads again when the connection breaks or a response is truncated. It gets the
// error when that does not help, and sends nothing that is not allowed.
func TestGetterRetries(t *testing.T) {
	const path = "/version"
	var requests, broken atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch n := requests.Add(1); {
		case n > broken.Load():
			_, _ = w.Write([]byte(answers[path]))
		case n%3 == 0:
			panic(http.ErrAbortHandler)
		case n%3 == 1:
			_, _ = w.Write([]byte(answers[path][:9])) // a proxy corrects the length
		default:
			w.Header().Set("Content-Length", "9999")
			_, _ = w.Write([]byte(answers[path]))
		}
	}))
	defer s.Close()
	var refusal error
	version := func(limit time.Duration) error {
		c := &Cluster{Server: s.URL, retryTimeout: limit, config: &rest.Config{Host: s.URL, QPS: -1}}
		g, err := c.Getter("test", func(bool) error { return refusal })
		if err != nil {
			t.Fatal(err)
		}
		requests.Store(0)
		_, err = g.discovery.ServerVersion()
		return err
	}

	broken.Store(3)
	if err := version(time.Minute); err != nil || requests.Load() != 4 {
		t.Errorf("after %d requests: %v", requests.Load(), err)
	}
	broken.Store(1 << 30)
	if err := version(1); err == nil || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || requests.Load() != 1 {
		t.Errorf("after %d requests of a broken server: %v", requests.Load(), err)
	}
	refusal = errors.New("the lease is lost")
	if err := version(time.Minute); err == nil || !strings.Contains(err.Error(), refusal.Error()) || requests.Load() != 0 {
		t.Errorf("after %d requests that are not allowed: %v", requests.Load(), err)
	}
}
