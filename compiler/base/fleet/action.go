package fleet

import (
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An Action runs before or after a stage or a release is applied.
type Action struct {
	Name        string
	Release     string        // the release that it belongs to; empty for an action of a stage
	Stage       string        // its stage, or the stage of its release
	After       bool          // whether it runs after everything is ready instead of before the apply
	Task                      // the work
	Verify      Task          // a request or command that checks whether the work is done; may be zero
	Undo        Task          // reverts the work; may be zero
	Environment []string      // names of the environment variables that its commands need
	Timeout     time.Duration // 0 when not set
	ApplyOnly   bool          // whether exports for Flux and Argo CD skip it
	Pos         diag.Pos      // position of the action
}

// ID returns the name of the action in its cluster: NAME for an action of a
// stage, RELEASE/NAME for one of a release.
func (a *Action) ID() string {
	if a.Release == "" {
		return a.Name
	}
	return a.Release + "/" + a.Name
}

// Tasks returns the tasks of the action: work, verification and undo.
func (a *Action) Tasks() []Task {
	return diag.Filter([]Task{a.Task, a.Verify, a.Undo}, Task.Exists)
}

// A Task is one step of work. At most one field is set.
type Task struct {
	HTTP   *HTTPRequest
	Exec   []string       // a command and its arguments
	Job    map[string]any // a Job with its namespace, in the types of Kubernetes' JSON decoder
	Manual string         // a text that a person approves

	Prometheus *PrometheusQuery `json:",omitempty"` // a query that a check of a wave makes
}

// Exists reports whether the task is set.
func (s Task) Exists() bool {
	return s.HTTP != nil || len(s.Exec) > 0 || s.Job != nil || s.Manual != "" || s.Prometheus != nil
}

// An HTTPRequest is a request with the expected response.
type HTTPRequest struct {
	URL           string
	Method        string
	Headers       map[string]string
	SecretHeaders map[string]string // names of environment variables
	Body          string
	Status        []int  // expected status codes; empty means 200 to 299
	Contains      string // a text that the response must contain
}

// A PrometheusQuery is a query whose values must not exceed a threshold.
type PrometheusQuery struct {
	URL           string
	Query         string
	Threshold     float64
	For           time.Duration     // how long; 0 for the present value
	SecretHeaders map[string]string // names of environment variables
}

// AllActions returns the actions of the cluster, then those of its releases.
func (c *Cluster) AllActions() []Action {
	all := slices.Clone(c.Actions)
	for _, r := range c.Releases {
		all = append(all, r.Actions...)
	}
	return all
}
