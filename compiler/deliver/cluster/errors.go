package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Reason classifies the errors of an API server.
type Reason string

const (
	NotFound  Reason = "not found" // the object or its namespace does not exist
	Conflict  Reason = "conflict"  // with other field managers if the error has Fields
	Moved     Reason = "moved"     // a precondition failed, or the object to create exists
	Forbidden Reason = "forbidden"
	Invalid   Reason = "invalid"
	Immutable Reason = "immutable" // an immutable field changed
	Webhook   Reason = "webhook"   // a webhook does not answer, or does not support dry runs
	Refused   Reason = "refused"   // anything else
)

// An Error is an error response of an API server.
type Error struct {
	Reason  Reason
	Message string
	Fields  []Field
}

// A Field is a field that an [Error] names.
type Field struct {
	Path    string // in the API server's notation: .spec.replicas
	Manager string // the conflicting manager
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Classify returns the code and the next step of a fault about the error.
func (e *Error) Classify() (code diag.Code, hint string) {
	switch {
	case IsMissingRight(e):
		return diag.CodeRights, RightsHint
	case e.Reason == Webhook:
		return diag.CodeAPIServer, "see that the pods of the webhook run, then run the command again; or delete its configuration"
	case e.Reason == NotFound, e.Reason == Conflict, e.Reason == Moved:
		return diag.CodeAPIServer, "run the command again: the cluster has changed in the meantime"
	}
	return diag.CodeAPIServer, "correct what the API server names, then run the command again"
}

// IsMissingRight reports whether the user lacks a right. Admission also forbids requests.
func IsMissingRight(err error) bool {
	return ReasonOf(err) == Forbidden && strings.HasPrefix(err.Error(), "User ")
}

// RightsHint is the hint for rights that the user lacks.
const RightsHint = "see docs/apply.md for the rights that fleetc needs"

// ReasonOf returns the reason of an [Error], "" for other errors.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

// visible returns a text of the cluster for use in messages, without secrets.
func (c *Cluster) visible(s string) string { return visible(c.Hidden(s)) }

// visible returns a text on one line.
func visible(s string) string { return diag.Line(diag.WithoutUserinfo(s), diag.MaxText) }
func quote(s string) string   { return `"` + visible(s) + `"` }

// apiError returns an error response about an object as an [Error], and other
// errors as a fault of the connection. A nil err is nil.
func (c *Cluster) apiError(err error) error {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return c.fault(err)
	}
	s := status.Status()
	e := &Error{Reason: Refused, Message: c.visible(s.Message)}
	switch {
	case apierrors.IsUnauthorized(err), isWebPage(s), isRetriable(err) && !isWebhook(s.Message) && !isUntyped(s.Message):
		return c.fault(err)
	case apierrors.IsNotFound(err):
		e.Reason = NotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		e.Reason = Moved
		if e.Fields = conflictsOf(s, c.visible); len(e.Fields) > 0 {
			e.Reason = Conflict
		}
	case apierrors.IsForbidden(err):
		e.Reason = Forbidden
		if _, why, ok := strings.Cut(s.Message, "is forbidden: "); ok {
			e.Message = c.visible(why)
		}
	case apierrors.IsInvalid(err):
		e.setInvalid(causesOf(s), c.visible)
	case isWebhook(s.Message):
		e.Reason, e.Message = Webhook, strings.TrimPrefix(e.Message, "Internal error occurred: ")
	case isUntyped(s.Message):
		e.Reason = Invalid
	}
	return e
}

// conflictsOf returns the conflicting fields of a status. clean prepares a text of
// the cluster for messages.
func conflictsOf(s metav1.Status, clean func(string) string) []Field {
	var fields []Field
	for _, cause := range causesOf(s) {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, Field{Path: visible(cause.Field), Manager: managerOf(cause.Message), Message: clean(cause.Message)})
		}
	}
	return fields
}

// setInvalid sets the invalid fields. The reason is Immutable if all of them are
// immutable.
func (e *Error) setInvalid(causes []metav1.StatusCause, clean func(string) string) {
	e.Reason = Invalid
	other := -1 // first field that is not immutable
	for i, cause := range causes {
		e.Fields = append(e.Fields, Field{Path: visible(cause.Field), Message: clean(removeValue(cause.Message))})
		if other < 0 && !isImmutable(cause.Message) {
			other = i
		}
	}
	if len(e.Fields) == 0 {
		return
	}
	if other < 0 {
		e.Reason = Immutable
	}
	first := e.Fields[max(other, 0)]
	e.Message = first.Message
	if first.Path != "" { // it is empty for a ValidatingAdmissionPolicy
		e.Message = first.Path + ": " + first.Message
	}
}

func causesOf(s metav1.Status) []metav1.StatusCause {
	if s.Details == nil {
		return nil
	}
	return s.Details.Causes
}

// managerOf returns the manager in: conflict with "kubectl" using apps/v1.
func managerOf(message string) string {
	parts := strings.Split(message, `"`)
	if len(parts) < 3 {
		return visible(message)
	}
	return visible(parts[1])
}

// removeValue returns a message about a field without the value, which may be a
// secret: Invalid value: "x": must be shorter.
func removeValue(message string) string {
	if i := strings.LastIndex(message, ": "); i >= 0 && strings.HasPrefix(message, "Invalid value") {
		message = message[i+2:]
	}
	return message
}

// immutableSigns are parts of messages about immutable fields, from API servers and
// from the rules of CRDs. Kubernetes has no better indication.
var immutableSigns = []string{
	"immutable", // most kinds, and rules in CEL
	"may not change", "may not be changed", "may not be updated",
	"cannot change", "cannot be changed", "can not be changed", "cannot be modified", "cannot be updated",
	"updates to statefulset spec", "are forbidden.",
	"may not add or remove containers", "may not remove or update",
}

// isImmutable reports whether a message says that a field is immutable.
func isImmutable(message string) bool {
	return slices.ContainsFunc(immutableSigns, func(sign string) bool { return strings.Contains(message, sign) })
}

func isWebhook(message string) bool {
	return strings.Contains(message, "failed calling webhook") || strings.Contains(message, "does not support dry run")
}

// isUntyped reports whether an object has a field that its schema does not have.
// API servers call that an internal error.
func isUntyped(message string) bool {
	return strings.Contains(message, "create typed patch object")
}

// isTooLarge reports whether an object exceeds the size limit of API servers, which
// call that an internal error.
func isTooLarge(message string) bool {
	return strings.Contains(message, "request is too large") || strings.Contains(message, "trying to send message larger than max")
}

// fault returns a connection error as a fault in the user's words.
func (c *Cluster) fault(err error) error {
	if d := c.plugin.fault(err, c.visible); d != nil {
		return d
	}
	d := &diag.Diag{Code: diag.CodeKubeconfig, Cause: err}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var expired x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case utilnet.IsConnectionRefused(err):
		d.Msg, d.Hint = fmt.Sprintf("%s refuses connections", c.Server), "check that the API server runs, and its address in the kubeconfig"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &expired), errors.As(err, &verification):
		d.Msg, d.Hint = fmt.Sprintf("the certificate of %s is not trusted: %s", c.Server, c.visible(withoutRequest(err).Error())), "see certificate-authority-data in the kubeconfig"
		switch {
		case expired.Reason == x509.Expired:
			d.Hint = "renew the certificate of the API server, and check the clock of this machine"
		case host.Certificate != nil:
			d.Hint = "use an address that the certificate has, or set tls-server-name in the kubeconfig"
		}
	case apierrors.IsUnauthorized(err):
		d.Msg, d.Hint = fmt.Sprintf("%s rejects the credentials of the kubeconfig", c.Server), "log in again"
	case errors.As(err, &status) && isWebPage(status.Status()):
		code := int(status.Status().Code)
		d.Msg, d.Hint = fmt.Sprintf("%s returned a web page with HTTP status %d (%s)", c.Server, code, http.StatusText(code)), notServerHint
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err): // of the first request
		d.Msg, d.Hint = fmt.Sprintf("%s does not answer as an API server does: %s", c.Server, c.visible(cmp.Or(bodyOf(status.Status()), err.Error()))), notServerHint
	case apierrors.IsForbidden(err):
		_, why, ok := strings.Cut(err.Error(), "is forbidden: ")
		if !ok {
			why = err.Error()
		}
		d.Code = diag.CodeRights
		d.Msg, d.Hint = c.visible(why), RightsHint
	case isNetTimeout(err), errors.Is(err, context.DeadlineExceeded):
		d.Msg, d.Hint = fmt.Sprintf("%s does not answer", c.Server), "check that it is reachable from here"
		if cause := c.trouble.Load(); cause != nil {
			d.Msg, d.Hint = fmt.Sprintf("%s accepts no request: %s", c.Server, *cause), "see the log of the API server, and any proxy or load balancer before it"
		}
	case isTruncated(err), strings.Contains(err.Error(), "serializer for "):
		d.Msg, d.Hint = fmt.Sprintf("%s does not answer as an API server does: %s", c.Server, c.visible(err.Error())), notServerHint
	case errors.As(err, &status):
		d.Code = diag.CodeAPIServer
		d.Msg, d.Hint = fmt.Sprintf("%s: %s", c.Server, c.visible(status.Status().Message)), "run the command again; if that does not help, see the log of the API server"
	default:
		d.Msg, d.Hint = fmt.Sprintf("%s is unreachable: %s", c.Server, c.visible(withoutRequest(err).Error())), "check its address in the kubeconfig, and that it is reachable from here"
	}
	return d
}

// notServerHint is the hint for responses that no API server sends.
const notServerHint = "check its address in the kubeconfig; if it is right, see the proxy or load balancer before it"

// isWebPage reports whether a response is HTML, from a proxy or a login page: API servers
// send none. Its status says nothing about an object.
func isWebPage(s metav1.Status) bool { return strings.HasPrefix(bodyOf(s), "<") }

// bodyOf returns the body of a response that is not a status of Kubernetes; empty for others.
func bodyOf(s metav1.Status) string {
	for _, cause := range causesOf(s) {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return strings.TrimSpace(cause.Message)
		}
	}
	return ""
}

// truncatedSigns are parts of errors of the client library about responses that end too early:
// the connection or its HTTP/2 stream was closed, or a proxy sent a part.
var truncatedSigns = []string{
	"when reading response body", "0-length response", "json parse error", "unexpected end of JSON input",
	"empty data", "empty body", "does not appear to be a protobuf message",
}

// errIncomplete is the error of a response whose body cannot be read to its end.
var errIncomplete = errors.New("the response is incomplete")

// isTruncated reports whether a response was incomplete. A message of the API server is complete.
func isTruncated(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) || errors.Is(err, errTooLong) {
		return false
	}
	return errors.Is(err, errIncomplete) || slices.ContainsFunc(truncatedSigns, func(sign string) bool { return strings.Contains(err.Error(), sign) })
}

// withoutRequest returns err without the description of the request.
func withoutRequest(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// isRetriable reports whether a later retry of the same request may succeed.
func isRetriable(err error) bool {
	if isUntyped(err.Error()) || isTooLarge(err.Error()) {
		return false
	}
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || isTruncated(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) ||
		isNetTimeout(err)
}

// isNetTimeout reports whether an error is a timeout of the network.
func isNetTimeout(err error) bool {
	nerr, ok := errors.AsType[net.Error](err)
	return ok && nerr.Timeout()
}

// seeTrouble records why requests fail. The client library retries some of them, and its error
// then says only that the time is over.
func (c *Cluster) seeTrouble(resp *http.Response, err error) {
	var cause string
	switch {
	case errors.Is(err, context.Canceled), isNetTimeout(err):
		return
	case err != nil && strings.HasSuffix(err.Error(), "net/http: request canceled"):
		return // after a timeout, the HTTP/2 transport says so
	case err != nil:
		cause = err.Error()
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= http.StatusInternalServerError:
		cause = fmt.Sprintf("HTTP status %d (%s)", resp.StatusCode, http.StatusText(resp.StatusCode))
	default:
		c.trouble.Store(nil)
		return
	}
	cause = c.visible(cause)
	c.trouble.Store(&cause)
}

// UnreadableError is the cause of a fault about a value that must be read from the cluster
// and cannot be. It concerns this cluster and not the fleet.
type UnreadableError struct{ Err error }

// Error implements error.
func (u *UnreadableError) Error() string { return u.Err.Error() }

// Unwrap returns the error of reading.
func (u *UnreadableError) Unwrap() error { return u.Err }
