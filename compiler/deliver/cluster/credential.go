package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/term"

	"github.com/fleetc/fleetc/compiler/base/git"
)

const (
	maxCredentials = 1 << 20 // limit of a plugin's output
	killAfter      = time.Second
	orphanPoll     = 200 * time.Millisecond

	interrupted = 130 // exit status, as in shells
)

// RunCredentialPlugin runs a credential plugin with the environment of this process, and prints its
// output when it succeeds. The plugin and the processes that it started end with
// ctx, with the limit, or when the parent of this process ends. If stdin is a
// terminal, the plugin stays in the foreground, and processes that it started are
// not killed. It returns the exit status of the plugin, [pluginTimeout] after
// the limit, or [pluginMissing] when the program does not exist. An error says
// why the plugin could not run.
func RunCredentialPlugin(ctx context.Context, limit time.Duration, words []string, stdin *os.File, stdout, stderr io.Writer) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	go watchParent(ctx, cancel)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	credentials := &buffer{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = credentials, stderr, killAfter
	if term.IsTerminal(int(stdin.Fd())) {
		cmd.Stdin = stdin
	} else {
		git.Detach(cmd)
	}
	err := cmd.Run()
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return pluginTimeout, nil
	case ctx.Err() != nil:
		return interrupted, nil
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a child process may still run
		_, err = stdout.Write(credentials.data.Bytes())
		return 0, err
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return pluginMissing, nil
	case isExit && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	}
	return 0, err
}

var (
	errTimeout           = errors.New("the credential plugin took too long")
	errCredentialTooLong = errors.New("the credential plugin printed too much")
)

// watchParent calls orphaned when the parent of this process has ended.
func watchParent(ctx context.Context, orphaned func()) {
	parent := os.Getppid()
	tick := time.NewTicker(orphanPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if os.Getppid() != parent {
				orphaned()
				return
			}
		}
	}
}

// A buffer accepts at most maxCredentials bytes.
type buffer struct{ data bytes.Buffer }

// Write implements [io.Writer].
func (b *buffer) Write(p []byte) (int, error) {
	if b.data.Len()+len(p) > maxCredentials {
		return 0, errCredentialTooLong
	}
	return b.data.Write(p)
}
