package cluster

import (
	"errors"
	"io"
	"log"
	"net"
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

// A library repeats a write that a broken connection or an overloaded API server has
// interrupted, except a creation or deletion that may have succeeded.
func TestGetterWrites(t *testing.T) {
	var requests atomic.Int64
	var fail func(http.ResponseWriter)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "content" {
			t.Errorf("the body is %q, %v", body, err)
		}
		w.Header().Set("Content-Type", "application/json")
		if requests.Add(1) == 1 {
			fail(w)
		}
		_, _ = w.Write([]byte(`{"kind":"Secret","apiVersion":"v1"}`))
	})
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	breaks := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	nothing := func(http.ResponseWriter) {}
	for name, test := range map[string]struct {
		verb  string
		fail  func(http.ResponseWriter)
		down  bool // at the first try
		tries int64
		ok    bool
	}{
		"create, broken":     {http.MethodPost, breaks, false, 1, false},
		"create, overloaded": {http.MethodPost, status(http.StatusTooManyRequests), false, 2, true},
		"create, failed":     {http.MethodPost, status(http.StatusServiceUnavailable), false, 1, false},
		"create, down":       {http.MethodPost, nothing, true, 1, true},
		"patch, broken":      {http.MethodPatch, breaks, false, 2, true},
		"patch, failed":      {http.MethodPatch, status(http.StatusServiceUnavailable), false, 2, true},
		"patch, refused":     {http.MethodPatch, status(http.StatusConflict), false, 1, false},
		"update, broken":     {http.MethodPut, breaks, false, 2, true},
		"delete, broken":     {http.MethodDelete, breaks, false, 1, false},
		"delete, down":       {http.MethodDelete, nothing, true, 1, true},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
		address := l.Addr().String()
		if test.down {
			err = l.Close()
		} else {
			go s.Serve(l)
		}
		asked := 0
		allow := func(writes bool) error {
			if asked++; test.down && asked == 2 {
				if l, err = net.Listen("tcp", address); err != nil {
					return err
				}
				go s.Serve(l)
			}
			if !writes {
				t.Errorf("%s: it is not a write", name)
			}
			return nil
		}
		c := &Cluster{Server: "http://" + address, retryTimeout: time.Minute, config: &rest.Config{Host: address, QPS: -1}}
		g, err := c.Getter("test", allow)
		if err != nil {
			t.Fatal(err)
		}
		requests.Store(0)
		fail = test.fail
		err = g.discovery.RESTClient().Verb(test.verb).AbsPath("/api/v1/secrets").Body([]byte("content")).Do(t.Context()).Error()
		if (err == nil) != test.ok || requests.Load() != test.tries {
			t.Errorf("%s: after %d requests: %v", name, requests.Load(), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
