package fleet

import (
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An Action is done when a cluster gets its bundle.
type Action struct {
	Name        string
	Release     string        // before or after which it is done; empty for an action of a stage
	Stage       string        // before or after which it is done, or that of the release
	After       bool          // once all is ready, and not before anything is applied
	Task                      // what is done
	Verify      Task          // a request or a command that says whether it is done; the zero value when there is none
	Undo        Task          // what takes it back; the zero value when nothing does
	Environment []string      // names of the variables that its commands ask for
	Timeout     time.Duration // 0 when it does not say
	ApplyOnly   bool          // whether exports for Flux and Argo CD leave it out
	Pos         diag.Pos      // where the action is written
}

// ID returns what the action is called in its cluster: NAME for one of a stage,
// RELEASE/NAME for one of a release.
func (a *Action) ID() string {
	if a.Release == "" {
		return a.Name
	}
	return a.Release + "/" + a.Name
}

// Tasks returns what there is to do, to verify and to undo.
func (a *Action) Tasks() []Task {
	var tasks []Task
	for _, s := range []Task{a.Task, a.Verify, a.Undo} {
		if s.Exists() {
			tasks = append(tasks, s)
		}
	}
	return tasks
}

// A Task is one thing to do: at most one of its fields is set.
type Task struct {
	HTTP   *HTTPRequest
	Exec   []string       // a command, and its arguments
	Job    map[string]any // a Job, as Kubernetes' own libraries decode JSON, with its namespace
	Manual string         // what a person approves
}

// Exists reports whether there is something to do.
func (s Task) Exists() bool {
	return s.HTTP != nil || len(s.Exec) > 0 || s.Job != nil || s.Manual != ""
}

// An HTTPRequest is a request, and what is expected of the answer.
type HTTPRequest struct {
	URL           string
	Method        string
	Headers       map[string]string
	SecretHeaders map[string]string // names of environment variables
	Body          string
	Status        []int  // of which the answer has one; 200 to 299 when empty
	Contains      string // in the answer
}

// AllActions returns the actions of the cluster, then those of its releases.
func (c *Cluster) AllActions() []Action {
	all := slices.Clone(c.Actions)
	for _, r := range c.Releases {
		all = append(all, r.Actions...)
	}
	return all
}
