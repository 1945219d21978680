package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxResponse limits how much of a response is read, in bytes.
const maxResponse = 1 << 20

// request sends a request. The error says how the response differs from the
// expected one; it shows no body when the request has secrets, which the server may
// echo.
func (r *ActionRunner) request(ctx context.Context, q *fleet.HTTPRequest) error {
	what := q.Method + " " + redactedURL(q.URL)
	response, body, err := r.send(ctx, q, what)
	if err != nil {
		return err
	}
	detail := ""
	if text := diag.Line(string(body), diag.MaxText); text != "" && len(q.SecretHeaders) == 0 {
		detail = ": " + text
	}
	accepted := response.StatusCode >= 200 && response.StatusCode < 300
	if len(q.Status) > 0 {
		accepted = slices.Contains(q.Status, response.StatusCode)
	}
	switch {
	case !accepted:
		return fmt.Errorf("%s returned %d %s%s", what, response.StatusCode, http.StatusText(response.StatusCode), detail)
	case !strings.Contains(string(body), q.Contains):
		return fmt.Errorf("%s returned a response without %q%s", what, diag.Visible(q.Contains, diag.MaxText), detail)
	}
	return nil
}

// send sends a request with its headers; the values of secret ones are in environment
// variables. It returns the response, whose body is closed, and the body. Errors begin with
// the description in the parameter what.
func (r *ActionRunner) send(ctx context.Context, q *fleet.HTTPRequest, what string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, q.Method, q.URL, strings.NewReader(q.Body))
	if err != nil {
		return nil, nil, errors.New("invalid URL") // the error text may contain secrets
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		req.Header.Set(name, q.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(q.SecretHeaders)) {
		req.Header.Set(name, r.getenv(q.SecretHeaders[name]))
	}
	req.Host = req.Header.Get("Host") // empty means the host of the URL
	client := http.Client{
		// Do not follow redirects: another host must not get the request.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // without the URL
		}
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	return response, body, nil
}

// redactedURL returns a URL without user, query and fragment.
func redactedURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a URL"
	}
	return diag.Visible((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), diag.MaxText)
}
