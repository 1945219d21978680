// Command fleetc compiles a fleet of Kubernetes clusters from CUE.
package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // templates name time zones, which not every machine has

	"github.com/spf13/cobra"
)

// Exit statuses, those of kubectl diff.
const (
	exitDone        = 0 // done, or no difference
	exitDifferences = 1
	exitFailed      = 2
)

// errDifferences is what a command returns when it has found and printed
// differences, and nothing is wrong.
var errDifferences = errors.New("differences")

func main() { os.Exit(run()) }

// run runs the command line and returns the exit status.
func run() int {
	tuneMemory()
	// Helm's SDK talks to the standard logger; what it has to say is captured
	// where it matters.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	ctx, e := withExit(ctx, os.Exit)
	defer e.cancel()
	options := &options{}
	cmd, err := execute(ctx, options)
	status := exitDone
	var plugin exitStatus
	switch {
	case err == nil:
	case errors.As(err, &plugin):
		return int(plugin)
	case errors.Is(err, errDifferences):
		status, err = exitDifferences, nil
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		status, err = exitFailed, errInterrupted
	default:
		status = exitFailed
	}
	if werr := options.report(cmd, err, os.Args[1:]); werr != nil {
		return exitFailed
	}
	return status
}

// execute runs the command that the command line names.
func execute(ctx context.Context, o *options) (*cobra.Command, error) {
	var err error
	if o.limits, err = limitsOf(os.Getenv); err != nil {
		return newRootCommand(o), err
	}
	return o.execute(ctx, newRootCommand(o))
}

// execute runs the command line of a root command, and writes all that its streams
// hold.
func (o *options) execute(ctx context.Context, root *cobra.Command) (*cobra.Command, error) {
	cmd, err := root.ExecuteContextC(ctx)
	if o.endProgress != nil {
		o.endProgress()
	}
	return cmd, cmp.Or(err, flush(cmd.OutOrStdout()), flush(cmd.ErrOrStderr()))
}

// tuneMemory collects garbage a third as often as Go does by itself, as long as
// there is little of it: compiling makes much that is soon let go, and the limit
// keeps what that costs from growing with the fleet. Go's own variables win.
func tuneMemory() {
	const percent, limit = 300, 384 << 20
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
