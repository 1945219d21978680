package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// imageServer serves a registry on loopback, and counts the requests by kind.
type imageServer struct {
	*httptest.Server
	host  string
	mu    sync.Mutex
	asked map[string]int
	sent  []string // Authorization headers
}

// serveImages starts a registry. wrap may change its answers.
func serveImages(t *testing.T, wrap func(next http.Handler) http.Handler) *imageServer {
	t.Helper()
	s := &imageServer{asked: map[string]int{}}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		handler = wrap(handler)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := "other"
		for _, k := range []string{"tags", "manifests"} {
			if strings.Contains(r.URL.Path, "/"+k+"/") {
				kind = r.Method + " " + k
			}
		}
		s.mu.Lock()
		s.asked[kind]++
		s.sent = append(s.sent, r.Header.Get("Authorization"))
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	s.host = strings.TrimPrefix(s.URL, "http://")
	return s
}

// withTags answers requests for tags with pages.
func withTags(pages ...[]string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/tags/list") {
				next.ServeHTTP(w, r)
				return
			}
			page := 0
			_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
			if page+1 < len(pages) {
				w.Header().Set("Link", fmt.Sprintf(`<%s?page=%d>; rel="next"`, r.URL.Path, page+1))
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"name": "a", "tags": pages[page]})
		})
	}
}

// All pages are read, and the repository is asked once.
func TestTags(t *testing.T) {
	hostile := []string{"1.2\x1b[2J", "a\nb", "$(reboot)", strings.Repeat("9", 5000)}
	s := serveImages(t, withTags([]string{"1.0", "1.1"}, hostile, []string{"1.2"}))
	c := NewRegistryImages(false)
	for range 3 {
		tags, err := c.Tags(t.Context(), s.host+"/example/app")
		if want := slices.Concat([]string{"1.0", "1.1"}, hostile, []string{"1.2"}); err != nil || !slices.Equal(tags, want) {
			t.Fatalf("got %q, %v", tags, err)
		}
	}
	if s.asked["GET tags"] != 3 {
		t.Errorf("asked %v, want one request for each of three pages", s.asked)
	}
}

// A registry that never ends a list is not followed forever, and neither are links to other
// hosts.
func TestTagsEnd(t *testing.T) {
	other := serveImages(t, nil)
	for what, link := range map[string]string{"endless": "?again", "elsewhere": other.URL + "/v2/a/tags/list"} {
		s := serveImages(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", "<"+link+`>; rel="next"`)
				_, _ = io.WriteString(w, `{"tags": ["1.0"]}`)
			})
		})
		if _, err := NewRegistryImages(false).Tags(t.Context(), s.host+"/a"); err == nil {
			t.Errorf("%s: no error", what)
		}
		if n := s.asked["GET tags"]; n > 200 {
			t.Errorf("%s: %d requests", what, n)
		}
	}
	if len(other.asked) > 0 {
		t.Errorf("the other host was asked: %v", other.asked)
	}
	if _, err := NewRegistryImages(true).Tags(t.Context(), other.host+"/a"); err == nil || !strings.Contains(err.Error(), "cannot be read offline") {
		t.Errorf("offline: %v", err)
	}
}

// An image of several architectures has the digest of its index.
func TestDigest(t *testing.T) {
	s := serveImages(t, nil)
	a, _ := random.Image(64, 1)
	b, _ := random.Image(64, 1)
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: a, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}},
		mutate.IndexAddendum{Add: b, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}})
	at, _ := name.NewTag(s.host + "/multi:1.0")
	if err := remote.WriteIndex(at, index); err != nil {
		t.Fatal(err)
	}
	want, _ := index.Digest()
	s.asked = map[string]int{}
	c := NewRegistryImages(false)
	for range 2 {
		if got, err := c.Digest(t.Context(), s.host+"/multi", "1.0"); err != nil || got != want.String() {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	if s.asked["HEAD manifests"] != 1 {
		t.Errorf("asked %v", s.asked)
	}
	if _, err := c.Digest(t.Context(), s.host+"/multi", "2.0"); !errors.Is(err, ErrNotInRegistry) {
		t.Errorf("a tag that disappeared: %v", err)
	}
}

// Requests that a registry limits are repeated after the wait that it asks for, within
// bounds.
func TestRetryAfter(t *testing.T) {
	for _, test := range []struct {
		after  string
		limits int // answers before the first good one
		waits  []time.Duration
		ok     bool
	}{
		{"7", 2, []time.Duration{7 * time.Second, 7 * time.Second}, true},
		{"0", 1, []time.Duration{0}, true},
		{"3600", 1000, nil, false},
		{"25", 1000, []time.Duration{25 * time.Second, 25 * time.Second, 25 * time.Second, 25 * time.Second}, false},
	} {
		var left atomic.Int64
		left.Store(int64(test.limits))
		s := serveImages(t, func(next http.Handler) http.Handler {
			next = withTags([]string{"1.0"})(next)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/tags/") && left.Add(-1) >= 0 {
					w.Header().Set("Retry-After", test.after)
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		var waits []time.Duration
		c := NewRegistryImages(false)
		transport, now := c.transport.(*waitingTransport), time.Now()
		transport.now = func() time.Time { return now }
		transport.wait = func(_ context.Context, d time.Duration) error {
			waits, now = append(waits, d), now.Add(d)
			return nil
		}
		_, err := c.Tags(t.Context(), s.host+"/a")
		if !slices.Equal(waits, test.waits) || (err == nil) != test.ok {
			t.Errorf("Retry-After %s: waited %v, want %v; %v", test.after, waits, test.waits, err)
		}
		if err != nil && !strings.Contains(err.Error(), "received too many requests") {
			t.Errorf("Retry-After %s: %v", test.after, err)
		}
	}
}

// Credentials of docker login go to their host alone, by a token if the registry wants one.
func TestImageCredentials(t *testing.T) {
	token := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			switch {
			case r.URL.Path == "/token" && user == "ann" && password == "secret":
				_, _ = io.WriteString(w, `{"token": "t0ken"}`)
			case r.URL.Path == "/token":
				w.WriteHeader(http.StatusUnauthorized)
			case r.Header.Get("Authorization") == "Bearer t0ken":
				next.ServeHTTP(w, r)
			default:
				w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="a"`)
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
	}
	private := serveImages(t, func(next http.Handler) http.Handler { return token(withTags([]string{"1.0"})(next)) })
	public := serveImages(t, withTags([]string{"1.0"}))
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	c := NewRegistryImages(false)
	if _, err := c.Tags(t.Context(), private.host+"/a"); err == nil || !strings.Contains(err.Error(), "these credentials cannot read it") {
		t.Errorf("without a login: %v", err)
	}
	login := fmt.Sprintf(`{"auths": {%q: {"username": "ann", "password": "secret"}}}`, private.host)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	c = NewRegistryImages(false)
	for _, s := range []*imageServer{private, public} {
		if tags, err := c.Tags(t.Context(), s.host+"/a"); err != nil || len(tags) != 1 {
			t.Errorf("got %v, %v", tags, err)
		}
	}
	if sent := slices.Compact(public.sent); len(sent) != 1 || sent[0] != "" {
		t.Errorf("the public registry got %q", sent)
	}
}

// At most four repositories of a host are asked at a time.
func TestPerHost(t *testing.T) {
	var now, most atomic.Int64
	s := serveImages(t, func(next http.Handler) http.Handler {
		next = withTags([]string{"1.0"})(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			next.ServeHTTP(w, r)
		})
	})
	c := NewRegistryImages(false)
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			if _, err := c.Tags(t.Context(), fmt.Sprintf("%s/r%d", s.host, i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if most.Load() > perHost {
		t.Errorf("%d requests at a time", most.Load())
	}
	if s.asked["GET tags"] != 40 {
		t.Errorf("asked %v", s.asked)
	}
}
