package clusters

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
)

// Request is a request that the API server answered or that was canceled.
type Request struct {
	Verb      string // get, list, watch, create, update, patch, delete, deletecollection
	URI       string // path and query
	User      string // "admin" for the kubeconfigs of the fleet
	UserAgent string
	Status    int
}

// Writes reports whether the request could change something. Dry runs and reviews
// of rights cannot.
func (r Request) Writes() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return !strings.Contains(r.URI, "dryRun=All") && !strings.HasPrefix(r.URI, "/apis/authorization.k8s.io/")
	}
	return false
}

// Requests returns all requests since the start or the last reset, except those of the
// control plane, in the order of their responses. A request is logged before its client gets the
// response.
func (c *Cluster) Requests() ([]Request, error) {
	file, err := os.Open(c.auditLog())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, c.auditStart, math.MaxInt64-c.auditStart))
	if err != nil {
		return nil, err
	}
	if end := bytes.LastIndexByte(text, '\n'); end < len(text)-1 {
		text = text[:end+1] // an incomplete line
	}
	var all []Request
	for line := range bytes.Lines(text) {
		var e struct {
			Stage, Verb, RequestURI, UserAgent string
			User                               struct{ Username string }
			ResponseStatus                     struct{ Code int }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		// A watch is logged when it starts and when it ends.
		if e.Stage == "ResponseStarted" || e.UserAgent == userAgent {
			continue
		}
		all = append(all, Request{Verb: e.Verb, URI: e.RequestURI, User: e.User.Username, UserAgent: e.UserAgent, Status: e.ResponseStatus.Code})
	}
	return all, nil
}

func (c *Cluster) auditLog() string { return c.file("audit.log") }
