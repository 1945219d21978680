package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// defaultActionTimeout is the timeout of an action that does not set one.
const defaultActionTimeout = 5 * time.Minute

// pollInterval is the pause between two verifications.
const pollInterval = time.Second

// maxActionMessage limits the text of a fault, in bytes.
const maxActionMessage = 1000

// ActionOptions say which tasks are allowed, and supply their inputs. The zero value
// allows no commands, sets no environment variables, and cannot ask a user.
type ActionOptions struct {
	Dir       string                   // root of the fleet, the working directory of commands
	AllowExec bool                     // commands may run
	Approved  []string                 // IDs of manual actions that are approved in advance
	Getenv    func(name string) string // returns an environment variable

	// Ask asks the user to approve an action for a cluster; nil without a user.
	Ask func(ctx context.Context, cluster string, a *fleet.Action) (bool, error)
}

// An ActionRunner runs the actions of a cluster.
type ActionRunner struct {
	ActionOptions
	Cluster *fleet.Cluster
	Bundle  string              // digest
	Hide    func(string) string // removes secrets from a text

	// OnStart is called before an action runs, unless it is skipped.
	OnStart func(a *fleet.Action)

	// Job runs the Job of an action, or the Job that undoes it, until it is
	// complete or the timeout ends. The error says why it is not complete.
	Job func(ctx context.Context, a *fleet.Action, undo bool, timeout time.Duration) error
}

// An ActionOutcome is the result of an action.
type ActionOutcome string

const (
	ActionDone      ActionOutcome = "done"
	ActionSkipped   ActionOutcome = "skipped"    // its verify task had succeeded already
	ActionRefused   ActionOutcome = "refused"    // it did not start
	ActionFailed    ActionOutcome = "failed"     // it started, and may be done in part
	ActionUndone    ActionOutcome = "undone"     // it started, and was undone
	ActionNotUndone ActionOutcome = "not undone" // it started, and its undo failed
)

// Check returns a fault for each action that cannot run: a command is not allowed,
// a variable is not set, or a manual action cannot ask for approval.
func (o ActionOptions) Check(a *fleet.Action) error {
	var faults diag.List
	wrong := func(code diag.Code, msg, hint string) { faults.Add(actionFault(code, a, msg, hint)) }
	if slices.ContainsFunc(a.Tasks(), func(s fleet.Task) bool { return len(s.Exec) > 0 }) && !o.AllowExec {
		wrong(diag.CodeNotConfirmed, "it runs a command, which is not allowed", "review the command, then pass --allow-exec")
	}
	for _, name := range actionVariables(a) {
		if o.getenv(name) == "" {
			wrong(diag.CodeFlagValue, "the environment variable "+name+" is not set", "set it")
		}
	}
	if a.Manual != "" && o.Ask == nil && !slices.Contains(o.Approved, a.ID()) {
		wrong(diag.CodeNotConfirmed, "a user must approve it: "+diag.Line(a.Manual, diag.MaxText), approveHint(a))
	}
	return faults.Err()
}

// Secrets returns the values of the environment variables that an action uses, and
// their words, which must not appear in messages.
func (o ActionOptions) Secrets(a *fleet.Action) []string {
	var out []string
	for _, name := range actionVariables(a) {
		value := o.getenv(name)
		out = append(append(out, value), strings.Fields(value)...)
	}
	return out
}

func (o ActionOptions) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// actionVariables returns the names of the environment variables that an action uses,
// sorted.
func actionVariables(a *fleet.Action) []string {
	names := slices.Clone(a.Environment)
	for _, s := range a.Tasks() {
		if s.HTTP != nil {
			names = slices.AppendSeq(names, maps.Values(s.HTTP.SecretHeaders))
		}
		if s.Prometheus != nil {
			names = slices.AppendSeq(names, maps.Values(s.Prometheus.SecretHeaders))
		}
	}
	return diag.Distinct(names)
}

// DescribeTask returns a one-line description of a task without secrets.
func DescribeTask(s fleet.Task) string {
	switch {
	case s.HTTP != nil:
		return s.HTTP.Method + " " + redactedURL(s.HTTP.URL)
	case len(s.Exec) > 0:
		return diag.Visible(strings.Join(s.Exec, " "), diag.MaxText)
	case s.Job != nil:
		return "a Job"
	case s.Prometheus != nil:
		return "query of " + redactedURL(s.Prometheus.URL)
	}
	return diag.Line(s.Manual, diag.MaxText)
}

// Run runs one action within its timeout. The error is a fault of the action,
// unless ctx has ended.
func (r *ActionRunner) Run(ctx context.Context, a *fleet.Action) (ActionOutcome, error) {
	limited, cancel := withTimeout(ctx, a)
	defer cancel()
	if a.Verify.Exists() {
		if r.runTask(limited, ctx, a, a.Verify, false) == nil {
			return ActionSkipped, nil
		}
		if limited.Err() != nil {
			return ActionRefused, r.faultOf(ctx, limited, a, errors.New("its verify task did not finish"))
		}
	}
	r.OnStart(a)
	if err := r.runTask(limited, ctx, a, a.Task, false); err != nil {
		outcome := ActionFailed
		if a.Manual != "" {
			outcome = ActionRefused
		}
		return outcome, r.faultOf(ctx, limited, a, err)
	}
	var answer error // of the last check; one that the timeout interrupts says less
	for a.Verify.Exists() {
		err := r.runTask(limited, ctx, a, a.Verify, false)
		if err == nil {
			break
		}
		if answer == nil || limited.Err() == nil {
			answer = err
		}
		if par.Pause(limited, pollInterval) != nil {
			return ActionFailed, r.faultOf(ctx, limited, a, fmt.Errorf("it ran, but its verify task did not succeed: %w", answer))
		}
	}
	return ActionDone, nil
}

// Try runs the task of a check once, within its timeout. The error is a fault of the check,
// unless ctx has ended.
func (r *ActionRunner) Try(ctx context.Context, a *fleet.Action) error {
	if err := r.Check(a); err != nil {
		return err
	}
	limited, cancel := withTimeout(ctx, a)
	defer cancel()
	return r.faultOf(ctx, limited, a, r.runTask(limited, ctx, a, a.Task, false))
}

// Undo undoes an action that has started, within its timeout. The error is a fault
// of the action.
func (r *ActionRunner) Undo(ctx context.Context, a *fleet.Action) error {
	limited, cancel := withTimeout(ctx, a)
	defer cancel()
	return r.faultOf(limited, limited, a, r.runTask(limited, ctx, a, a.Undo, true))
}

// The errors of manual actions that no user approves.
var (
	errNoUser      = errors.New("no user can approve it")
	errNotApproved = errors.New("it was not approved")
)

func approveHint(a *fleet.Action) string {
	return "run fleetc on a terminal, or pass --approve " + a.ID()
}

func actionFault(code diag.Code, a *fleet.Action, msg, hint string) *diag.Diag {
	return &diag.Diag{Code: code, At: []diag.Pos{a.Pos}, Path: "action " + a.ID(), Msg: msg, Hint: hint}
}

// withTimeout returns a context that ends with the timeout of an action. A manual
// action without a timeout has none.
func withTimeout(ctx context.Context, a *fleet.Action) (context.Context, context.CancelFunc) {
	if a.Timeout == 0 && a.Manual != "" {
		return context.WithCancel(ctx)
	}
	t := actionTimeout(a)
	return context.WithTimeoutCause(ctx, t, fmt.Errorf("it timed out after %s", t))
}

// actionTimeout returns the timeout of an action.
func actionTimeout(a *fleet.Action) time.Duration { return cmp.Or(a.Timeout, defaultActionTimeout) }

// faultOf returns the error of an action that ran with the context limited, which is derived
// from ctx, as a fault.
func (r *ActionRunner) faultOf(ctx, limited context.Context, a *fleet.Action, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && ctx != limited:
		return context.Cause(ctx)
	}
	code, hint := diag.CodeActionFailed, "correct the cause, then run the command again"
	switch {
	case errors.Is(err, errNotApproved):
		code, hint = diag.CodeNotConfirmed, "run the command again to approve it"
	case errors.Is(err, errNoUser):
		code, hint = diag.CodeNotConfirmed, approveHint(a)
	}
	if d, ok := errors.AsType[*diag.Diag](err); ok {
		hint = cmp.Or(d.Hint, hint)
		if d.Path != "" { // of a Job
			return actionFault(code, a, d.Path+": "+d.Msg, hint)
		}
		return actionFault(code, a, d.Msg, hint)
	}
	msg := err.Error()
	if cause := context.Cause(limited); cause != nil && !errors.Is(err, cause) {
		msg, hint = cause.Error()+": "+msg, "correct the cause or raise the timeout of the action, then run the command again"
	}
	return actionFault(code, a, diag.Line(r.hide(msg), maxActionMessage), hint)
}

func (r *ActionRunner) hide(text string) string {
	if r.Hide == nil {
		return text
	}
	return r.Hide(text)
}

// runTask runs one task with the context limited, which is derived from ctx. A Job
// gets ctx and its timeout instead, so that the caller can explain a timeout.
func (r *ActionRunner) runTask(limited, ctx context.Context, a *fleet.Action, s fleet.Task, undo bool) error {
	switch {
	case s.HTTP != nil:
		return r.request(limited, s.HTTP)
	case len(s.Exec) > 0:
		return r.command(limited, a, s.Exec)
	case s.Job != nil:
		return r.Job(ctx, a, undo, actionTimeout(a))
	case s.Prometheus != nil:
		return r.query(limited, s.Prometheus)
	}
	return r.approve(limited, a)
}

// approve asks the user, unless the action is approved in advance.
func (r *ActionRunner) approve(ctx context.Context, a *fleet.Action) error {
	if slices.Contains(r.Approved, a.ID()) {
		return nil
	}
	if r.Ask == nil {
		return errNoUser
	}
	ok, err := r.Ask(ctx, r.Cluster.ID, a)
	if err == nil && !ok {
		err = errNotApproved
	}
	return err
}
