package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	authorization "k8s.io/api/authorization/v1"
	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// answers are the responses of a server by path.
var answers = map[string]string{
	"/api":                           `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":                          `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1":                        `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["list"]}]}`,
	"/api/v1/namespaces/kube-system": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"1"}}`,
	"/api/v1/namespaces/a/secrets":   `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"},"data":{"a":"YQ=="}}]}`,
	"/api/v1/namespaces/a/secrets/a": `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"data":{"d":"ZQ=="}}`,
	"/openapi/v3":                    `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1"}}}`,
	"/openapi/v3/api/v1":             `{"openapi":"3.0.0","components":{"schemas":{}}}`,
	"/version":                       `{"major":"1","minor":"36","gitVersion":"v1.36.2"}`,
	"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{},"status":{"allowed":true}}`,
	"/apis/coordination.k8s.io/v1/namespaces/a/leases/a":     `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a"},"spec":{"holderIdentity":"b"}}`,
}

// truncatedReads are requests by the path whose response is truncated.
var truncatedReads = map[string]func(context.Context, *Cluster) error{
	"/api":    discoverNow,
	"/apis":   discoverNow,
	"/api/v1": discoverNow,
	"/api/v1/namespaces/a/secrets": func(ctx context.Context, c *Cluster) error {
		_, err := c.Metadata(ctx, secrets, "a", "")
		return err
	},
	"/api/v1/namespaces/a/secrets/a": func(ctx context.Context, c *Cluster) error {
		_, err := c.dynamic.Resource(secrets).Namespace("a").Get(ctx, "a", metav1.GetOptions{})
		return err
	},
	"/openapi/v3":        readOpenAPI,
	"/openapi/v3/api/v1": readOpenAPI,
	"/version": func(ctx context.Context, c *Cluster) error {
		_, err := c.KubernetesVersion(ctx)
		return err
	},
	"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": func(ctx context.Context, c *Cluster) error {
		_, err := c.reviews.SelfSubjectAccessReviews().Create(ctx, &authorization.SelfSubjectAccessReview{}, metav1.CreateOptions{})
		return err
	},
	"/apis/coordination.k8s.io/v1/namespaces/a/leases/a": func(ctx context.Context, c *Cluster) error {
		_, err := c.leases.Leases("a").Get(ctx, "a", metav1.GetOptions{})
		return err
	},
}

func discoverNow(ctx context.Context, c *Cluster) error {
	return c.discover(ctx)
}

func readOpenAPI(ctx context.Context, c *Cluster) error {
	c.documents = nil
	_, err := c.OpenAPI(ctx, schema.GroupVersion{Version: "v1"})
	return err
}

// protobufs returns the responses that API servers send as protobuf, by path.
func protobufs(t *testing.T) map[string]string {
	t.Helper()
	types := runtime.NewScheme()
	out := map[string]string{}
	for path, o := range map[string]runtime.Object{
		"/api/v1/namespaces/a/secrets":                           &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, Items: []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}},
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": &authorization.SelfSubjectAccessReview{TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}, Status: authorization.SubjectAccessReviewStatus{Allowed: true}},
		"/apis/coordination.k8s.io/v1/namespaces/a/leases/a":     leaseMessage(),
	} {
		var b strings.Builder
		if err := protobuf.NewSerializer(types, types).Encode(o, &b); err != nil {
			t.Fatal(err)
		}
		out[path] = b.String()
	}
	return out
}

func leaseMessage() *coordination.Lease {
	l := leaseOf("ann", "1")
	l.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	return l
}

// Wherever protobuf is truncated, the request may be sent again, unless it still is valid: it
// may be cut between its fields.
func TestTruncatedProtobuf(t *testing.T) {
	for path, text := range protobufs(t) {
		var length atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			_, _ = w.Write([]byte(text[:length.Load()]))
		}))
		defer s.Close()
		c := &Cluster{Server: s.URL, retryTimeout: 1}
		if err := c.clients(&rest.Config{Host: s.URL, QPS: -1}, s.Client()); err != nil {
			t.Fatal(err)
		}
		valid := 0
		for n := range len(text) {
			length.Store(int64(n))
			err := causeOf(truncatedReads[path](t.Context(), c))
			if err == nil {
				valid++
			} else if !isRetriable(err) {
				t.Errorf("%s, %d bytes: %v", path, n, err)
			}
		}
		if valid > 3 {
			t.Errorf("%s: %d parts are valid", path, valid)
		}
	}
}

// A truncatingServer truncates the responses of one path after some bytes.
type truncatingServer struct {
	path     atomic.Value
	length   atomic.Int64
	complete bool // the truncated response looks complete: a proxy sets its length
}

func (s *truncatingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, length := answers[r.URL.Path], len(answers[r.URL.Path])
	sent := text
	if r.URL.Path == s.path.Load() {
		if sent = text[:s.length.Load()]; s.complete {
			length = len(sent)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(length))
	_, _ = w.Write([]byte(sent))
	if len(sent) < length {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Wherever a response is truncated, and however, the request may be sent again.
func TestTruncated(t *testing.T) {
	for name, test := range map[string]struct{ http2, complete bool }{
		"HTTP/1":             {false, false},
		"HTTP/2":             {true, false},
		"a part, by a proxy": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &truncatingServer{complete: test.complete}
			s := httptest.NewUnstartedServer(server)
			defer s.Close()
			if s.EnableHTTP2 = test.http2; test.http2 {
				s.StartTLS()
			} else {
				s.Start()
			}
			// A failed read is not repeated within this time.
			c := &Cluster{Server: s.URL, retryTimeout: 1}
			if err := c.clients(&rest.Config{Host: s.URL, QPS: -1}, s.Client()); err != nil {
				t.Fatal(err)
			}
			for path, read := range truncatedReads {
				server.path.Store(path)
				for length := range len(answers[path]) {
					server.length.Store(int64(length))
					err := read(t.Context(), c)
					if cause := causeOf(err); cause == nil || !isRetriable(cause) {
						t.Errorf("%s, %d bytes: %v", path, length, err)
						break
					}
				}
				server.path.Store("")
				if err := read(t.Context(), c); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}

// causeOf returns the cause of a fault, and other errors as they are.
func causeOf(err error) error {
	if d, ok := errors.AsType[*diag.Diag](err); ok {
		return d.Cause
	}
	return err
}
