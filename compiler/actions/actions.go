// Package actions does what a fleet wants done before and after something
// applies: requests, commands, Jobs, and questions to a person.
//
// An action that is verified already is skipped, so that a run that was cut
// short can be repeated; one that is done is verified before the run goes on.
// The package decides nothing of order: whoever applies a stage says what is
// done and undone when, and runs the Jobs. It runs no command unless it is
// allowed to, follows no redirection, knows no cluster, and puts no secret into
// a message.
package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// defaultTimeout is how long an action may take that does not say it.
const defaultTimeout = 5 * time.Minute

// pollEvery is how often verify is asked.
const pollEvery = time.Second

// maxMessage bounds what is told of an action, in bytes.
const maxMessage = 1000

// Options say what may be done, and with what. With the zero value no command
// runs, no environment variable is set, and nobody is there to ask.
type Options struct {
	Dir       string                   // the fleet's root, where commands run
	AllowExec bool                     // whether commands may run
	Approved  []string                 // IDs of actions that a person has approved beforehand
	Getenv    func(name string) string // returns an environment variable

	// Ask asks a person whether an action is approved for a cluster; nil when
	// there is none.
	Ask func(ctx context.Context, cluster string, a *fleet.Action) (bool, error)
}

// A Runner does the actions of a cluster.
type Runner struct {
	Options
	Cluster *fleet.Cluster
	Bundle  string              // its digest
	Hide    func(string) string // takes what is secret out of a text

	// Begin is told of an action that is not skipped, before it is done.
	Begin func(a *fleet.Action)

	// Job runs the Job of an action, or that of its undo, until it is complete,
	// and no longer than the timeout. The error says why it is not.
	Job func(ctx context.Context, a *fleet.Action, undo bool, timeout time.Duration) error
}

// An Outcome says what became of an action.
type Outcome string

// What can become of one.
const (
	Done     Outcome = "done"
	Skipped  Outcome = "skipped"    // since its verify held already
	Refused  Outcome = "refused"    // it was not begun
	Failed   Outcome = "failed"     // it was begun, and may be done in part
	Undone   Outcome = "undone"     // it was begun, and taken back
	Standing Outcome = "not undone" // it was begun, and cannot be taken back
)

// Check returns the faults of actions that cannot be done, before any is:
// commands that are not allowed, variables that are not set, questions that
// nobody answers.
func (o Options) Check(a *fleet.Action) error {
	var faults diag.List
	wrong := func(msg, hint string) { faults.Add(fault(a, msg, hint)) }
	if slices.ContainsFunc(a.Tasks(), func(s fleet.Task) bool { return len(s.Exec) > 0 }) && !o.AllowExec {
		wrong("it runs a command, which is not allowed", "look at the command, and pass --allow-exec")
	}
	for _, name := range variables(a) {
		if o.getenv(name) == "" {
			wrong("the environment variable "+name+" is not set", "set it")
		}
	}
	if a.Manual != "" && o.Ask == nil && !slices.Contains(o.Approved, a.ID()) {
		wrong("a person must approve it: "+diag.Visible(a.Manual, diag.MaxText), "run fleetc on a terminal, or pass --approve "+a.ID())
	}
	return faults.Err()
}

// Secrets returns what the environment variables hold that an action asks for,
// and the words of that, which are in no message.
func (o Options) Secrets(a *fleet.Action) []string {
	var out []string
	for _, name := range variables(a) {
		value := o.getenv(name)
		out = append(append(out, value), strings.Fields(value)...)
	}
	return out
}

func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// variables returns the environment variables that an action asks for, sorted.
func variables(a *fleet.Action) []string {
	names := slices.Clone(a.Environment)
	for _, s := range a.Tasks() {
		if s.HTTP != nil {
			for _, name := range s.HTTP.SecretHeaders {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Describe says in a line what a task is, without what may be secret in it.
func Describe(s fleet.Task) string {
	switch {
	case s.HTTP != nil:
		return s.HTTP.Method + " " + shown(s.HTTP.URL)
	case len(s.Exec) > 0:
		return diag.Visible(strings.Join(s.Exec, " "), diag.MaxText)
	case s.Job != nil:
		return "a Job"
	}
	return diag.Visible(s.Manual, diag.MaxText)
}

// Run does one action, within its time. The error is a fault of the action,
// unless ctx has ended.
func (r *Runner) Run(ctx context.Context, a *fleet.Action) (Outcome, error) {
	limited, cancel := within(ctx, a)
	defer cancel()
	if a.Verify.Exists() {
		if r.do(limited, ctx, a, a.Verify, false) == nil {
			return Skipped, nil
		}
		if limited.Err() != nil {
			return Refused, r.failed(ctx, limited, a, errors.New("it is not known whether it is done already"))
		}
	}
	r.Begin(a)
	if err := r.do(limited, ctx, a, a.Task, false); err != nil {
		outcome := Failed
		if a.Manual != "" {
			outcome = Refused
		}
		return outcome, r.failed(ctx, limited, a, err)
	}
	for a.Verify.Exists() {
		err := r.do(limited, ctx, a, a.Verify, false)
		if err == nil {
			break
		}
		select {
		case <-limited.Done():
			return Failed, r.failed(ctx, limited, a, fmt.Errorf("it is done, and not verified: %w", err))
		case <-time.After(pollEvery):
		}
	}
	return Done, nil
}

// Undo takes back an action that was begun, within its time. The error is a
// fault of the action, and says why it is not undone.
func (r *Runner) Undo(ctx context.Context, a *fleet.Action) error {
	limited, cancel := within(ctx, a)
	defer cancel()
	if err := r.do(limited, ctx, a, a.Undo, true); err != nil {
		return r.failed(limited, limited, a, err)
	}
	return nil
}

func fault(a *fleet.Action, msg, hint string) *diag.Diag {
	return &diag.Diag{At: []diag.Pos{a.Pos}, Path: "action " + a.ID(), Msg: msg, Hint: hint}
}

// within returns a context that ends when an action is out of time. A person
// has as much of it as they need, unless the action says otherwise.
func within(ctx context.Context, a *fleet.Action) (context.Context, context.CancelFunc) {
	if a.Timeout == 0 && a.Manual != "" {
		return context.WithCancel(ctx)
	}
	t := Timeout(a)
	return context.WithTimeoutCause(ctx, t, fmt.Errorf("it is out of time after %s", t))
}

// Timeout returns how long an action may take.
func Timeout(a *fleet.Action) time.Duration { return cmp.Or(a.Timeout, defaultTimeout) }

// failed returns what is wrong with an action that had the limited part of ctx.
func (r *Runner) failed(ctx, limited context.Context, a *fleet.Action, err error) error {
	if ctx.Err() != nil && ctx != limited {
		return context.Cause(ctx)
	}
	if d, ok := errors.AsType[*diag.Diag](err); ok {
		if d.Path != "" { // of a Job
			return fault(a, d.Path+": "+d.Msg, d.Hint)
		}
		return fault(a, d.Msg, d.Hint)
	}
	msg := err.Error()
	if cause := context.Cause(limited); cause != nil && !errors.Is(err, cause) {
		msg = cause.Error() + ": " + msg
	}
	return fault(a, diag.Visible(r.hide(msg), maxMessage), "")
}

func (r *Runner) hide(text string) string {
	if r.Hide == nil {
		return text
	}
	return r.Hide(text)
}

// do does one task in the limited part of ctx. A Job is told its time instead,
// so that it can be said what keeps it.
func (r *Runner) do(limited, ctx context.Context, a *fleet.Action, s fleet.Task, undo bool) error {
	switch {
	case s.HTTP != nil:
		return r.request(limited, s.HTTP)
	case len(s.Exec) > 0:
		return r.command(limited, a, s.Exec)
	case s.Job != nil:
		return r.Job(ctx, a, undo, Timeout(a))
	}
	return r.approve(limited, a)
}

// approve asks a person, unless they have answered already.
func (r *Runner) approve(ctx context.Context, a *fleet.Action) error {
	if slices.Contains(r.Approved, a.ID()) {
		return nil
	}
	if r.Ask == nil {
		return errors.New("nobody is there to approve it")
	}
	ok, err := r.Ask(ctx, r.Cluster.ID, a)
	if err == nil && !ok {
		err = errors.New("it was not approved")
	}
	return err
}
