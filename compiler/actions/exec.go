package actions

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/git"
)

const (
	// killAfter is how long the output of a command that has ended is waited for,
	// which processes that it started may hold.
	killAfter = 2 * time.Second

	// maxOutput is how much of the end of the output is kept, in bytes: more than
	// is shown, so that the part of a secret at its beginning is not.
	maxOutput = 16 << 10
)

// command runs a command. The error has the end of what it wrote.
func (r *Runner) command(ctx context.Context, a *fleet.Action, words []string) error {
	if !r.AllowExec {
		return errors.New("commands are not allowed")
	}
	out := &tail{}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.Dir, r.environment(a), out, out
	git.Alone(cmd)
	cmd.WaitDelay = killAfter
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // what it left running, which is not waited for
		err = errors.New("it has ended, and what it started goes on")
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", diag.Visible(strings.Join(words, " "), diag.MaxText), err)
	text := strings.Join(strings.Fields(r.hide(string(out.data))), " ")
	if over := len(text) - diag.MaxText; over > 0 {
		text = text[over:]
	}
	if text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// environment returns what a command finds in its environment: a few variables
// that programs need, those that the action asks for, and what is applied.
func (r *Runner) environment(a *fleet.Action) []string {
	var env []string
	for _, name := range append([]string{"PATH", "HOME", "TMPDIR", "KUBECONFIG"}, a.Environment...) {
		if value := r.getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(env,
		"FLEETC_ACTION="+a.ID(), "FLEETC_BUNDLE="+r.Bundle, "FLEETC_CLUSTER="+r.Cluster.ID,
		"FLEETC_CONTEXT="+r.Cluster.KubeContext, "FLEETC_RELEASE="+a.Release, "FLEETC_STAGE="+a.Stage,
	)
}

// A tail keeps the end of what is written to it.
type tail struct{ data []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - maxOutput; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}
