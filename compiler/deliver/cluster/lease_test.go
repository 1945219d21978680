package cluster

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// leaseOf returns a lease of 15 seconds.
func leaseOf(holder, version string) *coordination.Lease {
	seconds, since := int32(15), metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC))
	return &coordination.Lease{
		ObjectMeta: metav1.ObjectMeta{UID: "1", ResourceVersion: version},
		Spec:       coordination.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &since},
	}
}

// The wait for a live holder ends with the timeout, and an expired lease is taken.
func TestLeaseWait(t *testing.T) {
	type step struct {
		at      int // seconds
		lease   *coordination.Lease
		isOther bool
		want    string // free, over or wait
	}
	for name, test := range map[string]struct {
		timeout time.Duration
		steps   []step
	}{
		"there is none":            {0, []step{{0, nil, false, "free"}}},
		"it was released":          {0, []step{{0, leaseOf("", "1"), false, "free"}}},
		"alive, no timeout":        {0, []step{{0, leaseOf("ann", "1"), true, "wait"}, {4, leaseOf("ann", "2"), false, "over"}}},
		"dead, no timeout":         {0, []step{{0, leaseOf("ann", "1"), true, "wait"}, {14, leaseOf("ann", "1"), false, "wait"}, {15, leaseOf("ann", "1"), false, "free"}}},
		"alive until it is over":   {20 * time.Second, []step{{0, leaseOf("ann", "1"), true, "wait"}, {10, leaseOf("ann", "2"), false, "wait"}, {20, leaseOf("ann", "3"), false, "over"}}},
		"released in time":         {20 * time.Second, []step{{0, leaseOf("ann", "1"), true, "wait"}, {10, leaseOf("ann", "2"), false, "wait"}, {12, leaseOf("", "3"), false, "free"}}},
		"dies while waited for":    {60 * time.Second, []step{{0, leaseOf("ann", "1"), true, "wait"}, {4, leaseOf("ann", "2"), false, "wait"}, {18, leaseOf("ann", "2"), false, "wait"}, {19, leaseOf("ann", "2"), false, "free"}}},
		"dead, short timeout":      {time.Second, []step{{0, leaseOf("ann", "1"), true, "wait"}, {5, leaseOf("ann", "1"), false, "wait"}, {15, leaseOf("ann", "1"), false, "free"}}},
		"another comes in between": {60 * time.Second, []step{{0, leaseOf("ann", "1"), true, "wait"}, {4, leaseOf("bob", "2"), true, "wait"}, {8, nil, false, "free"}}},
		"it is deleted":            {0, []step{{0, leaseOf("ann", "1"), true, "wait"}, {1, nil, false, "free"}}},
	} {
		start := time.Now()
		w := leaseWait{timeout: test.timeout, start: start}
		for _, s := range test.steps {
			now := start.Add(time.Duration(s.at) * time.Second)
			if got := w.observe(s.lease, now); got != s.isOther {
				t.Errorf("%s: after %d s, another holder: %v", name, s.at, got)
			}
			got := "wait"
			switch {
			case w.isFree(now):
				got = "free"
			case w.hasTimedOut(now):
				got = "over"
			}
			if got != s.want {
				t.Errorf("%s: after %d s: %s, want %s", name, s.at, got, s.want)
			}
		}
	}
}

// The fault names the holder, the time of its acquisition, and the flag.
func TestLeaseFault(t *testing.T) {
	for timeout, want := range map[time.Duration][2]string{
		0:                {"ann is applying to this cluster, since 2026-01-02T03:04:05Z", "pass --lock-timeout to make fleetc wait"},
		90 * time.Second: {"ann is applying to this cluster, since 2026-01-02T03:04:05Z; fleetc has waited for 1m30s", "pass a longer --lock-timeout"},
	} {
		w := leaseWait{timeout: timeout, current: leaseOf("ann", "1")}
		d, ok := errors.AsType[*diag.Diag](w.fault())
		if !ok || d.Msg != want[0] || !strings.Contains(d.Hint, want[1]) {
			t.Errorf("%s: %+v", timeout, d)
		}
	}
}

// A leaseServer stores one lease. Its first writes get no response: the first is lost, and the
// response to the second.
type leaseServer struct {
	mu     sync.Mutex
	stored *coordination.Lease
	writes int
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet {
		if s.writes++; s.writes == 1 {
			panic(http.ErrAbortHandler)
		}
		next := &coordination.Lease{}
		if err := json.NewDecoder(r.Body).Decode(next); err != nil {
			panic(err)
		}
		next.ResourceVersion, s.stored = strconv.Itoa(s.writes), next
		if s.writes == 2 {
			panic(http.ErrAbortHandler)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if s.stored == nil {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(apierrors.NewNotFound(configMaps, "apply").ErrStatus)
		return
	}
	_ = json.NewEncoder(w).Encode(s.stored)
}

// A lost request or response does not end the acquisition of a lease, or fail its release.
func TestLeaseLostResponse(t *testing.T) {
	server := &leaseServer{}
	s := httptest.NewServer(server)
	defer s.Close()
	c := &Cluster{Server: s.URL, retryTimeout: time.Minute}
	if err := c.clients(&rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, http.DefaultClient); err != nil {
		t.Fatal(err)
	}
	l, err := c.AcquireLease(t.Context(), "fleetc-system", "apply", "ann", 0, func(holder string, _ time.Time) { t.Errorf("waits for %s", holder) })
	if err != nil {
		t.Fatal(err)
	}
	server.mu.Lock()
	if server.writes != 3 || holderOf(server.stored) != "ann" {
		t.Errorf("after %d writes, %q has the lease", server.writes, holderOf(server.stored))
	}
	server.writes = 1 // the response to the release is lost
	server.mu.Unlock()
	l.Release(t.Context())
	if holder := holderOf(server.stored); holder != "" {
		t.Errorf("%q has the released lease", holder)
	}
}

// A hangingTransport does not answer.
type hangingTransport struct{}

// RoundTrip implements [http.RoundTripper].
func (hangingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// An API server that does not answer hardly delays the end of an apply: the lease expires.
func TestLeaseReleaseHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Cluster{}
		if err := c.clients(&rest.Config{Host: "http://one.example.com"}, &http.Client{Transport: hangingTransport{}}); err != nil {
			t.Fatal(err)
		}
		l := &Lease{cluster: c, stop: func() {}, stopped: make(chan struct{}), lease: leaseOf("ann", "1")}
		l.lease.Name = "apply"
		close(l.stopped)
		start := time.Now()
		l.Release(t.Context())
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("it takes %s", took)
		}
	})
}
