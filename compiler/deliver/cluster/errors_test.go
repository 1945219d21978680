package cluster

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	deployment = schema.GroupKind{Group: "apps", Kind: "Deployment"}
)

// conflict is the response to a conflict with another manager.
func conflict() error {
	return apierrors.NewApplyConflict([]metav1.StatusCause{{
		Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "kubectl" using apps/v1`,
	}}, "Apply failed with 1 conflict")
}

func TestAPIError(t *testing.T) {
	c := &Cluster{Server: "https://one.example.com"}
	c.Hide(func(s string) string { return strings.ReplaceAll(s, "hunter2", "(hidden)") })
	invalid := func(errs ...*field.Error) error { return apierrors.NewInvalid(deployment, "web", errs) }
	for name, test := range map[string]struct {
		err     error
		reason  Reason
		message string
	}{
		"not found":           {apierrors.NewNotFound(configMaps, "web"), NotFound, `configmaps "web" not found`},
		"a field of another":  {conflict(), Conflict, "Apply failed with 1 conflict"},
		"a precondition":      {apierrors.NewConflict(configMaps, "web", errors.New("the UID differs")), Moved, "the UID differs"},
		"forbidden":           {apierrors.NewForbidden(configMaps, "web", errors.New("no role")), Forbidden, "no role"},
		"invalid":             {invalid(field.Invalid(field.NewPath("spec", "replicas"), -1, "must not be negative")), Invalid, "spec.replicas: must not be negative"},
		"a diff":              {invalid(field.Forbidden(field.NewPath("spec"), "it is immutable\n@@ -6,7 +6,7 @@\n\t-a\n")), Immutable, "spec: Forbidden: it is immutable @@ -6,7 +6,7 @@ -a"},
		"lines":               {apierrors.NewBadRequest("denied:\n  no limits\n"), Refused, "denied: no limits"},
		"a value is not told": {invalid(field.Invalid(field.NewPath("spec", "x"), "s3cret", "must be short")), Invalid, "spec.x: must be short"},
		"immutable":           {invalid(field.Invalid(field.NewPath("spec", "selector"), "a", "field is immutable")), Immutable, "spec.selector: field is immutable"},
		"a webhook":           {apierrors.NewInternalError(errors.New(`failed calling webhook "a.example.com": EOF`)), Webhook, `failed calling webhook "a.example.com": EOF`},
		"no such field":       {apierrors.NewInternalError(errors.New("failed to create typed patch object: .spec.x: field not declared")), Invalid, "field not declared"},
		"no field":            {invalid(&field.Error{Type: field.ErrorTypeInvalid, Detail: "ValidatingAdmissionPolicy 'no-ports' denied request"}), Invalid, "ValidatingAdmissionPolicy 'no-ports' denied request"},
		"anything else":       {apierrors.NewBadRequest("it holds hunter2"), Refused, "it holds (hidden)"},
	} {
		err := c.apiError(test.err)
		if ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.message) || strings.HasPrefix(err.Error(), ":") {
			t.Errorf("%s: got %q, %v", name, ReasonOf(err), err)
		}
		if d := diag.All(fmt.Errorf("read: %w", err))[0]; d.Code == diag.CodeSystemError || d.Hint == "" || d.Msg != "read: "+err.Error() {
			t.Errorf("%s: the fault is %+v", name, d)
		}
		for _, secret := range []string{"hunter2", "s3cret"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	var e *Error
	if !errors.As(c.apiError(conflict()), &e) || len(e.Fields) != 1 || e.Fields[0].Path != ".spec.replicas" || e.Fields[0].Manager != "kubectl" {
		t.Errorf("a conflict has the fields %+v", e)
	}
	if err := c.apiError(nil); err != nil {
		t.Errorf("no error is %v", err)
	}
}

func TestFault(t *testing.T) {
	c := &Cluster{Server: "https://one.example.com"}
	request := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://one.example.com/api?token=t", Err: err}
	}
	for name, test := range map[string]struct {
		err           error
		message, hint string
	}{
		"refused":      {request(syscall.ECONNREFUSED), "https://one.example.com refuses connections", "check that the API server runs"},
		"not trusted":  {request(x509.UnknownAuthorityError{}), "the certificate of https://one.example.com is not trusted", "certificate-authority-data"},
		"unknown user": {apierrors.NewUnauthorized("no"), "rejects the credentials of the kubeconfig", "log in again"},
		"forbidden":    {apierrors.NewForbidden(configMaps, "web", errors.New("no role")), "no role", "docs/apply.md"},
		"late":         {request(context.DeadlineExceeded), "https://one.example.com does not answer", "reachable"},
		"overloaded":   {apierrors.NewTooManyRequests("later", 1), "https://one.example.com: later", "run the command again"},
		"expired":      {request(x509.CertificateInvalidError{Reason: x509.Expired}), "the certificate of https://one.example.com is not trusted", "renew the certificate"},
		"another host": {request(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "two"}), "the certificate of https://one.example.com is not trusted", "tls-server-name"},
		"a page":       {webResponse(404, "<html>no such host</html>"), "https://one.example.com returned a web page with HTTP status 404 (Not Found)", "proxy"},
		"a login page": {webResponse(403, "<html>log in</html>"), "returned a web page with HTTP status 403 (Forbidden)", "proxy"},
		"denied":       {webResponse(403, "no"), "no (get configmaps web)", "docs/apply.md"},
		"not TLS":      {webResponse(400, "HTTP request to an HTTPS server"), "does not answer as an API server does: HTTP request to an HTTPS server", "address in the kubeconfig"},
		"HTML":         {errors.New("serializer for text/html doesn't exist"), "does not answer as an API server does: serializer for text/html", "address in the kubeconfig"},
		"anything":     {request(errors.New("no route")), "https://one.example.com is unreachable: no route", "kubeconfig"},
	} {
		faults := diag.All(c.fault(test.err))
		if len(faults) != 1 || !strings.Contains(faults[0].Msg, test.message) || !strings.Contains(faults[0].Hint, test.hint) {
			t.Errorf("%s: got %+v", name, faults)
			continue
		}
		if strings.Contains(faults[0].Msg, "token") {
			t.Errorf("%s: %s has the query of the request", name, faults[0].Msg)
		}
	}
	if err := c.fault(fmt.Errorf("get: %w", context.Canceled)); !errors.Is(err, context.Canceled) || len(diag.All(err)) > 1 {
		t.Errorf("an interrupt is %v", err)
	}
}

// webResponse is the error of the client library about a response of a proxy.
func webResponse(status int, body string) error {
	return apierrors.NewGenericServerResponse(status, "get", configMaps, "web", body, 0, true)
}

// A web page of a proxy does not mean that an object does not exist.
func TestWebPage(t *testing.T) {
	c := &Cluster{Server: "https://one.example.com"}
	if err := c.apiError(webResponse(404, "<html>")); ReasonOf(err) == NotFound {
		t.Errorf("got %v", err)
	}
	if err := c.apiError(webResponse(404, "404 page not found")); ReasonOf(err) != NotFound {
		t.Errorf("got %v", err)
	}
}

// An error about a record names it.
func TestPutNamesObject(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		status := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a", errors.New("exceeded quota: q")).ErrStatus
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		_ = json.NewEncoder(w).Encode(status)
	}))
	defer s.Close()
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	c := &Cluster{Server: s.URL, resources: map[schema.GroupVersionKind]Resource{secret: {GroupVersionResource: secret.GroupVersion().WithResource("secrets"), Namespaced: true}}}
	if err := c.clients(&rest.Config{Host: s.URL}, http.DefaultClient); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(secret)
	o.SetNamespace("fleetc-system")
	o.SetName("a")
	if _, err := c.Put(t.Context(), o); ReasonOf(err) != Forbidden || err.Error() != "write Secret fleetc-system/a: exceeded quota: q" {
		t.Errorf("got %v", err)
	}
}

// When the client library retries requests until the time is over, the fault has their
// cause.
func TestTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		respond func(w http.ResponseWriter)
		want    string
	}{
		"cut":        {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "accepts no request: EOF"},
		"overloaded": {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1"); w.WriteHeader(429) }, "accepts no request: HTTP status 429 (Too Many Requests)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				test.respond(w)
			}))
			defer s.Close()
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			text := fmt.Sprintf(`{"clusters": [{"name": "a", "cluster": {"server": %q}}], "contexts": [{"name": "a", "context": {"cluster": "a"}}]}`, s.URL)
			if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
			defer cancel()
			if _, err := Connect(ctx, Address{Access: Access{Kubeconfig: kubeconfig}, Context: "a"}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A request that was canceled after a timeout has no other cause.
func TestTroubleOfTimeout(t *testing.T) {
	c := &Cluster{Server: "https://example.com"}
	c.seeTrouble(nil, errors.New("net/http: request canceled"))
	if got, want := c.fault(context.DeadlineExceeded).Error(), "https://example.com does not answer"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestIsRetriable(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"refused":           {&url.Error{Err: syscall.ECONNREFUSED}, true},
		"reset":             {&url.Error{Err: syscall.ECONNRESET}, true},
		"cut off":           {io.ErrUnexpectedEOF, true},
		"late":              {context.DeadlineExceeded, true},
		"overloaded":        {apierrors.NewTooManyRequests("later", 1), true},
		"starting":          {apierrors.NewServiceUnavailable("not ready"), true},
		"webhook":           {apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		"forbidden":         {apierrors.NewForbidden(configMaps, "web", nil), false},
		"conflict":          {conflict(), false},
		"no such field":     {apierrors.NewInternalError(errors.New("failed to create typed patch object")), false},
		"too large":         {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), false},
		"not authenticated": {apierrors.NewUnauthorized("no"), false},
		"a bug":             {errors.New("no"), false},
	} {
		if got := isRetriable(test.err); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// endless is an infinite response body.
type endless struct{}

// Read implements [io.Reader].
func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Close implements [io.Closer].
func (endless) Close() error { return nil }

// RoundTrip implements [http.RoundTripper].
func (e endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Body: e}, nil
}

func TestResponseLimit(t *testing.T) {
	resp, err := onResponse(limitBody)(endless{}).RoundTrip(nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if n != maxResponse || !errors.Is(err, errTooLong) {
		t.Errorf("got %d bytes and %v", n, err)
	}
}
