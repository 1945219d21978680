package live

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A Reason is why an API server did not do what it was asked to.
type Reason string

// What can be wrong with a request.
const (
	NotFound  Reason = "not found" // the object, or its namespace
	Conflict  Reason = "conflict"  // with other managers of fields, when there are Fields
	Moved     Reason = "moved"     // a precondition does not hold
	Forbidden Reason = "forbidden"
	Invalid   Reason = "invalid"
	Immutable Reason = "immutable" // a field that cannot change once it is set
	Webhook   Reason = "webhook"   // which is to be asked does not answer, or knows no dry run
	Refused   Reason = "refused"   // anything else
)

// An Error is what an API server says when it does not do as it was asked.
type Error struct {
	Reason  Reason
	Message string
	Fields  []Field
}

// A Field is one that an [Error] is about.
type Field struct {
	Path    string // as the API server writes it: .spec.replicas
	Manager string // who else has it, of a conflict
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// ReasonOf returns why the API server refused, "" when err is something else.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// said returns a text of the cluster's as a message may have it.
func (c *Cluster) said(s string) string { return visible(c.Hidden(s)) }

func visible(s string) string { return diag.Visible(s, diag.MaxText) }
func quote(s string) string   { return `"` + visible(s) + `"` }

// answer returns err as an [Error] when it is an answer about an object, and
// as a fault of the connection otherwise. A nil err is nil.
func (c *Cluster) answer(err error) error {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return c.fault(err)
	}
	s := status.Status()
	e := &Error{Reason: Refused, Message: c.said(s.Message)}
	switch {
	case apierrors.IsUnauthorized(err), retriable(err) && !isWebhook(s.Message) && !isUntyped(s.Message):
		return c.fault(err)
	case apierrors.IsNotFound(err):
		e.Reason = NotFound
	case apierrors.IsConflict(err):
		e.Reason = Moved
		if e.Fields = ConflictsOf(s, c.said); len(e.Fields) > 0 {
			e.Reason = Conflict
		}
	case apierrors.IsForbidden(err):
		e.Reason = Forbidden
		if _, why, ok := strings.Cut(s.Message, "is forbidden: "); ok {
			e.Message = c.said(why)
		}
	case apierrors.IsInvalid(err):
		e.invalid(causes(s), c.said)
	case isWebhook(s.Message):
		e.Reason, e.Message = Webhook, strings.TrimPrefix(e.Message, "Internal error occurred: ")
	case isUntyped(s.Message):
		e.Reason = Invalid
	}
	return e
}

// ConflictsOf returns the fields that others have, if this is why a request has
// the status; said returns a text of the cluster's as a message may have it.
func ConflictsOf(s metav1.Status, said func(string) string) []Field {
	var fields []Field
	for _, cause := range causes(s) {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, Field{Path: visible(cause.Field), Manager: managerOf(cause.Message), Message: said(cause.Message)})
		}
	}
	return fields
}

// invalid notes what is wrong with fields. It is Immutable when nothing else is
// than that some cannot change.
func (e *Error) invalid(causes []metav1.StatusCause, said func(string) string) {
	e.Reason = Invalid
	other := -1 // the first that is not one that cannot change
	for i, cause := range causes {
		e.Fields = append(e.Fields, Field{Path: visible(cause.Field), Message: said(withoutValue(cause.Message))})
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
	e.Message = first.Path + ": " + first.Message
}

func causes(s metav1.Status) []metav1.StatusCause {
	if s.Details == nil {
		return nil
	}
	return s.Details.Causes
}

// managerOf returns the name in: conflict with "kubectl" using apps/v1.
func managerOf(message string) string {
	parts := strings.Split(message, `"`)
	if len(parts) < 3 {
		return visible(message)
	}
	return visible(parts[1])
}

// withoutValue returns what is wrong with a field without the value that it
// has, which may be a secret: Invalid value: "x": must be shorter.
func withoutValue(message string) string {
	if i := strings.LastIndex(message, ": "); i >= 0 && strings.HasPrefix(message, "Invalid value") {
		message = message[i+2:]
	}
	return message
}

// immutableSigns are parts of the messages by which API servers, and the rules of
// CRDs, say that a field cannot change. Kubernetes has no better sign of it.
var immutableSigns = []string{
	"immutable", // most kinds, also with a rule in CEL
	"may not change", "may not be changed", "may not be updated",
	"cannot change", "cannot be changed", "can not be changed", "cannot be modified", "cannot be updated",
	"updates to statefulset spec", "are forbidden.",
	"may not add or remove containers", "may not remove or update",
}

// isImmutable reports whether the message of a field says that it cannot change.
func isImmutable(message string) bool {
	return slices.ContainsFunc(immutableSigns, func(sign string) bool { return strings.Contains(message, sign) })
}

func isWebhook(message string) bool {
	return strings.Contains(message, "failed calling webhook") || strings.Contains(message, "does not support dry run")
}

// isUntyped reports whether an object has a field that its schema has not, which
// API servers call an internal error.
func isUntyped(message string) bool {
	return strings.Contains(message, "create typed patch object")
}

// isTooLarge reports whether an object is larger than what API servers store,
// which they call an internal error.
func isTooLarge(message string) bool {
	return strings.Contains(message, "request is too large") || strings.Contains(message, "trying to send message larger than max")
}

// fault returns what keeps the cluster from being reached, in the user's words.
func (c *Cluster) fault(err error) error {
	if d := c.plugin.fault(err, c.said); d != nil {
		return d
	}
	d := &diag.Diag{Cause: err}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var expired x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var nerr net.Error
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case utilnet.IsConnectionRefused(err):
		d.Msg, d.Hint = fmt.Sprintf("%s refuses connections", c.Server), "see that the API server runs, and that the kubeconfig has its address"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &expired), errors.As(err, &verification):
		d.Msg, d.Hint = fmt.Sprintf("the certificate of %s is not trusted: %s", c.Server, c.said(inner(err).Error())), "see certificate-authority-data in the kubeconfig"
	case apierrors.IsUnauthorized(err):
		d.Msg, d.Hint = fmt.Sprintf("%s does not know the user of the kubeconfig", c.Server), "log in again"
	case apierrors.IsForbidden(err):
		_, why, _ := strings.Cut(err.Error(), "is forbidden: ")
		d.Msg, d.Hint = c.said(why), "see docs/apply.md for the rights that fleetc needs"
	case errors.As(err, &nerr) && nerr.Timeout(), errors.Is(err, context.DeadlineExceeded):
		d.Msg, d.Hint = fmt.Sprintf("%s does not answer", c.Server), "see that it is reachable from here"
	case errors.As(err, &status):
		d.Msg = fmt.Sprintf("%s: %s", c.Server, c.said(status.Status().Message))
	default:
		d.Msg = fmt.Sprintf("%s is not reached: %s", c.Server, c.said(inner(err).Error()))
	}
	return d
}

// inner returns err without the request in front of it.
func inner(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// retriable reports whether the same request may be answered better a little
// later.
func retriable(err error) bool {
	var nerr net.Error
	if isUntyped(err.Error()) || isTooLarge(err.Error()) {
		return false
	}
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &nerr) && nerr.Timeout()
}
