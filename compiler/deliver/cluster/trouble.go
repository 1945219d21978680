package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

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
