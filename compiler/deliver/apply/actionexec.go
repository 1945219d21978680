package apply

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

const (
	// killAfter is how long to wait for the output of an ended command, which its
	// child processes may hold open.
	killAfter = 2 * time.Second

	// maxOutput is the number of bytes kept from the end of the output: more than
	// messages show, so that a cut secret at its start does not appear.
	maxOutput = 16 << 10
)

// command runs a command. The error includes the end of its output.
func (r *ActionRunner) command(ctx context.Context, a *fleet.Action, words []string) error {
	if !r.AllowExec {
		return errors.New("commands are not allowed")
	}
	out := &tail{}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.Dir, r.environment(a), out, out
	git.Detach(cmd)
	cmd.WaitDelay = killAfter
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // kill remaining child processes
		err = errors.New("it has ended, but processes that it started are still running")
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

// environment returns the environment of a command: a few common variables, those
// that the action lists, and variables about the apply.
func (r *ActionRunner) environment(a *fleet.Action) []string {
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

// A tail is a writer that keeps the last maxOutput bytes.
type tail struct{ data []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - maxOutput; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}
