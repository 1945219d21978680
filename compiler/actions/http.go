package actions

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

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// maxAnswer bounds how much of an answer is read, in bytes.
const maxAnswer = 1 << 20

// request sends a request. The error says why the answer is not what is
// expected; it has none of an answer to a secret, which may come back in any
// shape.
func (r *Runner) request(ctx context.Context, q *fleet.HTTPRequest) error {
	req, err := http.NewRequestWithContext(ctx, q.Method, q.URL, strings.NewReader(q.Body))
	if err != nil {
		return errors.New("the URL is none") // the text of the error has what may be secret in it
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		req.Header.Set(name, q.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(q.SecretHeaders)) {
		req.Header.Set(name, r.getenv(q.SecretHeaders[name]))
	}
	req.Host = req.Header.Get("Host") // that of the URL when empty
	client := http.Client{
		// Another host is not told what this one is.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	what := q.Method + " " + shown(q.URL)
	answer, err := client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // without the URL
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	said := ""
	if text := strings.Join(strings.Fields(string(body)), " "); text != "" && len(q.SecretHeaders) == 0 {
		said = ": " + diag.Visible(text, diag.MaxText)
	}
	good := answer.StatusCode >= 200 && answer.StatusCode < 300
	if len(q.Status) > 0 {
		good = slices.Contains(q.Status, answer.StatusCode)
	}
	switch {
	case !good:
		return fmt.Errorf("%s is answered with %d %s%s", what, answer.StatusCode, http.StatusText(answer.StatusCode), said)
	case !strings.Contains(string(body), q.Contains):
		return fmt.Errorf("%s is answered without %q%s", what, diag.Visible(q.Contains, diag.MaxText), said)
	}
	return nil
}

// shown returns a URL without what may be secret in it.
func shown(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a URL"
	}
	return diag.Visible((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), diag.MaxText)
}
